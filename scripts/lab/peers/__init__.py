"""Comparisons of this package with other libraries and among its own options."""
