"""Real-valued problems under RVGOMEA and under the `gomea` package: same functions, same subsets, same stopping value.

Both start with ten solutions, double, and stop at 1e-10. "tree" is relearned from the correlations every generation,
"static tree" joins variables that share a term (ties at random, the root included), "full" is one covariance matrix.
The package's black box knows no interactions, so it has no static tree; under "full" its grey box does the very same
evaluations, only slower, and is left out. A run that ends at the limit of seconds counts as unsolved.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from _side_by_side import print_rows, ratio_of_medians, with_interval

from gomea_bn.algorithms.rvgomea import RVGOMEA
from gomea_bn.problems.continuous import RealKernelProblem, rosenbrock, soreb_chain, sphere
from gomea_bn.runtime.limits import Limits

__all__ = ["CASES", "run_case"]

MAX_SECONDS = 45.0
TARGET = 1e-10
FAR, NEAR = (-115.0, -100.0), (0.0, 1.0)
# ours, then the package's
LINKAGES = {
    "univariate": ("univariate", "Univariate"),
    "static tree": ("interaction-tree", "StaticLinkageTree"),
    "tree": ("tree", "LinkageTree"),
    "full": ("full", "Full"),
}
COLUMNS = (
    "problem", "solved", "gomea", "gomea grey", "evaluations", "gomea", "ratio", "in full", "gomea grey", "ratio",
    "seconds", "gomea", "gomea grey", "ratio to the faster",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A problem for both programs."""

    problem: Callable[..., RealKernelProblem]
    function: str  # the package's grey box; its black box has "BBO" added
    n_variables: int
    linkage: str
    initial_range: tuple[float, float]
    n_runs: int
    package_runs: int  # fewer where it runs for long, to the limit mostly

    @property
    def name(self) -> str:
        low, high = self.initial_range
        title = self.problem.__name__.replace("_", " ")
        return f"{title} l={self.n_variables} {self.linkage} [{low:g}, {high:g}]"


CASES = (
    Case(sphere, "SphereFunction", 80, "tree", FAR, 30, 30),
    Case(rosenbrock, "RosenbrockFunction", 80, "univariate", FAR, 10, 10),
    Case(rosenbrock, "RosenbrockFunction", 80, "static tree", FAR, 10, 10),
    Case(soreb_chain, "SOREBChainStrong", 10, "full", FAR, 30, 30),
    Case(soreb_chain, "SOREBChainStrong", 20, "full", FAR, 10, 10),
    Case(soreb_chain, "SOREBChainStrong", 10, "tree", NEAR, 10, 3),
    Case(soreb_chain, "SOREBChainStrong", 10, "tree", FAR, 10, 1),
    Case(soreb_chain, "SOREBChainStrong", 20, "tree", NEAR, 10, 1),
)


@dataclass(frozen=True)
class Outcome:
    """What one run took, to the stopping value or to the limit of seconds."""

    solved: bool
    evaluations: float
    seconds: float
    full_evaluations: float = float("nan")


def run_ours(case: Case, problem: RealKernelProblem, seed: int, max_seconds: float) -> Outcome:
    """Return one run of RVGOMEA."""
    algorithm = RVGOMEA(linkage=LINKAGES[case.linkage][0])
    limits = Limits(max_seconds=max_seconds, target=TARGET)
    began = perf_counter()
    result = algorithm.run(problem, limits, random_state=seed)
    seconds = perf_counter() - began
    return Outcome(result.stopped_by == "target", result.n_eval, seconds, result.n_eval_full)


def run_package(case: Case, *, grey: bool, seed: int, max_seconds: float) -> Outcome:
    """Return one run of the `gomea` package."""
    from gomea import fitness, linkage, real_valued

    function: Any = getattr(fitness, case.function + ("" if grey else "BBO"))
    model = getattr(linkage, LINKAGES[case.linkage][1])()  # the package keeps no reference to it
    algorithm = real_valued.RealValuedGOMEA(
        fitness=function(case.n_variables, value_to_reach=TARGET),
        linkage_model=model,
        lower_init_range=case.initial_range[0],
        upper_init_range=case.initial_range[1],
        random_seed=seed,
        max_number_of_seconds=max_seconds,
    )
    began = perf_counter()
    output = algorithm.run()
    seconds = perf_counter() - began
    final = output.getFinalStatistics()
    return Outcome(final["best_obj_val"] <= TARGET, final["evaluations"], seconds)


def run_case(
    case: Case, n_runs: int | None = None, max_seconds: float = MAX_SECONDS
) -> tuple[list[Outcome], list[Outcome], list[Outcome]]:
    """Return runs of ours, of the package's black box and of its grey box, in turns; empty where a mode is left out."""
    problem = case.problem(case.n_variables, initial_range=case.initial_range, target=TARGET)
    # compiles
    RVGOMEA(linkage=LINKAGES[case.linkage][0]).run(problem, Limits(max_generations=50), random_state=0)
    runs: tuple[list[Outcome], list[Outcome], list[Outcome]] = ([], [], [])
    for seed in range(1, 1 + (n_runs or case.n_runs)):
        runs[0].append(run_ours(case, problem, seed, max_seconds))
        if seed > (n_runs or case.package_runs):
            continue
        if case.linkage != "static tree":
            runs[1].append(run_package(case, grey=False, seed=seed, max_seconds=max_seconds))
        if case.linkage != "full":
            runs[2].append(run_package(case, grey=True, seed=seed, max_seconds=max_seconds))
    return runs


def _values(runs: Sequence[Outcome], name: str, *, cut: bool) -> list[float]:
    """Return a figure of every run; of an unsolved one, what it had reached when it was cut, or infinity."""
    return [getattr(run, name) if cut or run.solved else np.inf for run in runs]


def _median(runs: Sequence[Outcome], name: str, digits: int = 0) -> str:
    if not runs:
        return "-"
    median = float(np.median(_values(runs, name, cut=False)))
    return "unsolved" if np.isinf(median) else f"{median:,.{digits}f}"


def _ratio(ours: Sequence[Outcome], theirs: Sequence[Outcome], name: str, their_name: str) -> str:
    """Return the ratio of the medians; only its bound where one median is of runs that were cut."""
    if not theirs:
        return "-"
    a, b = _values(ours, name, cut=False), _values(theirs, their_name, cut=False)
    unsolved = np.isinf(np.median(a)), np.isinf(np.median(b))
    if all(unsolved):
        return "-"
    if any(unsolved):
        cut = np.median(_values(ours, name, cut=True)) / np.median(_values(theirs, their_name, cut=True))
        return f"{'>' if unsolved[0] else '<'} {cut:.3f}"
    with np.errstate(invalid="ignore"):
        return with_interval(ratio_of_medians(a, b))


def _solved(runs: Sequence[Outcome]) -> str:
    return f"{sum(run.solved for run in runs)}/{len(runs)}" if runs else "-"


def row_of(case: Case, runs: tuple[list[Outcome], list[Outcome], list[Outcome]]) -> list[str]:
    """Return a case's line of the table."""
    ours, black, grey = runs
    modes = [mode for mode in (black, grey) if mode]
    faster = min(modes, key=lambda mode: float(np.median(_values(mode, "seconds", cut=False))))
    return [
        case.name,
        *map(_solved, runs),
        _median(ours, "evaluations"),
        _median(black, "evaluations"),
        _ratio(ours, black, "evaluations", "evaluations"),
        _median(ours, "full_evaluations"),
        _median(grey, "evaluations"),
        _ratio(ours, grey, "full_evaluations", "evaluations"),
        *(_median(mode, "seconds", 3) for mode in runs),
        _ratio(ours, faster, "seconds", "seconds"),
    ]


def _load() -> str:
    return ", ".join(f"{load:.1f}" for load in os.getloadavg())


def main(names: Sequence[str], n_runs: int | None, max_seconds: float | None = None) -> None:
    """Run the cases whose names begin with one of `names`, or all, and print their table."""
    limit = MAX_SECONDS if max_seconds is None else max_seconds
    chosen = [case for case in CASES if not names or case.name.startswith(tuple(names))]
    rows, load, began = [], _load(), perf_counter()
    for case in chosen:
        rows.append(row_of(case, run_case(case, n_runs, limit)))
        print(f"done: {case.name}", flush=True)
    print(f"{perf_counter() - began:.0f} s; load averages {load} at the start, {_load()} at the end")
    print(f"medians, limit {limit:g} s a run; ratios ours / gomea with a 95 % bootstrap interval")
    print_rows(COLUMNS, rows)
