"""The simplest network whose left-out density is within one standard error of that of a learned one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from heapq import heappop, heappush
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.content_order import in_column_order, in_row_order
from gomea_bn.data.table import Table
from gomea_bn.learning.averaging.families import ROWS_OF_LINES, Averaging
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.recorded import FAMILY_SCORES, parents_by_gain
from gomea_bn.runtime.fit_clock import EDGES, NO_LIMIT, FitClock

# sets of cuts whose tables judge a family: more change the density, but hardly its differences
_N_SETS = 3
# nats of the score beyond which a family is not judged: left-out rows of such edges lose more than their error
_MOST_LOSS = 20.0
# of the seconds that a fit has left
_SHARE_OF_TIME = 0.35


def simplest_network(
    network: DiscretizedBayesNet, table: Table, *, line: str, random_state: int, clock: FitClock = NO_LIMIT
) -> DiscretizedBayesNet:
    """Return a network without the edges that left-out rows do not need, or the network itself.

    The parents of every column go in the order in which they add least to the score ("parents" of the metadata; others
    stay), the one of all columns that adds least first. A column keeps its parents as soon as the loss of all columns
    together exceeds one standard error, or the next one adds more than 20 nats. Of a long table 20,000 random rows
    judge. Edges that nobody has judged when the time of the clock is up stay.

    The density is that of the conditionals: the mixture of tables over several sets of cuts and of the line, each with
    the row left out. Differences are paired by row. The rule is that of Breiman et al., "Classification and Regression
    Trees", 1984, section 3.4.3. The metadata have "left_out_edges": the "edges" that are gone, the "nats" by which the
    mean left-out log density of a row is higher with them, the standard "error" of this difference, and the
    "best_score" of the network with them.
    """
    weakest = [entries[-1][1] for entries in parents_by_gain(network).values() if entries]
    if min(weakest, default=np.inf) > _MOST_LOSS:
        return network
    is_late = clock.part(_SHARE_OF_TIME).late(EDGES)
    if is_late():
        return network
    path = _Path(network, table, line, random_state)
    path.descend(is_late)
    if not path.removed:
        return network
    losses = [loss for _, loss in path.removed]
    removed = [edge for edge, _ in path.removed]
    return DiscretizedBayesNet.from_table(
        table,
        [edge for edge in network.edges if edge not in removed],
        network.cut_points,
        pseudo_count="auto" if network.pseudo_count is None else network.pseudo_count,
        shapes=network.shapes,
        metadata=_metadata(network.metadata, path, removed, losses),
    )


def _metadata(
    metadata: Mapping[str, Any], path: _Path, removed: list[tuple[str, str]], losses: list[float]
) -> dict[str, Any]:
    """Return the metadata of a network after edges have gone, each of which loses some nats of the score."""
    gone: dict[str, float] = {}
    for (_, child), loss in zip(removed, losses, strict=True):
        gone[child] = gone.get(child, 0.0) + loss
    curves = {
        child: {
            **entry,
            "nats": max(entry["nats"] - gone.get(child, 0.0), 0.0),
            "table_parents": [p for p in entry["table_parents"] if (p, child) not in removed],
        }
        for child, entry in metadata.get("curves", {}).items()
    }
    parents = {
        child: left
        for child, entries in metadata["parents"].items()
        if (left := [entry for entry in entries if (entry[0], child) not in removed])
    }
    families = {
        child: score - gone.get(child, 0.0) for child, score in metadata.get(FAMILY_SCORES, {}).items()
    }
    mean, error = path.loss()
    return {
        **metadata,
        **({FAMILY_SCORES: families} if families else {}),
        **({"curves": curves} if curves else {}),
        "parents": parents,
        "score": metadata["score"] - sum(losses),
        "left_out_edges": {
            "edges": [list(edge) for edge in removed],
            "nats": mean,
            "error": error,
            "best_score": metadata["score"],
        },
    }


class _Path:
    """Edges that leave a network one at a time, each with the nats of the score that it loses."""

    def __init__(self, network: DiscretizedBayesNet, table: Table, line: str, random_state: int) -> None:
        generator = np.random.default_rng(random_state)
        # the columns and rows of the average that follows, which has families in common
        rows = in_row_order(in_column_order(table))
        if rows.n_rows > ROWS_OF_LINES:
            rows = rows.take(np.sort(generator.permutation(rows.n_rows)[:ROWS_OF_LINES]))
        self.network = network.in_order(rows.names)
        self.line = line
        self.averaging = Averaging(self.network, rows)
        self.sets = self.averaging.drawn_cuts(_N_SETS, generator)
        self.coded = [self.averaging.session.coded(cuts) for cuts in self.sets]
        self.difference = np.zeros(rows.n_rows)
        self.removed: list[tuple[tuple[str, str], float]] = []

    def loss(self) -> tuple[float, float]:
        """Return the mean loss of log density of a left-out row, and its standard error."""
        return _mean_and_error(self.difference)

    def descend(self, is_late: Callable[[], bool] = lambda: False) -> None:
        """Remove edges as long as the loss is within one standard error, and it is not late."""
        queue: list[tuple[float, int]] = []
        waiting = list(parents_by_gain(self.network).values())
        present: dict[int, NDArray[np.float64]] = {}
        for v, parents in enumerate(waiting):
            if parents:
                heappush(queue, (parents[-1][1], v))
        while queue and queue[0][0] <= _MOST_LOSS and not is_late():
            loss, v = heappop(queue)
            child = self.network.names[v]
            gone = [p for (p, c), _ in self.removed if c == child]
            parent = waiting[v].pop()[0]
            judged = [[*gone, parent]] if v in present else [gone, [*gone, parent]]
            *of_present, density = self.averaging.of_each(partial(self._density, v), judged)
            present.update((v, of_gone) for of_gone in of_present)
            # without smoothing, rows may be impossible with the edge, without it, or both
            is_equal = present[v] == density
            lost = np.subtract(present[v], density, out=np.zeros_like(density), where=~is_equal)
            difference = self.difference + lost
            if not np.isfinite(difference).all():
                continue
            mean, error = _mean_and_error(difference)
            if mean > error:
                continue
            self.difference, present[v] = difference, density
            self.removed.append(((parent, child), loss))
            if waiting[v]:
                heappush(queue, (waiting[v][-1][1], v))

    def _density(self, v: int, gone: Sequence[str]) -> NDArray[np.float64]:
        """Return the log density of every left-out row of a column without some of its parents."""
        names, name = self.network.names, self.network.names[v]
        parents = [parent for parent in self.network.parents(name) if parent not in gone]
        in_tables = [p for p in self.averaging.session.graph.parents[v] if names[p] in parents]
        tables = self.averaging.tables_of(v, in_tables, self.sets, self.coded)
        # a mixture takes most of the time, and hardly decides which parents are needed
        line = "single" if self.line == "auto" else self.line
        return self.averaging.stack_of(name, parents, tables, line, "simple")[1]


def _mean_and_error(differences: NDArray[np.float64]) -> tuple[float, float]:
    """Return the mean of paired differences and its standard error, nats."""
    return float(differences.mean()), float(differences.std(ddof=1)) / sqrt(len(differences))
