"""Compiled functions of the problems: scores, repair, evaluation, intervals."""
