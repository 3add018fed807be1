"""Compiled calls into a user's Python function: the search around it stays compiled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from gomea_bn.problems.base import Journal, Solution, register_problem, set_term
from gomea_bn.runtime.jit import kernel

__all__ = ["PythonData", "call_python"]


class PythonData(NamedTuple):
    """One thread's exchange with Python; arrays are overwritten at every call."""

    full: int  # address of a callable without arguments that evaluates `genotype`
    partial: int  # the same for partial evaluation; 0 if there is none
    genotype: NDArray[np.generic]  # (l,) int16, or float64 for real variables
    changed: NDArray[np.int64]  # (l,) changed genes, of which `sizes[0]` count
    sizes: NDArray[np.int64]  # (1,)
    parent_terms: NDArray[np.float64]  # (n_terms,)
    terms: NDArray[np.float64]  # (n_terms,) set by Python
    objectives: NDArray[np.float64]  # (n_objectives,) set by Python
    violation: NDArray[np.float64]  # (1,) set by Python


@intrinsic
def call_python(typing_context: Any, address: Any) -> Any:
    """Call the Python callable at an address, holding the interpreter lock; its result is dropped."""

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
    """Copy what Python answered into the solution's objectives and violation."""
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
    """Evaluate changed genes in Python, partially where the problem can; returns the number of changed terms.

    Without a change nothing is called: Python's last answer stands.
    """
    if journal.counts[0] == 0:
        return 0
    for g in range(solution.genotype.shape[0]):
        data.genotype[g] = solution.genotype[g]
    n_terms = solution.terms.shape[0]
    if data.partial == 0:
        call_python(data.full)
    else:
        n_changed = journal.counts[0]
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


register_problem(PythonData, evaluate_python, evaluate_python_partial)
