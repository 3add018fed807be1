"""The most probable bins and levels of several variables together: the n best, by branch and bound."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError, check_integer, mapping_in
from gomea_bn.lazy import pd
from gomea_bn.network.inference.answers import offering_bins, refuse_both, states_of, target_names
from gomea_bn.network.inference.cell_engine import CellEngine, CostLimit
from gomea_bn.network.inference.elimination import ExactEngine, packed_weights
from gomea_bn.network.inference.engine import engine_for
from gomea_bn.network.inference.evidence import EvidenceReader, outside_of, refuse_stated
from gomea_bn.network.inference.kernels import RowsToAnswer, log_maxima
from gomea_bn.network.inference.question import Evidence
from gomea_bn.network.recorded import NetworkLike

OF_EXPLANATIONS = CostLimit(2**17, 2**19, 2**19)
"""CostLimit of a bound of a single question, of which a search takes some hundreds."""

# multiplications of one search, about half a minute, and the least that the bound of a combination counts
_MOST_MULTIPLICATIONS = 2.0**33
_LEAST_COST = 2.0**14


def most_probable(
    network: NetworkLike,
    evidence: Mapping[str, object] | None = None,
    targets: str | Sequence[str] | None = None,
    n: int = 5,
    *,
    cells: int | str | None = None,
) -> pd.DataFrame:
    """Return the n most probable combinations; see `DiscretizedBayesNet.most_probable`."""
    check_integer("n", n, 1)
    engine = cast("CellEngine | ExactEngine", engine_for(network, cells=cells))
    if isinstance(engine, CellEngine) and cells is None:
        engine = CellEngine(network, OF_EXPLANATIONS)
    reader = EvidenceReader(engine.network)
    observed = mapping_in("evidence", evidence)
    given, statements = reader.stated(observed)
    known = [name for name, (row,) in statements.items() if row.code >= 0 or row.weights is not None]
    if targets is None:
        targets = [name for name in network.names if name not in known]
    chosen = target_names(reader, targets)
    refuse_both(chosen, known)
    reader.warn_of_outside(outside_of(statements))
    positions = [network.names.index(name) for name in chosen]
    with offering_bins(engine, _weighed(engine, given, positions), ()):
        found, probabilities, n_cells = best_explanations(engine, given, positions, n)
    if not len(found):
        refuse_stated(observed, None)
    columns: list[pd.Series[Any]] = [
        pd.Series(states_of(network, [name]).take(codes), name=name)
        for name, codes in zip(chosen, found.T, strict=True)
    ]
    answer = pd.concat([*columns, pd.Series(probabilities, name="probability")], axis=1)
    if n_cells is not None:
        answer.attrs["cells"] = n_cells
    return answer


def best_explanations(
    engine: CellEngine | ExactEngine, evidence: Evidence, targets: Sequence[int], n: int
) -> tuple[NDArray[np.int64], NDArray[np.float64], int | None]:
    """Return the n most probable combinations of bins and levels of some variables, given a single row.

    They are the best combinations of shown bins and levels, best first: their codes (n, n_targets), their probabilities
    (n,) given the evidence, and the largest number of cells of an unknown continuous variable, None if these are the
    bins of the network.

    Combinations of the first targets are extended by one target after another, always the one with the largest bound of
    the probability of its best extension (Lawler, "A procedure for computing the K best solutions to discrete
    optimization problems", 1972). The bound is a maximum in the junction tree; it is that of the best extension if no
    other variable has to be summed over (Park & Darwiche, "Solving MAP exactly using systematic search", 2003).
    `targets` are positions of variables without evidence.
    """
    bounds = _Bounds(engine, evidence, targets)
    heap: list[tuple[float, int, tuple[int, ...]]] = [(-np.inf, 0, ())]
    found: list[tuple[tuple[int, ...], float]] = []
    cards = [len(bounds.groups[v]) for v in targets]
    n_bounds = 0
    while heap and len(found) < n:
        bound, _, prefix = heapq.heappop(heap)
        depth = len(prefix)
        if depth == len(targets):
            found.append((prefix, float(np.exp(-bound - bounds.log_evidence))))
            continue
        n_bounds += cards[depth]
        if n_bounds * max(bounds.cost, _LEAST_COST) > _MOST_MULTIPLICATIONS:
            raise GomeaBnError(
                f"The search for the most probable of {float(np.prod(list(map(float, cards)))):.3g} combinations of "
                f"{len(targets)} variables was given up after {n_bounds:,} partial ones, each of which takes "
                f"{bounds.cost:.2g} multiplications.",
                ["give more evidence", "name fewer targets"],
            )
        extended = [(*prefix, code) for code in range(cards[depth])]
        for child, value in zip(extended, bounds.of(extended).tolist(), strict=True):
            if value > -np.inf:
                # among equal bounds the longest combination first
                heapq.heappush(heap, (-value, -len(child), child))
    codes = np.array([combination for combination, _ in found], np.int64).reshape(-1, len(targets))
    return codes, np.array([probability for _, probability in found]), bounds.n_cells


def with_best_states(
    engine: CellEngine | ExactEngine, reader: EvidenceReader, evidence: Evidence
) -> Evidence:
    """Return evidence whose weights leave the most probable combination of the unknown bins and levels of every row.

    Rows of impossible evidence stay as they are. The evidence must have no weights.
    """
    network = engine.network
    weights = {
        v: np.ones((len(evidence), network.cardinality(name)))
        for v, name in enumerate(network.names)
        if (evidence.codes[:, v] < 0).any()
    }
    for row in range(len(evidence)):
        unknown = np.flatnonzero(evidence.codes[row] < 0).tolist()
        found, _, _ = best_explanations(engine, evidence.take(np.array([row])), unknown, 1)
        for v, code in zip(unknown, found[0].tolist() if len(found) else (), strict=False):
            name = network.names[v]
            cells = np.arange(weights[v].shape[1])
            bins = (
                cells
                if name in reader.levels
                else np.searchsorted(reader.first_cells(name), cells, "right") - 1
            )
            weights[v][row] = bins == code
    return Evidence(evidence.codes, weights, evidence.values)


def _weighed(engine: CellEngine | ExactEngine, evidence: Evidence, targets: Sequence[int]) -> Evidence:
    """Return a row of evidence with weights of 1 for all cells of targets, in place of which a bound has its own."""
    network = engine.network
    ones = {v: np.ones((1, network.cardinality(network.names[v]))) for v in targets}
    return Evidence(evidence.codes, {**evidence.weights, **ones}, evidence.values)


class _Bounds:
    """Upper bounds of the probability of extensions of partial combinations, for one row of evidence.

    `groups` has the cell after the last one of each group, by position: the bins or levels of targets, all cells of
    other variables. `log_evidence` is up to the same constant as the bounds, and `cost` counts the multiplications of a
    bound.
    """

    def __init__(self, engine: CellEngine | ExactEngine, evidence: Evidence, targets: Sequence[int]) -> None:
        try:
            self._part, first_of_bins, self.n_cells = engine.row_plan(_weighed(engine, evidence, targets))
        except GomeaBnError as error:
            raise GomeaBnError(
                f"The most probable combination of {len(targets)} variables cannot be computed. {error.args[0][0]}",
                ["give more evidence", "name fewer targets"],
            ) from error
        self._targets = list(targets)
        cards = self._part.model.cards
        whole = [cards[v : v + 1] for v in range(len(cards))]
        self.groups = list(whole)
        for v in targets:
            first = first_of_bins.get(v, np.arange(cards[v]))
            self.groups[v] = np.append(first[1:], cards[v])
        self.log_evidence = float(self.of([()], whole)[0])
        # the kernel has made the plan
        self.cost = float(self._part.plan.cost[2])

    def of(
        self, combinations: Sequence[tuple[int, ...]], groups: Sequence[NDArray[np.int64]] | None = None
    ) -> NDArray[np.float64]:
        """Return bounds of the log probabilities of codes of the first targets, float64 (n,)."""
        groups = self.groups if groups is None else groups
        part, n = self._part, len(combinations)
        codes = np.array(combinations, np.int64).reshape(n, -1)
        cards, given = part.model.cards, part.rows
        weights = {}
        for v in np.flatnonzero(given.weights_at >= 0).tolist():
            at = given.weights_at[v]
            weights[v] = np.repeat(given.weights[None, at : at + cards[v]], n, axis=0)
            if v in self._targets[: codes.shape[1]]:
                group_of = np.searchsorted(self.groups[v], np.arange(cards[v]), side="right")
                weights[v] = weights[v] * (codes[:, [self._targets.index(v)]] == group_of)
        rows = RowsToAnswer(
            np.repeat(given.codes, n, axis=0),
            *packed_weights(weights, len(cards)),
            np.repeat(given.table_at, n, axis=0),
            given.tables,
        )
        groups_at, ends = np.cumsum([0, *map(len, groups)], dtype=np.int64), np.concatenate(groups)
        result = np.empty(n)
        log_maxima(part.model, rows, part.batch, part.plan, groups_at, ends.astype(np.int64), result)
        return result
