"""Populations of discrete genotypes: made, evaluated, counted; shared by GOMEA and MOGOMEA."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import floor, log10
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.errors import GomeaBnError
from gomea_bn.operators.kernels.mixing import (
    FINISHED,
    NOT_RUN,
    MixingRules,
    MixingWork,
    PopulationData,
    evaluate_row,
)
from gomea_bn.problems.base import CompiledProblem, new_journal

UNLIMITED = 2**62


# below this expected time a generation runs in the calling thread
INLINE_SECONDS = 2e-3


# the same where there is only one thread: handing over then only serves the deadline
ALONE_SECONDS = 0.05


# below this many genes times solutions, so does learning linkage
INLINE_CELLS = 1 << 16


# one in so many solutions is refined after each generation, beside the best one
REFINED_SHARE = 8


class Refiner(Protocol):
    """Improves solutions by what only their problem knows."""

    def improved(
        self,
        genotype: NDArray[np.int16],
        generator: np.random.Generator,
        in_use: Callable[[int], NDArray[np.int64]],
    ) -> NDArray[np.int16]:
        """Return a genotype that is at least as good; `in_use` tells which values of a gene solutions have."""

    def affordable(self, n_eval: int) -> bool:
        """Return whether the work done so far is in proportion to so many evaluations of the search."""


def checked_genotypes(problem: CompiledProblem, genotypes: ArrayLike, what: str) -> NDArray[np.int16]:
    """Return genotypes, shape (k, n_variables), each gene with a value that the problem allows."""
    given = np.asarray(genotypes)
    if given.ndim != 2 or given.shape[1] != problem.n_variables or not np.issubdtype(given.dtype, np.integer):
        raise GomeaBnError(
            f"{what} must be integers of shape (k, {problem.n_variables}), got {given.dtype} of shape {given.shape}."
        )
    known = (given >= 0) & (given < problem.alphabet)
    genes = np.broadcast_to(np.arange(problem.n_variables), given.shape)
    wrong = np.argwhere(~(known & problem.allowed[genes, np.where(known, given, 0)]))
    if len(wrong):
        row, gene = wrong[0].tolist()
        raise GomeaBnError(
            f"{what}: row {row} has the value {given[row, gene]} in gene {gene}, which is not allowed."
        )
    return given.astype(np.int16)


def new_population(problem: CompiledProblem, parents: NDArray[np.int16]) -> PopulationData:
    """Return a population of these genotypes that has not been evaluated."""
    size = len(parents)
    return PopulationData(
        parents,
        parents.copy(),
        np.zeros((size, problem.n_terms)),
        np.zeros((size, problem.n_aux), np.uint64),
        np.full((size, problem.n_objectives), np.inf),
        np.full(size, np.inf),
        np.zeros(size, np.int64),
        np.zeros((size, 4), np.int64),
    )


def new_work(problem: CompiledProblem, stop: NDArray[np.uint8], target: float | None = None) -> MixingWork:
    """Return one thread's work space."""
    return MixingWork(
        # the alphabet of a problem whose libraries grow may reach the width of `allowed`
        new_journal(np.full(problem.n_variables, problem.allowed.shape[1]), problem.n_terms, problem.n_aux),
        np.zeros(2 * problem.n_variables + 1, np.int64),
        np.zeros(problem.n_variables, np.int64),
        np.zeros(0, np.int64),
        np.zeros(1, np.int64),
        stop,
        np.full(1, -np.inf if target is None else target),
    )


@dataclass(frozen=True)
class FormerRow:
    """A solution's rows as they were, and how many terms its new evaluation touched."""

    rows: tuple[NDArray[Any], ...]
    violation: float
    touched: int

    @property
    def objectives(self) -> NDArray[np.float64]:
        """Return the former objectives."""
        return self.rows[-1]

    def restore(self, data: PopulationData, i: int) -> None:
        """Write the rows back."""
        for row, former in zip(_rows_of(data, i), self.rows, strict=True):
            row[:] = former
        data.violations[i] = self.violation


def _rows_of(data: PopulationData, i: int) -> tuple[NDArray[Any], ...]:
    return data.genotypes[i], data.terms[i], data.aux[i], data.objectives[i]


def evaluated_anew(
    problem: CompiledProblem,
    data: PopulationData,
    i: int,
    genotype: NDArray[np.int16],
    generator: np.random.Generator,
    work: MixingWork,
) -> FormerRow:
    """Give solution i of a population another genotype, evaluate it, and return what it was before."""
    former = tuple(row.copy() for row in _rows_of(data, i))
    violation = float(data.violations[i])
    data.genotypes[i] = genotype
    touched = evaluate_row(problem.kernel_data(1)[0], data, i, generator, work)
    problem.generation_ended()
    return FormerRow(former, violation, int(touched))


def most_tries(problem: CompiledProblem) -> int:
    """Return how many other values of a gene that is not ordinal one climb tries."""
    return getattr(problem, "max_tries", 0) or problem.allowed.shape[1]


def climb_cost(problem: CompiledProblem, climbs: bool) -> int:
    """Return the most evaluations of one climb."""
    others = np.minimum(problem.alphabet - 1, most_tries(problem))
    return int(np.where(problem.ordinal, 2, others).sum()) * climbs


def variation_rules(
    problem: CompiledProblem,
    size: int,
    *,
    climbs: bool,
    forced_improvement: bool = False,
    search_donors: bool = False,
    immediate_elite: bool = False,
) -> MixingRules:
    """Return the options of variation for a population of `size`."""
    return MixingRules(
        problem.alphabet,
        problem.allowed,
        problem.ordinal,
        most_tries(problem),
        1 + floor(log10(size)),
        forced_improvement,
        climbs,
        search_donors,
        immediate_elite,
    )


def finished_prefix(tallies: NDArray[np.int64]) -> int:
    """Return how many solutions count: those before the first unfinished one, and that one if it was begun."""
    unfinished = np.flatnonzero(tallies[:, 0] != FINISHED)
    if not len(unfinished):
        return len(tallies)
    return int(unfinished[0]) + int(tallies[unfinished[0], 0] != NOT_RUN)
