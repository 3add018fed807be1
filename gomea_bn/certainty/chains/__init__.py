"""Markov chains over graphs, for given bins or where bins are drawn as well: posteriors of edges of many variables."""
