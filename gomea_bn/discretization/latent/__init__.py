"""Discretization by a latent variable (Monti & Cooper 1999)."""
