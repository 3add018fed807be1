"""Discretization by shared Gaussians per parent configuration (MGCD, Mabrouk et al. 2015)."""
