"""Variation operators: gene-pool optimal mixing, forced improvement, local search."""
