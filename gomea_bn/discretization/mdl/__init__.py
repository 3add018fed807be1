"""Discretization by minimum description length (Friedman & Goldszmidt 1996), alone and with structure search."""
