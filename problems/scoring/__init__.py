"""Scores of families: columns as a score takes them, the scores by name, smooth curves, and the cache of scores."""
