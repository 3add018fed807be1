"""What users see of a search: progress over several searches, and scores with the part that is the same for all."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from gomea_bn.runtime.limits import Callback, Progress, Result

__all__ = ["continued", "reported", "reporting"]


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


def continued(callback: Callback | None, result: Result, *, keeps_best: bool = True) -> Callback | None:
    """Return a callback that reports the counts and the objective of an ended search while another one goes on.

    Parameters
    ----------
    callback : callable, optional
    result : Result
        Result of the ended search.
    keeps_best : bool
        Whether the objective of the ended search is reported, or else that of the other one.
    """
    if callback is None:
        return None

    def report(progress: Progress) -> bool | None:
        return callback(
            replace(
                progress,
                seconds=result.exec_time + progress.seconds,
                n_eval=result.n_eval + progress.n_eval,
                n_generations=result.n_generations + progress.n_generations,
                best=float(result.F[0]) if keeps_best else progress.best,
                statistics=dict(Counter(result.statistics) + Counter(progress.statistics)),
            )
        )

    return report
