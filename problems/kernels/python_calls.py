"""Calls from compiled code into a user's Python functions.

Kernels get a function as its address, which is its ``id()`` in CPython. The address stays valid because the problem
(`python_problem._Exchange._callables`) keeps the function alive for as long as its kernel data exists.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from gomea_bn.problems.base import GENES, Journal, Solution, register_problem, set_term
from gomea_bn.runtime.jit import kernel


class PythonData(NamedTuple):
    """One thread's values for and from Python; every call overwrites the arrays."""

    full: int  # address of a function without arguments that evaluates `genotype`
    partial: int  # the same for partial evaluation; 0 if there is none
    ahead: (
        int  # the same for evaluation of all rows of `announced`; 0 if solutions are evaluated one at a time
    )
    genotype: NDArray[np.generic]  # (l,) int16, or float64 for real variables
    changed: NDArray[np.int64]  # (l,) the first `sizes[0]` entries are the changed genes
    sizes: NDArray[np.int64]  # (1,) number of changed genes
    parent_terms: NDArray[np.float64]  # (n_terms,) terms before the change
    terms: NDArray[np.float64]  # (n_terms,) set by Python
    objectives: NDArray[np.float64]  # (n_objectives,) set by Python
    violation: NDArray[np.float64]  # (1,) set by Python
    announced: NDArray[
        np.generic
    ]  # (n, l) solutions that will be evaluated next, the first `sizes[0]` of them


@intrinsic
def call_python(typing_context: Any, address: Any) -> Any:
    """Call the Python function at an address under the interpreter lock and ignore its result."""

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        api = context.get_python_api(builder)
        lock = api.gil_ensure()
        callee = builder.inttoptr(arguments[0], cgutils.voidptr_t)
        result = api.call_function_objargs(callee, ())
        with cgutils.if_likely(builder, cgutils.is_not_null(builder, result)):
            api.decref(result)
        api.gil_release(lock)
        return context.get_dummy_value()

    return types.void(types.int64), generate


@kernel
def _take_results(data: PythonData, solution: Solution) -> None:
    """Copy Python's results to the solution's objectives and violation."""
    for m in range(solution.objectives.shape[0]):
        solution.objectives[m] = data.objectives[m]
    solution.violation[0] = data.violation[0]


@kernel
def evaluate_python(
    data: PythonData, solution: Solution, journal: Journal, generator: np.random.Generator
) -> int:
    """Evaluate a whole solution in Python; returns the number of terms."""
    journal.counts[:] = 0
    for g in range(solution.genotype.shape[0]):
        data.genotype[g] = solution.genotype[g]
    call_python(data.full)
    for t in range(solution.terms.shape[0]):
        solution.terms[t] = data.terms[t]
    _take_results(data, solution)
    return solution.terms.shape[0]


@kernel
def evaluate_python_partial(
    data: PythonData, solution: Solution, journal: Journal, generator: np.random.Generator
) -> int:
    """Evaluate changed genes in Python, partially if the problem can; returns the number of changed terms.

    Without a change no function is called, and the solution stays as it is.
    """
    if journal.counts[GENES] == 0:
        return 0
    for g in range(solution.genotype.shape[0]):
        data.genotype[g] = solution.genotype[g]
    n_terms = solution.terms.shape[0]
    if data.partial == 0:
        call_python(data.full)
    else:
        n_changed = journal.counts[GENES]
        for k in range(n_changed):
            data.changed[k] = journal.genes[k]
        data.sizes[0] = n_changed
        for t in range(n_terms):
            data.parent_terms[t] = solution.terms[t]
            data.terms[t] = solution.terms[t]
        call_python(data.partial)
    touched = 0
    for t in range(n_terms):
        if data.terms[t] != solution.terms[t]:
            set_term(solution, journal, t, data.terms[t])
            touched += 1
    _take_results(data, solution)
    return touched if data.partial != 0 else n_terms


@kernel
def announce_python(
    data: PythonData,
    genotypes: NDArray[Any],
    members: NDArray[np.int64],
    values: NDArray[np.float64],
    n: int,
) -> None:
    """Let Python evaluate solutions that will be asked for, as many as there is room for."""
    if data.ahead == 0:
        return
    n_announced = min(n, data.announced.shape[0])
    for i in range(n_announced):
        for g in range(genotypes.shape[1]):
            data.announced[i, g] = genotypes[i, g]
        for k in range(members.shape[0]):
            data.announced[i, members[k]] = values[i, k]
    data.sizes[0] = n_announced
    call_python(data.ahead)


register_problem(PythonData, evaluate_python, evaluate_python_partial, announce=announce_python)
