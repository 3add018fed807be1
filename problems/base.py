"""The protocol between problems and operators: solutions, their journal, and compiled dispatch by problem.

A compiled problem hands its kernels one named tuple of arrays. `evaluate` and `evaluate_partial` below find the
implementation by that tuple's class, so an operator's kernel compiles once per problem type and is cached on disk
(a kernel that takes functions as arguments would be recompiled in every process).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numba.core import types
from numba.extending import overload
from numpy.typing import ArrayLike, NDArray

from gomea_bn.errors import GomeaBnError
from gomea_bn.runtime.fingerprint import fingerprint
from gomea_bn.runtime.jit import kernel, note_source

__all__ = [
    "CompiledProblem",
    "Journal",
    "KernelProblem",
    "Solution",
    "evaluate",
    "evaluate_partial",
    "new_journal",
    "register_problem",
    "set_aux",
    "set_gene",
    "set_term",
    "undo",
]


class Solution(NamedTuple):
    """One candidate, as views of a population's rows; everything in it is mutated in place."""

    genotype: NDArray[np.int16]  # (n_variables,)
    terms: NDArray[np.float64]  # (n_terms,) additive parts of the objective
    aux: NDArray[np.uint64]  # (n_aux,) what the problem derives from the genotype
    objectives: NDArray[np.float64]  # (n_objectives,), minimised
    violation: NDArray[np.float64]  # (1,), 0 = feasible


class Journal(NamedTuple):
    """What a step changed, so that a rejected step is undone at the cost of its changes."""

    counts: NDArray[np.int64]  # (3,) number of gene, term and aux entries
    genes: NDArray[np.int64]
    gene_values: NDArray[np.int16]
    terms: NDArray[np.int64]
    term_values: NDArray[np.float64]
    aux: NDArray[np.int64]
    aux_values: NDArray[np.uint64]


def new_journal(alphabet: NDArray[np.int64], n_terms: int, n_aux: int) -> Journal:
    """Return an empty journal that is long enough for any single step over genes of these cardinalities."""
    # per gene: the donor's value, one removal by repair, or one entry for every value that repair steps down
    n_genes = 2 * len(alphabet) + int(alphabet.sum()) + 8
    n_auxes, n_scores = 4 * (len(alphabet) + n_aux) + 8, 2 * n_terms + 8
    return Journal(
        np.zeros(3, np.int64),
        np.zeros(n_genes, np.int64),
        np.zeros(n_genes, np.int16),
        np.zeros(n_scores, np.int64),
        np.zeros(n_scores, np.float64),
        np.zeros(n_auxes, np.int64),
        np.zeros(n_auxes, np.uint64),
    )


@kernel
def set_gene(solution: Solution, journal: Journal, gene: int, value: int) -> None:
    """Set one gene and note its former value; mutates both."""
    k = journal.counts[0]
    journal.genes[k] = gene
    journal.gene_values[k] = solution.genotype[gene]
    journal.counts[0] = k + 1
    solution.genotype[gene] = value


@kernel
def set_term(solution: Solution, journal: Journal, term: int, value: float) -> None:
    """Set one additive term and note its former value; mutates both."""
    k = journal.counts[1]
    journal.terms[k] = term
    journal.term_values[k] = solution.terms[term]
    journal.counts[1] = k + 1
    solution.terms[term] = value


@kernel
def set_aux(solution: Solution, journal: Journal, index: int, value: np.uint64) -> None:
    """Set one word of derived state and note its former value; mutates both."""
    k = journal.counts[2]
    journal.aux[k] = index
    journal.aux_values[k] = solution.aux[index]
    journal.counts[2] = k + 1
    solution.aux[index] = value


@kernel
def undo(solution: Solution, journal: Journal) -> None:
    """Take back everything in the journal, last change first, and empty it; objectives are the caller's."""
    for k in range(journal.counts[0] - 1, -1, -1):
        solution.genotype[journal.genes[k]] = journal.gene_values[k]
    for k in range(journal.counts[1] - 1, -1, -1):
        solution.terms[journal.terms[k]] = journal.term_values[k]
    for k in range(journal.counts[2] - 1, -1, -1):
        solution.aux[journal.aux[k]] = journal.aux_values[k]
    journal.counts[:] = 0


class CompiledProblem(Protocol):
    """What an algorithm needs of a problem whose evaluation is compiled."""

    n_variables: int
    alphabet: NDArray[np.int64]  # (n_variables,) cardinalities
    n_objectives: int
    n_terms: int
    n_aux: int
    allowed: NDArray[
        np.bool_
    ]  # (n_variables, alphabet.max()): alleles that sampling and local search may use
    ordinal: NDArray[np.bool_]  # (n_variables,): local search tries the two neighbouring alleles only

    def kernel_data(self, n_threads: int) -> list[Any]:
        """Return one named tuple of arrays per thread; shared arrays are the same objects in each."""

    def sample(self, generator: np.random.Generator, n: int) -> NDArray[np.int16]:
        """Return initial genotypes, shape (n, n_variables)."""

    def chunk_ended(self, thread: int, data: Any) -> Any:
        """Return the data for the thread's next kernel; called by that thread after each of its kernels."""

    def generation_ended(self) -> None:
        """Take in what the threads found; called between kernels, never while one runs."""

    def statistics(self) -> dict[str, int]:
        """Return counts of the problem's own work so far."""


class KernelProblem:
    """A problem that is nothing but its kernel data: no constraints on genes, no caches, uniform sampling.

    Parameters
    ----------
    data : NamedTuple
        What the registered kernels get; see `register_problem`.
    alphabet : array_like of int, shape (n_variables,)
        Cardinality of every gene.
    n_terms, n_aux, n_objectives : int
        Lengths of a solution's additive terms, derived words and objectives.
    target : float, optional
        Objective value of a known optimum.
    """

    def __init__(
        self,
        data: Any,
        alphabet: ArrayLike,
        *,
        n_terms: int = 0,
        n_aux: int = 0,
        n_objectives: int = 1,
        target: float | None = None,
    ) -> None:
        check_registered(data)
        self.data = data
        self.alphabet = np.atleast_1d(np.asarray(alphabet))
        if not np.issubdtype(self.alphabet.dtype, np.integer) or self.alphabet.min(initial=1) < 1:
            raise GomeaBnError(f"alphabet must be integers of at least 1, one per gene, got {alphabet!r}.")
        self.alphabet = self.alphabet.astype(np.int64)
        self.n_variables = len(self.alphabet)
        self.n_terms = n_terms
        self.n_aux = n_aux
        self.n_objectives = n_objectives
        self.target = target
        self.allowed = np.arange(self.alphabet.max(initial=1)) < self.alphabet[:, None]
        self.ordinal = np.zeros(self.n_variables, np.bool_)

    def kernel_data(self, n_threads: int) -> list[Any]:
        """Return the data once per thread; it is only read."""
        return [self.data] * n_threads

    def sample(self, generator: np.random.Generator, n: int) -> NDArray[np.int16]:
        """Return uniform genotypes, shape (n, n_variables)."""
        return generator.integers(0, self.alphabet, (n, self.n_variables), dtype=np.int64).astype(np.int16)

    def chunk_ended(self, thread: int, data: Any) -> Any:
        """Return `data`: there is nothing to grow."""
        return data

    def generation_ended(self) -> None:
        """Do nothing: there is nothing to merge."""

    def statistics(self) -> dict[str, int]:
        """Return no counts."""
        return {}


def check_registered(data: Any) -> None:
    """Raise `GomeaBnError` unless kernels are registered for the class of `data`."""
    if type(data) not in _REGISTRY:
        raise GomeaBnError(
            f"No kernels are registered for {type(data).__name__}; call register_problem with the class of the "
            "problem's data, a NamedTuple, first."
        )


class _Implementation(NamedTuple):
    evaluate: Callable[..., int]
    evaluate_partial: Callable[..., int]


_REGISTRY: dict[type, _Implementation] = {}


def register_problem(
    data_class: type, evaluate: Callable[..., int], evaluate_partial: Callable[..., int]
) -> None:
    """Register the compiled evaluation of problems whose kernel data is a `data_class`.

    Parameters
    ----------
    data_class : type
        A NamedTuple class of arrays and scalars.
    evaluate, evaluate_partial : kernel
        ``(data, solution, journal, generator) -> number of touched terms``. The first builds everything from
        ``solution.genotype``; the second is called after the genes in ``journal`` changed, and updates terms,
        auxiliary state and objectives through `set_gene`, `set_term` and `set_aux`.

    Notes
    -----
    The class's ``__name__`` gets a digest of the functions: numba tells named tuples apart by their names only, so that
    two problems with classes of one name, or one that is edited in a notebook, would share compiled code.
    """
    if not (data_class.__module__ or "").startswith("gomea_bn."):
        digest = fingerprint(evaluate, evaluate_partial)[:12]
        data_class.__name__ = f"{data_class.__module__}.{data_class.__qualname__}_{digest}".replace(".", "_")
    _REGISTRY[data_class] = _Implementation(evaluate, evaluate_partial)
    for function in (evaluate, evaluate_partial):
        note_source(getattr(function, "py_func", function))


def evaluate(data: Any, solution: Solution, journal: Journal, generator: np.random.Generator) -> int:
    """Evaluate a whole solution, repairing it in place; returns the number of touched terms."""
    return _REGISTRY[type(data)].evaluate(data, solution, journal, generator)


def evaluate_partial(data: Any, solution: Solution, journal: Journal, generator: np.random.Generator) -> int:
    """Re-evaluate what the journal's gene changes touch; returns the number of touched terms."""
    return _REGISTRY[type(data)].evaluate_partial(data, solution, journal, generator)


@overload(evaluate)
def _overload_evaluate(data: Any, solution: Any, journal: Any, generator: Any) -> Callable[..., int] | None:
    if not isinstance(data, types.BaseNamedTuple):
        return None
    implementation = _REGISTRY[data.instance_class].evaluate  # type: ignore[attr-defined]

    def call(data: Any, solution: Any, journal: Any, generator: Any) -> int:
        return implementation(data, solution, journal, generator)

    return call


@overload(evaluate_partial)
def _overload_evaluate_partial(
    data: Any, solution: Any, journal: Any, generator: Any
) -> Callable[..., int] | None:
    if not isinstance(data, types.BaseNamedTuple):
        return None
    implementation = _REGISTRY[data.instance_class].evaluate_partial  # type: ignore[attr-defined]

    def call(data: Any, solution: Any, journal: Any, generator: Any) -> int:
        return implementation(data, solution, journal, generator)

    return call
