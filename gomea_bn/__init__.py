"""Discretized Bayesian networks learned from mixed tables: the graph and the bins together, with GOMEA."""

from __future__ import annotations

__version__ = "0.1.0"
