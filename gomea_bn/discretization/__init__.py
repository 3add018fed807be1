"""Discretizers of continuous columns, each usable on its own and inside a learner."""
