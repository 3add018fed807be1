"""Averaged networks: sets of cuts drawn from their posterior, and lines of continuous parents."""
