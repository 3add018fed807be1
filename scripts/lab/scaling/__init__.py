"""Measurements of time and memory by the size of tables."""
