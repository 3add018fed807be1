"""Distributions that a network states: smoothed tables, marginals and conditionals."""
