"""The network of a front that a reader should look at first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError
from gomea_bn.front.objectives import COMPLEXITY, MISFIT
from gomea_bn.network.bayes_net import DiscretizedBayesNet

if TYPE_CHECKING:
    from gomea_bn.data.table import Table

# rows that the standard errors are computed from, and the fewest for a standard error
_MOST_ROWS, _FEWEST_ROWS = 5_000, 30
# work space of an exact answer on the review page, in numbers
_MOST_NUMBERS = 2**23


def simplest_good_fit(
    values: NDArray[np.float64],
    names: Sequence[str],
    network: Callable[[int], DiscretizedBayesNet],
    table: Table | None,
    n_rows: int | None,
) -> tuple[int, str, str]:
    """Return the simplest network that fits as well as the best one up to chance, and whose answers are exact.

    It is given by its row, and by why to look at it first and the numbers behind it, each as a sentence. Values are
    float64 (n_networks, n_objectives), and the misfits leave every row out of its own tables. The rows that the
    networks were learned from, and their number, may be unknown.

    A network fits as well as the best one if its misfit exceeds the least one by at most the standard error of the
    least one: the rule of one standard error (Breiman, Friedman, Olshen & Stone, "Classification and regression trees",
    1984). The standard deviation of the log density of a row is that over at most 5,000 complete rows, under tables
    that include them; it is 1 nat where the table has fewer than 30 of them.
    """
    misfits, sizes = (values[:, list(names).index(name)] for name in (MISFIT.name, COMPLEXITY.name))
    best = int(np.argmin(misfits))
    error = _standard_error(network(best), table, n_rows)
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
        if _answers_exactly(network(row)):
            return row, f"{what}.", detail
        close = close or (row, f"{what}; its answers are estimates.", detail)
    # the best fit is close to itself
    assert close is not None
    return close


def _standard_error(network: DiscretizedBayesNet, table: Table | None, n_rows: int | None) -> float:
    """Return the standard error of the mean log density of a row under a network, in nats."""
    n_rows = n_rows or 1
    complete = None if table is None else table.complete_rows()
    if complete is None or complete.n_rows < _FEWEST_ROWS:
        return 1 / sqrt(n_rows)
    chosen = np.random.default_rng(0).permutation(complete.n_rows)[:_MOST_ROWS]
    frame = complete.take(np.sort(chosen)).to_frame()
    return float(network.log_density(frame).std() / sqrt(n_rows))


def _answers_exactly(network: DiscretizedBayesNet) -> bool:
    """Return whether the distributions of all variables fit into the work space of the page."""
    from gomea_bn.network.inference.engine import Evidence, ExactEngine

    nothing = Evidence(np.full((1, len(network.names)), -1, np.int32), {})
    try:
        ExactEngine(network.of_tables(), _MOST_NUMBERS).marginals(nothing)
    except GomeaBnError:
        return False
    return True
