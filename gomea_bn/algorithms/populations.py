"""Populations of discrete genotypes: their arrays, work space, rules of variation, and counts."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, log10
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.errors import GomeaBnError
from gomea_bn.operators.kernels.mixing import (
    FINISHED,
    NOT_RUN,
    STATUS,
    MixingRules,
    MixingWork,
    PopulationData,
    evaluate_row,
)
from gomea_bn.problems.base import CompiledProblem, new_journal

__all__ = [
    "UNLIMITED",
    "FormerRow",
    "checked_genotypes",
    "climb_cost",
    "evaluated_again",
    "finished_prefix",
    "most_tries",
    "new_population",
    "new_work",
    "stall_limit",
    "variation_rules",
]

# a budget of evaluations without limit
UNLIMITED = 2**62


def checked_genotypes(problem: CompiledProblem, genotypes: ArrayLike, option: str) -> NDArray[np.int16]:
    """Return genotypes as int16, shape (k, n_variables).

    Parameters
    ----------
    problem : CompiledProblem
    genotypes : array_like of int, shape (k, n_variables)
    option : str
        Name of the option, for messages.

    Raises
    ------
    GomeaBnError
        For a wrong shape or dtype, or a value that the problem does not allow.
    """
    values = np.asarray(genotypes)
    if (
        values.ndim != 2
        or values.shape[1] != problem.n_variables
        or not np.issubdtype(values.dtype, np.integer)
    ):
        raise GomeaBnError(
            f"{option} must be integers of shape (k, {problem.n_variables}), "
            f"got {values.dtype} of shape {values.shape}."
        )
    in_alphabet = (values >= 0) & (values < problem.alphabet)
    genes = np.broadcast_to(np.arange(problem.n_variables), values.shape)
    wrong = np.argwhere(~(in_alphabet & problem.allowed[genes, np.where(in_alphabet, values, 0)]))
    if len(wrong):
        row, gene = wrong[0].tolist()
        raise GomeaBnError(
            f"{option}: row {row} has the value {values[row, gene]} in gene {gene}, which is not allowed."
        )
    return values.astype(np.int16)


def new_population(problem: CompiledProblem, parents: NDArray[np.int16]) -> PopulationData:
    """Return a population of these genotypes, not yet evaluated."""
    size = len(parents)
    return PopulationData(
        parents=parents,
        genotypes=parents.copy(),
        terms=np.zeros((size, problem.n_terms)),
        aux=np.zeros((size, problem.n_aux), np.uint64),
        objectives=np.full((size, problem.n_objectives), np.inf),
        violations=np.full(size, np.inf),
        stalls=np.zeros(size, np.int64),
        tallies=np.zeros((size, 4), np.int64),
    )


def new_work(problem: CompiledProblem, stop: NDArray[np.uint8], target: float | None = None) -> MixingWork:
    """Return one thread's work space.

    Parameters
    ----------
    problem : CompiledProblem
    stop : ndarray of shape (1,), uint8
        Setting it interrupts the thread's kernels.
    target : float, optional
        Objective at which the thread's work ends.
    """
    # the alphabet of a problem whose libraries grow may reach the width of `allowed`
    widest = np.full(problem.n_variables, problem.allowed.shape[1])
    return MixingWork(
        journal=new_journal(widest, problem.n_terms, problem.n_aux),
        subsets=np.zeros(2 * problem.n_variables + 1, np.int64),
        genes=np.zeros(problem.n_variables, np.int64),
        donors=np.zeros(0, np.int64),
        budget=np.zeros(1, np.int64),
        stop=stop,
        target=np.full(1, -np.inf if target is None else target),
    )


@dataclass(frozen=True)
class FormerRow:
    """A solution's former rows, and the number of terms that its new evaluation touched."""

    rows: tuple[NDArray[Any], ...]
    violation: float
    touched: int

    @property
    def objectives(self) -> NDArray[np.float64]:
        """Return the former objectives."""
        return self.rows[-1]

    def restore(self, data: PopulationData, i: int) -> None:
        """Write the former rows back."""
        for row, former in zip(_rows_of(data, i), self.rows, strict=True):
            row[:] = former
        data.violations[i] = self.violation


def _rows_of(data: PopulationData, i: int) -> tuple[NDArray[Any], ...]:
    return data.genotypes[i], data.terms[i], data.aux[i], data.objectives[i]


def evaluated_again(
    problem: CompiledProblem,
    data: PopulationData,
    i: int,
    genotype: NDArray[np.int16],
    generator: np.random.Generator,
    work: MixingWork,
) -> FormerRow:
    """Give solution i of a population another genotype, evaluate it, and return its former rows."""
    former = tuple(row.copy() for row in _rows_of(data, i))
    violation = float(data.violations[i])
    data.genotypes[i] = genotype
    touched = evaluate_row(problem.kernel_data(1)[0], data, i, generator, work)
    problem.generation_ended()
    return FormerRow(former, violation, int(touched))


def most_tries(problem: CompiledProblem) -> int:
    """Return the largest number of values that one climb tries for a gene that is not ordinal."""
    return problem.max_tries or problem.allowed.shape[1]


def climb_cost(problem: CompiledProblem, climbs: bool) -> int:
    """Return the largest number of evaluations of one climb, 0 without climbs."""
    others = np.minimum(problem.alphabet - 1, most_tries(problem))
    return int(np.where(problem.ordinal, 2, others).sum()) * climbs


def stall_limit(size: int) -> int:
    """Return the number of stalled generations above which improvement is forced in a population of `size`."""
    return 1 + floor(log10(size))


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
        alphabet=problem.alphabet,
        allowed=problem.allowed,
        ordinal=problem.ordinal,
        max_tries=most_tries(problem),
        stall_limit=stall_limit(size),
        forced_improvement=forced_improvement,
        local_search=climbs,
        search_donors=search_donors,
        immediate_elite=immediate_elite,
    )


def finished_prefix(tallies: NDArray[np.int64]) -> int:
    """Return the number of solutions that count: those before the first unfinished one, and this one if it has begun.

    Parameters
    ----------
    tallies : ndarray of shape (n, 4), int64
        As of `PopulationData`.
    """
    unfinished = np.flatnonzero(tallies[:, STATUS] != FINISHED)
    if not len(unfinished):
        return len(tallies)
    return int(unfinished[0]) + int(tallies[unfinished[0], STATUS] != NOT_RUN)
