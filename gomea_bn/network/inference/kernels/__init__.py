"""Compiled inference: plans of elimination, their execution row by row, and weighted draws."""
