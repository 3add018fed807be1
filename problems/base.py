"""The protocol between problems and operators: solutions, their journal, and compiled dispatch by problem.

A compiled problem gives its kernels one named tuple of arrays. `evaluate` and `evaluate_partial` below find the
implementation by that tuple's class, so an operator's kernel compiles once per problem type and is cached on disk.
A kernel that takes functions as arguments would be compiled again in every process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numba.core import types
from numba.extending import overload
from numpy.typing import ArrayLike, NDArray

from gomea_bn.errors import GomeaBnError
from gomea_bn.runtime.evaluations import Meeting
from gomea_bn.runtime.jit import CalledKernelCompiler, fingerprint, kernel, note_source

__all__ = [
    "AUX",
    "GENES",
    "TERMS",
    "AnyProblem",
    "CompiledProblem",
    "Journal",
    "KernelProblem",
    "Refiner",
    "Solution",
    "ValuesInUse",
    "WithDefaults",
    "check_cardinalities",
    "check_registered",
    "data_digest",
    "evaluate",
    "evaluate_partial",
    "new_journal",
    "register_problem",
    "set_aux",
    "set_gene",
    "set_term",
    "undo",
    "with_defaults",
]

ValuesInUse: TypeAlias = Callable[[int], NDArray[np.int64]]
"""Function of a gene that returns its values in the solutions of a search, which a library must keep."""


class Refiner(Protocol):
    """An object that improves solutions; classes that do so derive from it."""

    def improved(
        self, genotype: NDArray[np.int16], generator: np.random.Generator, in_use: ValuesInUse
    ) -> NDArray[np.int16]:
        """Return a genotype that is at least as good as one without cycles, which is not changed.

        Values of genes that are `in_use`, and those of the genotype itself, stay in libraries.
        """
        raise NotImplementedError

    def affordable(self, n_eval: int) -> bool:
        """Return whether the work done so far is in proportion to `n_eval` evaluations of the search."""
        raise NotImplementedError

    def state(self) -> dict[str, Any]:
        """Return what later work depends on, as plain values and arrays, for checkpoints."""
        raise NotImplementedError

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take in what `state` had returned."""
        raise NotImplementedError


# largest cardinality of a gene: genotypes are int16
MOST_VALUES = int(np.iinfo(np.int16).max)


class Solution(NamedTuple):
    """One candidate, as views of a population's rows; kernels change all of them in place."""

    genotype: NDArray[np.int16]  # (n_variables,); float64 for real variables
    terms: NDArray[np.float64]  # (n_terms,) additive parts of the objective
    aux: NDArray[np.uint64]  # (n_aux,) state that the problem derives from the genotype
    objectives: NDArray[np.float64]  # (n_objectives,) minimised
    violation: NDArray[np.float64]  # (1,) 0 = feasible


class Journal(NamedTuple):
    """The changes of a step with the former values, so that undoing a step costs no more than its changes."""

    counts: NDArray[np.int64]  # (3,) numbers of entries: GENES, TERMS, AUX
    genes: NDArray[np.int64]  # changed genes
    gene_values: NDArray[np.int16]  # their former values; float64 for real variables
    terms: NDArray[np.int64]  # changed terms
    term_values: NDArray[np.float64]  # their former values
    aux: NDArray[np.int64]  # changed words of derived state
    aux_values: NDArray[np.uint64]  # their former values


def new_journal(alphabet: NDArray[np.int64], n_terms: int, n_aux: int) -> Journal:
    """Return an empty journal that has room for any single step over genes of these cardinalities."""
    # entries per gene: the donor's value, one removal by repair, and one for every value that repair steps down
    n_genes = 2 * len(alphabet) + int(alphabet.sum()) + 8
    n_auxes, n_scores = 4 * (len(alphabet) + n_aux) + 8, 2 * n_terms + 8
    return Journal(
        counts=np.zeros(3, np.int64),
        genes=np.zeros(n_genes, np.int64),
        gene_values=np.zeros(n_genes, np.int16),
        terms=np.zeros(n_scores, np.int64),
        term_values=np.zeros(n_scores, np.float64),
        aux=np.zeros(n_auxes, np.int64),
        aux_values=np.zeros(n_auxes, np.uint64),
    )


# entries of `Journal.counts`
GENES, TERMS, AUX = 0, 1, 2


@kernel
def set_gene(solution: Solution, journal: Journal, gene: int, value: int) -> None:
    """Set one gene and write its former value to the journal."""
    k = journal.counts[GENES]
    journal.genes[k] = gene
    journal.gene_values[k] = solution.genotype[gene]
    journal.counts[GENES] = k + 1
    solution.genotype[gene] = value


@kernel
def set_term(solution: Solution, journal: Journal, term: int, value: float) -> None:
    """Set one additive term and write its former value to the journal."""
    k = journal.counts[TERMS]
    journal.terms[k] = term
    journal.term_values[k] = solution.terms[term]
    journal.counts[TERMS] = k + 1
    solution.terms[term] = value


@kernel
def set_aux(solution: Solution, journal: Journal, index: int, value: np.uint64) -> None:
    """Set one word of derived state and write its former value to the journal."""
    k = journal.counts[AUX]
    journal.aux[k] = index
    journal.aux_values[k] = solution.aux[index]
    journal.counts[AUX] = k + 1
    solution.aux[index] = value


@kernel
def undo(solution: Solution, journal: Journal) -> None:
    """Undo all changes in the journal, last one first, and empty it; the caller restores the objectives."""
    for k in range(journal.counts[GENES] - 1, -1, -1):
        solution.genotype[journal.genes[k]] = journal.gene_values[k]
    for k in range(journal.counts[TERMS] - 1, -1, -1):
        solution.terms[journal.terms[k]] = journal.term_values[k]
    for k in range(journal.counts[AUX] - 1, -1, -1):
        solution.aux[journal.aux[k]] = journal.aux_values[k]
    journal.counts[:] = 0


class AnyProblem:
    """The members of a problem whose evaluation is compiled, and the defaults of those that it need not have."""

    is_real: bool
    n_variables: int
    n_terms: int
    n_objectives: int = 1
    n_aux: int = 0
    # objective at which the problem counts as solved
    target: float | None = None
    # where threads wait for evaluations that are answered together; None if there are none
    meeting: Meeting | None = None

    def kernel_data(self, n_threads: int) -> list[Any]:
        """Return one named tuple of arrays per thread; shared arrays are the same objects in each."""
        raise NotImplementedError

    def sample(self, generator: np.random.Generator, n: int) -> NDArray[Any]:
        """Return initial solutions, shape (n, n_variables)."""
        raise NotImplementedError

    def chunk_ended(self, thread: int, data: Any) -> Any:
        """Return the data for the thread's next kernel, by default the same; called by it after each of its kernels."""
        return data

    def generation_ended(self) -> None:
        """Take in the threads' results; called between kernels, never while one runs."""

    def statistics(self) -> dict[str, int]:
        """Return counts of the problem's own work so far, by default none."""
        return {}

    def identity(self) -> dict[str, str]:
        """Return texts by name that differ for problems with other solutions or objectives, for checkpoints.

        They are by default the class and the numbers of variables, objectives and terms.
        """
        numbers = {name: str(getattr(self, name)) for name in ("n_variables", "n_objectives", "n_terms")}
        return {"class": type(getattr(self, "_problem", self)).__qualname__, **numbers}

    def state(self) -> dict[str, Any]:
        """Return what changes during a run, as plain values and arrays, for checkpoints; by default nothing."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take in what `state` had returned for an equal problem; called between kernels."""


class CompiledProblem(AnyProblem):
    """A problem over discrete genes whose evaluation is compiled.

    A class that has the members without a default here is enough: the searches add the defaults.
    """

    is_real: bool = False
    alphabet: NDArray[np.int64]  # (n_variables,) cardinalities
    allowed: NDArray[np.bool_]  # (n_variables, alphabet.max()): values that sampling and local search may use
    ordinal: NDArray[np.bool_]  # (n_variables,): local search tries the two neighbouring values only
    climbs: bool = False  # whether local search is on unless the settings say otherwise
    # most solutions that a thread varies in one go; few where evaluations are slow
    solutions_per_block: int = 16
    max_tries: int | None = None  # most other values of a gene that is not ordinal in one climb; None for all

    def refiner(self, stop: NDArray[np.uint8]) -> Refiner | None:
        """Return the refiner of one run, which ends early once `stop` (1,) is set, or None as by default."""
        return None


class WithDefaults:
    """A base of classes that wrap a user's object and add the defaults of members that it lacks."""

    def __init__(self, problem: Any) -> None:
        self._problem = problem
        for base in type(self).__mro__[1:]:
            for name in vars(base):
                if not name.startswith("_") and hasattr(problem, name):
                    setattr(self, name, getattr(problem, name))

    def __getattr__(self, name: str) -> Any:
        # a copy in the making has no problem yet
        if name == "_problem":
            raise AttributeError(name)
        return getattr(self._problem, name)


class _WithDiscreteDefaults(WithDefaults, CompiledProblem):
    """A user's object, with the defaults of those members of `CompiledProblem` that it lacks."""


def with_defaults(problem: Any) -> CompiledProblem:
    """Return a discrete problem that has all members of `CompiledProblem`: the given one, or one that wraps it."""
    return problem if isinstance(problem, CompiledProblem) else _WithDiscreteDefaults(problem)


def check_cardinalities(alphabet: NDArray[np.int64]) -> None:
    """Raise `GomeaBnError` unless all cardinalities (n_variables,) are from 1 to 32,767, as genotypes are int16."""
    wrong = np.flatnonzero((alphabet < 1) | (alphabet > MOST_VALUES))
    if len(wrong):
        gene = int(wrong[0])
        raise GomeaBnError(
            f"alphabet: cardinalities must be from 1 to {MOST_VALUES}, got {alphabet[gene]} for gene {gene}."
        )


def data_digest(data: Any) -> str:
    """Return a digest of arrays, numbers and texts in named tuples."""
    digest = sha256()
    for part in data if isinstance(data, tuple) else (data,):
        is_array = isinstance(part, np.ndarray)
        digest.update(f"{part.dtype} {part.shape}".encode() if is_array else repr(part).encode())
        digest.update(np.ascontiguousarray(part).tobytes() if is_array else b"")
    return digest.hexdigest()[:16]


class KernelProblem(CompiledProblem):
    """A problem that consists of its kernel data: no constraints on genes, no caches, uniform sampling.

    Parameters
    ----------
    data : NamedTuple
        Data that the registered kernels get; see `register_problem`.
    alphabet : array_like of int, shape (n_variables,)
        Cardinality of every gene, from 1 to 32,767.
    n_terms, n_aux, n_objectives : int
        Numbers of a solution's additive terms, derived words and objectives.
    target : float, optional
        Objective value of a known optimum.

    Raises
    ------
    GomeaBnError
        If no kernels are registered for the data, or the alphabet cannot be used.

    Examples
    --------
    >>> from gomea_bn.problems.benchmarks import Trap
    >>> trap = Trap(10)
    >>> same = KernelProblem(trap.data, trap.alphabet, n_terms=trap.n_terms, target=trap.target)
    >>> same.n_variables
    10
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
        cardinalities = np.atleast_1d(np.asarray(alphabet))
        if not np.issubdtype(cardinalities.dtype, np.integer):
            raise GomeaBnError(f"alphabet must be integers, one cardinality per gene, got {alphabet!r}.")
        check_cardinalities(cardinalities)
        self.alphabet = cardinalities.astype(np.int64)
        self.n_variables = len(self.alphabet)
        self.n_terms = n_terms
        self.n_aux = n_aux
        self.n_objectives = n_objectives
        self.target = target
        self.allowed = np.arange(self.alphabet.max(initial=1)) < self.alphabet[:, None]
        self.ordinal = np.zeros(self.n_variables, np.bool_)

    def kernel_data(self, n_threads: int) -> list[Any]:
        """Return the data once per thread; kernels only read it."""
        return [self.data] * n_threads

    def identity(self) -> dict[str, str]:
        """Return the class, the numbers, and a digest of the data."""
        return {
            **super().identity(),
            "kernel data": data_digest(self.data),
            "alphabet": data_digest(self.alphabet),
        }

    def sample(self, generator: np.random.Generator, n: int) -> NDArray[np.int16]:
        """Return uniform genotypes, shape (n, n_variables)."""
        return generator.integers(0, self.alphabet, (n, self.n_variables), dtype=np.int64).astype(np.int16)


def check_registered(data: Any) -> None:
    """Raise `GomeaBnError` unless kernels are registered for the class of `data`."""
    if type(data) not in _REGISTRY:
        raise GomeaBnError(
            f"No kernels are registered for {type(data).__name__}; first call register_problem with the class of "
            "the problem's data, a NamedTuple."
        )


class _Implementation(NamedTuple):
    evaluate: Callable[..., int]
    evaluate_partial: Callable[..., int]
    announce: Callable[..., None] | None = None


_REGISTRY: dict[type, _Implementation] = {}


def register_problem(
    data_class: type,
    evaluate: Callable[..., int],
    evaluate_partial: Callable[..., int],
    *,
    announce: Callable[..., None] | None = None,
) -> None:
    """Register the compiled evaluation of problems whose kernel data is of the class `data_class`.

    Parameters
    ----------
    data_class : type
        A NamedTuple class of arrays and scalars.
    evaluate, evaluate_partial : kernel
        ``(data, solution, journal, generator) -> number of touched terms``. The first one computes terms, auxiliary
        state, objectives and violation from ``solution.genotype``. The second one is called after the genes in
        ``journal`` changed; it sets terms and auxiliary state with `set_term` and `set_aux`, repairs genes with
        `set_gene`, and updates objectives and violation.
    announce : kernel, optional
        ``(data, genotypes, members, values, n)``, which is called before real-valued solutions are evaluated: the first
        n rows of `genotypes`, in which the variables `members` have the entries of the rows of `values`.

    Notes
    -----
    Numba tells named tuples apart by their ``__name__`` alone, so two problems whose classes have one name, or two
    versions of a problem that is edited in a notebook, would share compiled code. A digest of the functions is
    therefore put into the ``__name__`` of classes outside this package.
    """
    if not (data_class.__module__ or "").startswith("gomea_bn."):
        digest = fingerprint(evaluate, evaluate_partial)[:12]
        data_class.__name__ = f"{data_class.__module__}.{data_class.__qualname__}_{digest}".replace(".", "_")
    _REGISTRY[data_class] = _Implementation(evaluate, evaluate_partial, announce)
    for function in (evaluate, evaluate_partial):
        note_source(getattr(function, "py_func", function))


_CALLED: Any = {"pipeline_class": CalledKernelCompiler}


def evaluate(data: Any, solution: Solution, journal: Journal, generator: np.random.Generator) -> int:
    """Evaluate a whole solution, which may be repaired in place; returns the number of touched terms."""
    return _REGISTRY[type(data)].evaluate(data, solution, journal, generator)


def evaluate_partial(data: Any, solution: Solution, journal: Journal, generator: np.random.Generator) -> int:
    """Re-evaluate a solution after the gene changes in the journal; returns the number of touched terms."""
    return _REGISTRY[type(data)].evaluate_partial(data, solution, journal, generator)


@overload(evaluate, jit_options=_CALLED)
def _overload_evaluate(data: Any, solution: Any, journal: Any, generator: Any) -> Callable[..., int] | None:
    if not isinstance(data, types.BaseNamedTuple):
        return None
    implementation = _REGISTRY[data.instance_class].evaluate  # type: ignore[attr-defined]

    def call(data: Any, solution: Any, journal: Any, generator: Any) -> int:
        return implementation(data, solution, journal, generator)

    return call


@overload(evaluate_partial, jit_options=_CALLED)
def _overload_evaluate_partial(
    data: Any, solution: Any, journal: Any, generator: Any
) -> Callable[..., int] | None:
    if not isinstance(data, types.BaseNamedTuple):
        return None
    implementation = _REGISTRY[data.instance_class].evaluate_partial  # type: ignore[attr-defined]

    def call(data: Any, solution: Any, journal: Any, generator: Any) -> int:
        return implementation(data, solution, journal, generator)

    return call


def announce(
    data: Any, genotypes: NDArray[Any], members: NDArray[np.int64], values: NDArray[np.float64], n: int
) -> None:
    """Tell a problem which solutions will be evaluated next, so that it may evaluate them together.

    They are the first n rows of `genotypes`, in which the variables `members` get the entries of `values` (n, k).
    """
    implementation = _REGISTRY[type(data)].announce
    if implementation is not None:
        implementation(data, genotypes, members, values, n)


@overload(announce, jit_options=_CALLED)
def _overload_announce(
    data: Any, genotypes: Any, members: Any, values: Any, n: Any
) -> Callable[..., None] | None:
    if not isinstance(data, types.BaseNamedTuple):
        return None
    implementation: Any = _REGISTRY[data.instance_class].announce  # type: ignore[attr-defined]
    if implementation is None:

        def nothing(data: Any, genotypes: Any, members: Any, values: Any, n: Any) -> None:
            return

        return nothing

    def call(data: Any, genotypes: Any, members: Any, values: Any, n: Any) -> None:
        implementation(data, genotypes, members, values, n)

    return call
