"""Predictions of a target by networks that leave the predicted rows out, summarised without its rows."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.table import MAX_LEVELS, Table
from gomea_bn.discretization.baselines import MDLP
from gomea_bn.errors import is_integer, is_real
from gomea_bn.front.choice import MOST_ROWS
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.conditionals.conditionals import cell_middles
from gomea_bn.network.conditionals.kind import Family, FurtherRows
from gomea_bn.network.conditionals.scales import Columns
from gomea_bn.network.tables import PseudoCount, smoothing_of
from gomea_bn.problems.cuts.policies import bin_codes

SCALE = 10_000
"""Probabilities are stored times this number, as integers."""
COVERAGES = (0.5, 0.8, 0.9, 0.95)
"""Probabilities of the central intervals whose coverage is stored."""

FEWEST_ROWS = 30
"""Fewest rows on which a network is judged."""

_MOST_GROUPS = 20
_N_PARTS = 10

Floats = NDArray[np.float64]


def error_of_loss(network: DiscretizedBayesNet, table: Table, target: str) -> float | None:
    """Return the standard error of the mean loss of a network over all rows of a table, by those that can be judged.

    None where its tables do not count these rows, and for fewer than 30 that can be judged.
    """
    if target not in table.names or not counts_rows_of(network, table, target):
        return None
    rows = JudgedRows.of(table, target, [network])
    if rows.n_rows < FEWEST_ROWS:
        return None
    return float(rows.judged(network)["loss_error"] * sqrt(rows.n_rows / table.n_rows))


def is_prediction_summary(entry: Any) -> TypeGuard[dict[str, Any]]:
    """Return whether a JSON value has the form of what `prediction_summary` returns."""
    if not isinstance(entry, dict) or not isinstance(entry.get("target"), str):
        return False
    losses = [entry.get("prior"), *(loss for loss in [entry.get("naive_bayes")] if loss is not None)]
    networks: Any = entry.get("networks")
    return (
        _is_count(entry.get("n_rows"), 1)
        and all(map(_is_finite, losses))
        and isinstance(networks, list)
        and len(networks) > 0
        and all(_is_judged(network, entry["n_rows"]) for network in networks)
    )


def _is_judged(entry: Any, n_rows: int) -> bool:
    """Return whether a JSON value describes the predictions of one network for a number of rows."""
    if not isinstance(entry, dict) or not _is_count(entry.get("id"), 0):
        return False
    if not _is_finite(entry.get("loss")) or not _is_finite(entry.get("loss_error")):
        return False
    if "levels" in entry:
        levels = entry["levels"]
        return isinstance(levels, list) and len(levels) > 0 and all(_is_level(one, n_rows) for one in levels)
    groups: Any = entry.get("groups")
    coverage: Any = entry.get("coverage")
    return (
        isinstance(groups, list)
        and all(_is_row(group, 4) and _is_count(group[0], 1) for group in groups)
        and sum(group[0] for group in groups) == n_rows
        and _is_finite(entry.get("rmse"))
        and _is_row(coverage, len(COVERAGES))
        and all(0 <= share <= 1 for share in coverage)
    )


def _is_level(entry: Any, n_rows: int) -> bool:
    """Return whether a JSON value has the numbers of rows with and without a level, by part and probability."""
    if not isinstance(entry, list) or not all(isinstance(part, list) for part in entry):
        return False
    rows = [row for part in entry for row in part]
    if not all(_is_row(row, 3) and all(_is_count(value, 0) for value in row) for row in rows):
        return False
    scaled = [[row[0] for row in part] for part in entry]
    return (
        all(of_part == sorted(set(of_part)) and of_part[-1:] <= [SCALE] for of_part in scaled)
        and sum(row[1] + row[2] for row in rows) == n_rows
    )


def _is_row(value: Any, length: int) -> bool:
    return isinstance(value, list) and len(value) == length and all(map(_is_finite, value))


def _is_count(value: Any, least: int) -> bool:
    return is_integer(value) and least <= value <= sys.maxsize


def _is_finite(value: Any) -> bool:
    return is_real(value) and abs(value) <= sys.float_info.max


def counts_rows_of(network: DiscretizedBayesNet, table: Table, target: str) -> bool:
    """Return whether the tables that decide on the target are counted, the target's from the rows of a table.

    A logit of the target alone, next to a table without parents, may be of some of the rows.
    """
    columns = {column.name: column for column in table.columns}
    if network.pseudo_count is None or set(network.names) - set(columns):
        return False
    if any(columns[name].levels != network.levels.get(name) for name in network.names):
        return False
    stacks = [network.families[name].stack for name in (target, *network.children(target))]
    if not all(stack.can_leave_out for stack in stacks):
        return False
    if (known := network.conditionals) is not None:
        if not _decides_alone(network, target):
            return False
        if known.n_rows < table.n_rows:
            return True
    counts = stacks[0].value_counts
    assert counts is not None
    codes = _codes(network, columns[target].values, target)
    return bool(np.allclose(np.bincount(codes[codes >= 0], minlength=len(counts)), counts))


def _decides_alone(network: DiscretizedBayesNet, target: str) -> bool:
    """Return whether a function of the parents, such as a logit, alone decides on a target with conditionals.

    Next to it is one counted table of the target without parents.
    """
    stack = network.families[target].stack
    counted = [fitted for _, fitted in stack.members if fitted.counts_cells]
    is_alone = stack.n_sets == 1 and bool(stack.smooth) and not network.children(target)
    return is_alone and not any(fitted.parents or fitted.groups for fitted in counted)


def _codes(network: DiscretizedBayesNet, values: NDArray[Any], name: str) -> NDArray[np.int32]:
    cuts = network.cut_points.get(name)
    return np.asarray(values if cuts is None else bin_codes(values, cuts), np.int32)


@dataclass(frozen=True)
class JudgedRows:
    """The rows of a table on which networks are judged, their positions by part, and the column that is predicted."""

    table: Table
    target: str
    parts: tuple[NDArray[np.int64], ...]

    @classmethod
    def of(cls, table: Table, target: str, networks: Iterable[DiscretizedBayesNet]) -> JudgedRows:
        """Return the rows without missing values where the networks look."""
        used = {target}.union(*(network.markov_blanket(target) for network in networks))
        is_missing = [column.is_missing for column in table.columns if column.name in used]
        generator = np.random.default_rng(0)
        rows = generator.permutation(np.flatnonzero(~np.logical_or.reduce(is_missing)))[:MOST_ROWS]
        [values] = [column.values for column in table.columns if column.name == target]
        ordered = rows[np.argsort(values[rows], kind="stable")]
        return cls(table, target, tuple(np.sort(ordered[part::_N_PARTS]) for part in range(_N_PARTS)))

    @property
    def n_rows(self) -> int:
        """Number of these rows."""
        return sum(map(len, self.parts))

    def judged(self, network: DiscretizedBayesNet) -> dict[str, Any]:
        """Return the losses and what follows from the probabilities of one network; see `prediction_summary`."""
        columns = {column.name: column.values for column in self.table.columns}
        of_target = _codes(network, columns[self.target], self.target)
        probabilities = [_probabilities(network, self.target, self.table, part) for part in self.parts]
        if self.target in network.levels:
            own = [
                shares[np.arange(len(part)), of_target[part]]
                for shares, part in zip(probabilities, self.parts)
            ]
            losses = -np.log(np.maximum(np.concatenate(own), sys.float_info.min))
            levels = [
                [
                    _counted(shares[:, code], of_target[part] == code)
                    for shares, part in zip(probabilities, self.parts)
                ]
                for code in range(network.cardinality(self.target))
            ]
            return {**_mean_loss(losses), "levels": levels}
        values = columns[self.target]
        edges = [
            network.support[self.target][0],
            *network.cut_points[self.target],
            network.support[self.target][1],
        ]
        middles = np.convolve(edges, [0.5, 0.5], "valid")
        predicted = [
            _of_values(values, of_target, part, shares, middles)
            for shares, part in zip(probabilities, self.parts)
        ]
        return {**_mean_loss(np.concatenate([one["losses"] for one in predicted])), **_of_parts(predicted)}

    def loss_of_naive_bayes(self, pseudo_count: PseudoCount) -> float | None:
        """Return the mean loss of a naive Bayes classifier, or None where there is none; see `prediction_summary`."""
        [target] = [column for column in self.table.columns if column.name == self.target]
        table = self.table.take(np.sort(np.concatenate(self.parts)))
        if target.levels is None or len(target.levels) > MAX_LEVELS or table.n_missing:
            return None
        cuts = MDLP().fit(table, self.target).cut_points_
        edges = [(self.target, name) for name in table.names if name != self.target]
        network = DiscretizedBayesNet.from_table(table, edges, cuts, pseudo_count=pseudo_count)
        return float(JudgedRows.of(table, self.target, []).judged(network)["loss"])


def _probabilities(
    network: DiscretizedBayesNet, target: str, table: Table, part: NDArray[np.int64]
) -> Floats:
    """Return P(target | the other columns) of some rows, which are left out of the network, float64 (n, n_values).

    `part` has the positions of the rows in the table. A table without smoothing may give 0 to all values, which then
    are alike.
    """
    values = {column.name: column.values[part] for column in table.columns if column.name in network.names}
    looked_at = {target, *network.markov_blanket(target)}
    gaps = [column.is_missing for column in table.columns if column.name in looked_at]
    complete = np.flatnonzero(~np.logical_or.reduce(gaps))
    known, facts = network.conditionals, network.families[target].facts
    n_learned = table.n_rows if known is None else known.n_rows
    columns = Columns(values)

    def rows_of(child: str) -> FurtherRows:
        """Return the rows as the conditional of a column leaves them out."""
        members = (child, *network.parents(child))
        return FurtherRows(
            columns,
            np.ones(len(part)),
            # what was learned from some rows stands for all of them
            table.n_rows / n_learned,
            table.n_rows,
            n_learned,
            facts,
            smoothing_of(network.pseudo_count, network.metadata, network.levels, members),
            # a sum over missing cells is none
            lambda: Columns(
                {name: table.columns[table.names.index(name)].values[complete] for name in values}
            ),
        )

    cuts = network.cut_points
    of_target = np.arange(network.cardinality(target), dtype=np.int32)
    middles = (
        cell_middles(cuts[target], network.support[target], network.shapes.get(target))
        if target in cuts
        else of_target
    )
    apart = Columns({**{name: column[:, None] for name, column in values.items()}, target: middles[None]})
    logs = np.zeros((len(part), len(of_target)))
    for child in (target, *network.children(target)):
        family = Family(child, network.families[child].stack.left_out(child, rows_of(child)), facts)
        masses = family.masses(cuts.get(child), apart)
        codes = of_target[None] if child == target else _codes(network, values[child], child)[:, None]
        shape = *logs.shape, masses.shape[-1]
        places = np.broadcast_to(codes, logs.shape)[..., None]
        masses = np.take_along_axis(np.broadcast_to(masses, shape), places, axis=-1)[..., 0]
        logs += np.log(np.maximum(masses, sys.float_info.min))
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def _mean_loss(losses: Floats) -> dict[str, float]:
    return {"loss": float(losses.mean()), "loss_error": float(losses.std() / sqrt(len(losses)))}


def _counted(probabilities: Floats, is_level: NDArray[np.bool_]) -> list[list[int]]:
    """Return the numbers of rows with and without a level by ascending probability; see `prediction_summary`."""
    scaled, number = np.unique((probabilities * SCALE).round().astype(np.int64), return_inverse=True)
    counts = [np.bincount(number[which], minlength=len(scaled)) for which in (is_level, ~is_level)]
    rows: list[list[int]] = np.column_stack([scaled, *counts]).tolist()
    return rows


def _of_values(
    values: Floats, bins: NDArray[np.int32], part: NDArray[np.int64], probabilities: Floats, middles: Floats
) -> dict[str, Floats]:
    """Return predictions of the values of a part of the rows by the probabilities of their bins, float64 (n, n_bins).

    They are the "values", their "means", the probabilities "below" them, with half of that of equal values, and the
    "losses", each float64 (n,).

    The values of the other parts of a bin share its probability alike; of a bin without any it has the middle. The loss
    is the CRPS as E|X - y| - E|X - X'| / 2 (Gneiting & Raftery, "Strictly proper scoring rules, prediction, and
    estimation", 2007).
    """
    n_bins = probabilities.shape[1]
    others = np.ones(len(values), np.bool_)
    others[part] = False
    asked, own = values[part], bins[part]
    means, inside, below = middles.copy(), np.zeros(n_bins), np.full(len(part), 0.5)
    to_own = np.abs(middles[own] - asked)
    for code in range(n_bins):
        of_bin, rows = np.sort(values[others & (bins == code)]), own == code
        n = len(of_bin)
        if not n:
            continue
        sums = np.concatenate(([0.0], of_bin.cumsum()))
        means[code] = sums[-1] / n
        inside[code] = 2 * ((2 * np.arange(1, n + 1) - n - 1) @ of_bin) / n**2
        smaller, at_most = (np.searchsorted(of_bin, asked[rows], side) for side in ("left", "right"))
        below[rows] = (smaller + at_most) / 2 / n
        to_own[rows] = (asked[rows] * (2 * at_most - n) + sums[-1] - 2 * sums[at_most]) / n
    # bins are intervals, so that all values of another bin lie on one side of a value
    distances = np.abs(means - asked[:, None])
    distances[np.arange(len(part)), own] = to_own
    between = np.abs(means[:, None] - means)
    np.fill_diagonal(between, inside)
    of_own = probabilities[np.arange(len(part)), own]
    return {
        "values": asked,
        "means": probabilities @ means,
        "below": probabilities.cumsum(axis=1)[np.arange(len(part)), own] - of_own * (1 - below),
        "losses": (probabilities * distances).sum(axis=1)
        - np.einsum("rs,st,rt->r", probabilities, between, probabilities) / 2,
    }


def _of_parts(predicted: Sequence[Mapping[str, Floats]]) -> dict[str, Any]:
    """Return what `prediction_summary` holds of a continuous target, of the predictions by part."""
    values, means, below = (
        np.concatenate([one[key] for one in predicted]) for key in ("values", "means", "below")
    )
    n_groups = min(_MOST_GROUPS, max(1, len(values) // 20))
    group_of = np.concatenate([groups_of_equal_size(one["means"], n_groups) for one in predicted])
    groups = []
    for group in np.unique(group_of).tolist():
        rows = group_of == group
        facts = means[rows].mean(), values[rows].mean(), values[rows].std()
        groups.append([int(rows.sum()), *map(float, facts)])
    from_middle = np.abs(2 * below - 1)
    return {
        "groups": groups,
        "rmse": float(np.sqrt(((values - means) ** 2).mean())),
        "coverage": [float((from_middle <= share).mean()) for share in COVERAGES],
    }


def groups_of_equal_size(
    predictions: Floats, n_groups: int, sizes: Floats | None = None
) -> NDArray[np.int64]:
    """Return the group of every prediction, int64 (n,), by ascending predictions; equal ones stay together.

    A prediction stands for one row, or for as many as `sizes`, float64 (n,), says.
    """
    _, number = np.unique(predictions, return_inverse=True)
    of_value = np.bincount(number, sizes)
    middles = (of_value.cumsum() - of_value / 2) / of_value.sum()
    return np.asarray(np.minimum((middles * n_groups).astype(np.int64), n_groups - 1)[number])
