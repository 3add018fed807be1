"""Cuts of a network whose graph is given: optimal cuts, refinement, and what each cut is worth."""
