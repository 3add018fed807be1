"""Optimisation problems: network structure with bins, and what scores it."""
