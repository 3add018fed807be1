"""Scores as users see them: with the constant part that searches leave out of what they compare."""

from __future__ import annotations

from dataclasses import replace

from gomea_bn.runtime.limits import Callback, Progress, Result

__all__ = ["reported", "reporting"]


def reporting(callback: Callback | None, constant_score: float) -> Callback | None:
    """Return a callback for a search that passes its progress on to the given one, with scores as users see them.

    Parameters
    ----------
    callback : callable, optional
        Function that receives a `Progress`.
    constant_score : float
        Part of all scores in nats that the search leaves out; see `FamilyScorer`.
    """
    if callback is None:
        return None

    def report(progress: Progress) -> bool | None:
        return callback(replace(progress, best=progress.best - constant_score))

    return report


def reported(result: Result, constant_score: float) -> Result:
    """Return the result of a search for one objective, minus the score, with scores as users see them.

    Parameters
    ----------
    result : Result
        Result of the search.
    constant_score : float
        Part of all scores in nats that the search leaves out; see `FamilyScorer`.
    """
    history = [replace(entry, objective=entry.objective - constant_score) for entry in result.history]
    return replace(result, F=result.F - constant_score, history=history)
