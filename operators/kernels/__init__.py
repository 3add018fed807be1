"""Compiled variation: optimal mixing, the archive, keys, real-valued sampling."""
