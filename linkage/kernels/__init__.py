"""Compiled functions that measure similarities and build linkage trees."""
