"""Linkage models: which genes are exchanged together."""
