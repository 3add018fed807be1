"""Conditional densities of learned networks: sets of cuts drawn from their posterior, and lines of parents."""
