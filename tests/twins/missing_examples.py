"""Slow twins of scores on available cases, and tables with missing values."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from oracles import slow_family_score

from gomea_bn.problems import ScoredFamily, ScoredVariable
from gomea_bn.problems.cuts import Policy

METHODS: list[tuple[str, dict[str, Any]]] = [
    ("density-bic", {}),
    ("density-bd", {}),
    ("density-bd", {"centred": True}),
    ("density-bd", {"centred": True, "equivalent": True}),
    ("density-bd", {"prior": "bdeu", "ess": 3.0}),
]


def with_gaps(
    variables: Sequence[ScoredVariable], rng: np.random.Generator, share: float
) -> list[ScoredVariable]:
    """The variables with some values missing; two distinct values of every continuous one stay."""
    result = []
    for variable in variables:
        gaps = rng.random(len(variable.values)) < rng.choice([0.0, share])
        if variable.n_levels:
            gaps[0] = False
            values = np.where(gaps, -1, variable.values.astype(np.int32)).astype(np.int32)
        else:
            gaps[[variable.values.argmin(), variable.values.argmax()]] = False
            values = np.where(gaps, np.nan, variable.values)
        result.append(replace(variable, values=values))
    return result


def slow_observed(variable: ScoredVariable) -> list[bool]:
    """Which values are not missing."""
    return [int(v) != -1 if variable.n_levels else not math.isnan(v) for v in variable.values]


def _rows_of(variable: ScoredVariable, policy: int, rows: NDArray[np.int64]) -> ScoredVariable:
    """Some rows of a variable as the levels of a discrete one."""
    values = variable.values[rows]
    if variable.n_levels:
        return replace(variable, values=values)
    cuts = variable.policies[policy].cut_points
    codes = np.array([sum(v > cut for cut in cuts) for v in values.tolist()], np.int32)
    return ScoredVariable(variable.name, codes, len(cuts) + 1, are_bins=True)


def slow_gain_order(
    variables: Sequence[ScoredVariable], family: ScoredFamily, method: str, **options: Any
) -> list[tuple[tuple[int, int], float, int]]:
    """The parents from the first to be removed to the last, with their gains, and the numbers of complete rows."""
    observed = [slow_observed(variable) for variable in variables]
    remaining = list(family.parents)
    order = []
    while remaining:
        members = [*remaining, family.child]
        rows = np.flatnonzero([all(observed[v][i] for v, _ in members) for i in range(len(observed[0]))])
        cut = [_rows_of(variables[v], policy, rows) for v, policy in members]

        def score(kept: list[int], cut: list[ScoredVariable] = cut) -> float:
            if not len(cut[0].values):
                return -_price(len(observed[0]), cut, kept, method, options)
            named = dict(options)
            if method == "density-bic":
                named["penalty"] = math.log(len(observed[0])) / 2
            return slow_family_score(
                cut, ScoredFamily((len(cut) - 1, 0), tuple((p, 0) for p in kept)), method, **named
            )

        every = list(range(len(remaining)))
        gains = [score(every) - score([p for p in every if p != q]) for q in every]
        weakest = next(q for q in every if gains[q] <= min(gains) + 1e-7)
        order.append((remaining.pop(weakest), gains[weakest], len(rows)))
    return order


def _price(
    n_rows: int, cut: Sequence[ScoredVariable], kept: Sequence[int], method: str, options: dict[str, Any]
) -> float:
    """What a family without rows costs."""
    if method != "density-bic":
        return 0.0
    cells = math.prod(cut[p].n_levels for p in kept) * (cut[-1].n_levels - 1)
    return math.log(n_rows) / 2 * cells


def slow_available_score(
    variables: Sequence[ScoredVariable],
    family: ScoredFamily,
    method: str,
    *,
    edge_cost: float = 0.0,
    cut_cost: float = 0.5,
    **options: Any,
) -> float:
    """The score of a family on available cases in nats; `edge_cost` is in nats per edge."""
    child, policy = family.child
    n_rows = len(variables[child].values)
    rows = np.flatnonzero(slow_observed(variables[child]))
    alone = replace(variables[child], values=variables[child].values[rows])
    if not alone.n_levels:
        alone = replace(
            alone, policies=(Policy(alone.policies[policy].cut_points, alone.policies[policy].chosen),)
        )
    named = {**options}
    if method == "density-bic":
        named["penalty"] = math.log(n_rows) / 2
    root = slow_family_score([alone], ScoredFamily((0, 0)), method, cut_cost=cut_cost, **named)
    parts = [n_rows / len(rows) * root]
    for _, gain, n_complete in slow_gain_order(variables, family, method, **options):
        parts.append(n_rows / max(n_complete, 1) * (gain - edge_cost))
    return math.fsum(parts)


def slow_ordered_score(
    variables: Sequence[ScoredVariable],
    family: ScoredFamily,
    order: Sequence[tuple[int, int]],
    method: str,
    cut_cost: float = 0.5,
    *,
    centred: bool = False,
    equivalent: bool = False,
) -> float:
    """The score of a family on available cases whose parents are removed in a given order."""
    observed = [slow_observed(variable) for variable in variables]
    n_rows = len(observed[0])
    parts = [slow_available_score(variables, ScoredFamily(family.child), method, cut_cost=cut_cost)]
    named: dict[str, Any] = {"penalty": math.log(n_rows) / 2} if method == "density-bic" else {}
    named |= {"centred": centred, "equivalent": equivalent}
    remaining = list(family.parents)
    for removed in order:
        members = [*remaining, family.child]
        rows = np.flatnonzero([all(observed[v][i] for v, _ in members) for i in range(n_rows)])
        cut = [_rows_of(variables[v], policy, rows) for v, policy in members]
        child, every = (len(cut) - 1, 0), [(p, 0) for p in range(len(remaining))]
        others = [p for p in every if remaining[p[0]] != removed]
        if len(rows):
            gain = slow_family_score(cut, ScoredFamily(child, tuple(every)), method, **named)
            gain -= slow_family_score(cut, ScoredFamily(child, tuple(others)), method, **named)
        else:
            gain = _price(n_rows, cut, [p for p, _ in others], method, named) - _price(
                n_rows, cut, [p for p, _ in every], method, named
            )
        parts.append(n_rows / max(len(rows), 1) * gain)
        remaining.remove(removed)
    return math.fsum(parts)
