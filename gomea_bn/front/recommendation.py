"""The network of a front that a reader should look at first."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from gomea_bn.errors import GomeaBnError
from gomea_bn.front.objectives import COMPLEXITY, MISFIT, leaves_rows_out
from gomea_bn.network.bayes_net import DiscretizedBayesNet

if TYPE_CHECKING:
    from gomea_bn.front.front import Candidate, Front

# rows that the standard errors are computed from, and the fewest for a standard error
_MOST_ROWS, _FEWEST_ROWS = 5_000, 30
# work space of an exact answer on the review page, in numbers
_MOST_NUMBERS = 2**23


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A network of a front, and why to look at it first.

    Attributes
    ----------
    candidate : Candidate
        The network.
    reason : str
        One sentence.
    detail : str
        The numbers behind it, as a sentence; empty without them.
    """

    candidate: Candidate
    reason: str
    detail: str = ""


def recommended(front: Front) -> Recommendation:
    """Return the simplest network that fits as well as the best one up to chance, and whose answers are exact.

    Notes
    -----
    A network fits as well as the best one if its misfit exceeds the least one by at most the standard error of the
    least one: the rule of one standard error (Breiman, Friedman, Olshen & Stone, "Classification and regression trees",
    1984). The misfits leave every row out of its own tables. The standard deviation of the log density of a row is that
    over at most 5,000 complete rows, under tables that include them; it is 1 nat where the front has fewer than 30 of
    them. Fronts with misfits in sample have the knee, since their least misfit says little about other rows.
    """
    names = front.names
    if not {MISFIT.name, COMPLEXITY.name} <= set(names) or not leaves_rows_out(front.record):
        return Recommendation(front.knee(), "The knee: more complex networks hardly fit better.")
    misfits, sizes = (front.values[:, names.index(name)] for name in (MISFIT.name, COMPLEXITY.name))
    best = int(np.argmin(misfits))
    error = _standard_error(front, best)
    close = None
    for row in np.lexsort((misfits, sizes)).tolist():
        gap = float(misfits[row] - misfits[best])
        if gap > error:
            continue
        what = (
            "The best fit"
            if row == best
            else "The simplest network that fits as well as the best, up to chance"
        )
        detail = (
            f"Its misfit is {gap:.2g} nats per row above the least one, whose standard error is {error:.2g}."
        )
        if _answers_exactly(front[row].network):
            return Recommendation(front[row], f"{what}.", detail)
        close = close or Recommendation(front[row], f"{what}; its answers are estimates.", detail)
    # the best fit is close to itself
    assert close is not None
    return close


def _standard_error(front: Front, best: int) -> float:
    """Return the standard error of the mean log density of a row under a network, in nats."""
    n_rows = front.n_rows or 1
    complete = None if front.table is None else front.table.complete_rows()
    if complete is None or complete.n_rows < _FEWEST_ROWS:
        return 1 / sqrt(n_rows)
    chosen = np.random.default_rng(0).permutation(complete.n_rows)[:_MOST_ROWS]
    frame = complete.take(np.sort(chosen)).to_frame()
    return float(front[best].network.log_density(frame).std() / sqrt(n_rows))


def _answers_exactly(network: DiscretizedBayesNet) -> bool:
    """Return whether the distributions of all variables fit into the work space of the page."""
    from gomea_bn.network.inference.engine import Evidence, ExactEngine

    nothing = Evidence(np.full((1, len(network.names)), -1, np.int32), {})
    try:
        ExactEngine(network.of_tables(), _MOST_NUMBERS).marginals(nothing)
    except GomeaBnError:
        return False
    return True
