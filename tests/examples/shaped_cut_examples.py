"""Small columns that may have a shape inside their bins, with discrete neighbours, and brute force over their cuts."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from shape_oracles import slow_is_too_narrow, slow_score, with_cuts

from gomea_bn import Shape
from gomea_bn.problems import ScoredFamily, ScoredVariable, score_rule, scoring_method
from gomea_bn.problems.cuts import (
    CodedColumn,
    CodedFamily,
    ColumnShape,
    CutColumn,
    CutLimits,
    CutProblem,
    IntervalScore,
    Neighbourhood,
    bin_codes,
)

METHODS = ("density-bic", "density-bd")
MEASURES = {"uniform": (True, False), "shaped": (False, True), "auto": (True, True)}


@dataclass
class Example:
    """A continuous variable x, the last one, with discrete parents and with children that share spouses."""

    variables: list[ScoredVariable]
    parents: list[int]
    children: list[tuple[int, list[int]]]
    centred: bool = False  # whether tables have the centred prior

    @property
    def x(self) -> ScoredVariable:
        return self.variables[-1]

    @property
    def values(self) -> NDArray[np.float64]:
        return np.asarray(self.x.values, np.float64)

    def problem(self, method: str = "density-bic", penalty: str | float = "bic") -> CutProblem:
        chosen = scoring_method(method)
        rule = score_rule(chosen, len(self.x.values), penalty=penalty, centred=self.centred)
        score = IntervalScore(chosen, rule)
        coded = [CodedColumn(v.values.astype(np.uint8), v.n_levels) for v in self.variables[:-1]]
        families = tuple(
            CodedFamily(coded[c], tuple(coded[s] for s in spouses)) for c, spouses in self.children
        )
        around = Neighbourhood(tuple(coded[p] for p in self.parents), families)
        return CutProblem.of_rows(CutColumn.of_values(self.values), around, score, self.x.shape)

    def families(self) -> list[ScoredFamily]:
        x = len(self.variables) - 1
        family = ScoredFamily((x, 0), tuple((p, 0) for p in self.parents))
        return [
            family,
            *(ScoredFamily((c, 0), ((x, 0), *((s, 0) for s in spouses))) for c, spouses in self.children),
        ]

    def slow_value(
        self, cuts: Sequence[float], method: str, penalty: str | float = "bic", shaped: bool | None = None
    ) -> float:
        variables = [*self.variables[:-1], with_cuts(self.x, *cuts)]
        own, *of_children = self.families()
        options: dict[str, Any] = {"penalty": penalty, "centred": self.centred}
        score = slow_score(variables, own, method, shaped=shaped, **options)
        return score + math.fsum(slow_score(variables, f, method, **options) for f in of_children)

    def slow_optimum(self, limits: CutLimits, method: str, penalty: str | float) -> float:
        """The largest score over all sets of mid-points and measures that the limits allow."""
        scores = [
            self.slow_value(cuts, method, penalty, shaped)
            for shaped in (self.x.shape.measures if self.x.shape else (False,))
            for cuts in self.allowed_cuts(limits, shaped=shaped)
        ]
        return max(scores, default=-math.inf)

    def allowed_cuts(self, limits: CutLimits, *, shaped: bool) -> list[tuple[float, ...]]:
        """All sets of mid-points that the limits allow."""
        values, shape = self.values, self.x.shape
        distinct = np.unique(values)
        middles = (distinct[:-1] + np.diff(distinct) / 2).tolist()
        resolution, least = (shape.resolution, shape.min_uniform_width) if shape else (0.0, 0.0)
        least = max(limits.min_width * np.ptp(values), least)
        allowed = []
        for k in range(limits.min_bins - 1, min(limits.max_bins or 99, len(distinct))):
            for cuts in itertools.combinations(middles, k):
                rows = np.bincount(bin_codes(values, np.array(cuts)), minlength=k + 1)
                if k and rows.min() < limits.min_bin_count:
                    continue
                if shaped or not slow_is_too_narrow(values.tolist(), cuts, resolution, least):
                    allowed.append(cuts)
        return allowed


def plain_example(
    values: NDArray[np.float64],
    discrete: Sequence[NDArray[np.int64]] = (),
    parents: Sequence[int] = (),
    children: Sequence[tuple[int, list[int]]] = (),
) -> Example:
    """A column whose bins are uniform inside, without a shape."""
    variables = [
        ScoredVariable(str(d), codes.astype(np.int32), int(codes.max()) + 1)
        for d, codes in enumerate(discrete)
    ]
    return Example([*variables, ScoredVariable("x", values, 0)], list(parents), list(children))


def random_example(
    seed: int, n_rows: int, n_distinct: int, measures: str = "auto", resolution: float | None = None
) -> Example:
    """A dependent column with ties; the likelihood of its shape is near that of uniform bins."""
    rng = np.random.default_rng(seed)
    levels = rng.integers(2, 4, 5).tolist()
    values = rng.choice(np.unique(rng.normal(size=n_distinct)), n_rows)
    values[:2] = -3.0, 3.0
    shift = (values > 0).astype(np.int32)
    discrete = [((rng.integers(0, r, n_rows) + shift) % r).astype(np.int32) for r in levels]
    uniform, shaped = MEASURES[measures]
    shape = ColumnShape(
        Shape([-3.0, 3.0], [1.0], [1.0]),
        log_likelihood=float(rng.uniform(0, 0.5) * n_rows),
        resolution=float(rng.choice([0.0, 0.3, 1.0])) if resolution is None else resolution,
        min_uniform_width=float(rng.choice([0.0, 0.5])),
        may_be_uniform=uniform,
        may_be_shaped=shaped,
    )
    variables = [ScoredVariable(str(d), c, r) for d, (c, r) in enumerate(zip(discrete, levels))]
    variables.append(with_cuts(ScoredVariable("x", values, 0, shape=shape)))
    parents = [[], [0], [0, 1]][rng.integers(3)]
    families: list[list[tuple[int, list[int]]]] = [
        [], [(2, [])], [(2, [0]), (3, [])], [(2, [3, 4]), (3, [0])],
    ]  # fmt: skip
    return Example(variables, parents, families[rng.integers(4)])
