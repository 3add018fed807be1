"""Discrete problems under GOMEA and under the `gomea` package: same functions, same family of subsets, same stop.

Both relearn an unfiltered linkage tree by mutual information every generation, start with two solutions and double, and
force improvements. `gomea` has no stopping value for NK landscapes: it runs on to a limit of evaluations, and its first
record of the optimum counts. Its tables are drawn by the Mersenne twister of C++, repeated here.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from _side_by_side import Run, print_rows, ratio_of_medians, with_interval
from numpy.typing import NDArray

from gomea_bn.algorithms.gomea import GOMEA
from gomea_bn.algorithms.optimisation import optimise
from gomea_bn.linkage.models import LinkageTree
from gomea_bn.problems.base import KernelProblem
from gomea_bn.problems.benchmarks import MaxCut, NKLandscape, Trap
from gomea_bn.runtime.limits import Limits

__all__ = ["CASES", "run_case"]

MAX_SECONDS = 60.0
TORUS_SIDE, TORUS_SEED = 20, 1
# by a linear program over the edges, odd-cycle inequalities added until its solution was integral
TORUS_OPTIMUM = 268.0
COLUMNS = (
    "problem", "runs", "evaluations", "gomea", "ratio", "in full", "gomea grey", "ratio",
    "seconds", "gomea", "gomea grey", "ratio to the faster",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A problem for both programs."""

    name: str
    n_runs: int
    ours: Callable[[], Any]
    black_box: Callable[[Path], Any]  # the package's fitness objects; the folder is for instance files
    grey_box: Callable[[Path], Any]
    optimum: float  # as the package maximises it
    records: bool = False  # the package has no stopping value: read its records
    python: bool = False


def nk_tables(n_variables: int, k: int, seed: int) -> NDArray[np.float64]:
    """Return the tables of the package's NK landscape: whole numbers below a million."""
    twister = np.random.MT19937()
    twister._legacy_seeding(seed)
    shape = (n_variables - k + 1, 1 << k)
    # C++ puts two draws into one fraction, the lower half first
    halves = twister.random_raw(2 * shape[0] * shape[1]).astype(np.float64).reshape(-1, 2)
    return np.floor(1e6 * ((halves[:, 0] + halves[:, 1] * 2.0**32) / 2.0**64)).reshape(shape)


def torus() -> MaxCut:
    """Return the sparse MAXCUT instance."""
    problem = MaxCut.torus(TORUS_SIDE, weights="sign", random_state=TORUS_SEED)
    problem.target = -TORUS_OPTIMUM
    return problem


def _torus_files(folder: Path) -> tuple[str, str]:
    """Write the instance and its optimum in the package's format; returns both paths."""
    problem = torus()
    data, lines = problem.data, []
    for g in range(problem.n_variables):
        for e in range(data.starts[g], data.starts[g + 1]):
            if data.neighbours[e] > g:
                lines.append(f"{g + 1} {data.neighbours[e] + 1} {-data.weights[e]:g}")
    instance, optimum = folder / "instance.txt", folder / "optimum.txt"
    instance.write_text(f"{problem.n_variables} {len(lines)}\n" + "\n".join(lines) + "\n", encoding="ascii")
    optimum.write_text(f"{TORUS_OPTIMUM:g}\n", encoding="ascii")
    return str(instance), str(optimum)


class PythonTrap:
    """Trap-5 as a user would write it."""

    def __init__(self, n_variables: int) -> None:
        self.n_variables, self.alphabet, self.target = n_variables, 2, -float(n_variables)

    def evaluate(self, x: Any) -> float:
        """Return minus the sum over the blocks."""
        ones = x.reshape(-1, 5).sum(axis=1)
        return -float(np.where(ones == 5, 5, 4 - ones).sum())


def _python_trap_of_package(n_variables: int, *, grey: bool) -> Any:
    from gomea import fitness

    class Black(fitness.BBOFitnessFunctionDiscrete):  # type: ignore[misc]
        def objective_function(self, objective_index: int, variables: Any) -> float:
            ones = variables.reshape(-1, 5).sum(axis=1)
            return float(np.where(ones == 5, 5, 4 - ones).sum())

    class Grey(fitness.GBOFitnessFunctionDiscrete):  # type: ignore[misc]
        def number_of_subfunctions(self) -> int:
            return n_variables // 5

        def inputs_to_subfunction(self, index: int) -> list[int]:
            return list(range(5 * index, 5 * index + 5))

        def subfunction(self, index: int, variables: Any) -> float:
            ones = int(variables[5 * index : 5 * index + 5].sum())
            return 5.0 if ones == 5 else 4.0 - ones

    return (Grey if grey else Black)(n_variables, value_to_reach=n_variables)


def _cases() -> tuple[Case, ...]:
    def package() -> Any:
        from gomea import fitness

        return fitness

    cases = [
        Case(
            f"trap-5 l={n}",
            runs,
            lambda n=n: Trap(n),  # type: ignore[misc]
            lambda folder, n=n: package().DeceptiveTrapFunctionBBO(n, 5),  # type: ignore[misc]
            lambda folder, n=n: package().DeceptiveTrapFunction(n, 5),  # type: ignore[misc]
            float(n),
        )
        for n, runs in ((100, 30), (400, 10), (800, 10))
    ]
    tables = nk_tables(160, 5, 1)
    landscape = NKLandscape(160, 5, tables=tables)
    assert landscape.target is not None
    cases.append(
        Case(
            "NK-S1 l=160",
            30,
            lambda: landscape,
            lambda folder: package().NKLandscapesBBO(160, 5, 1),
            lambda folder: package().NKLandscapes(160, 5, 1),
            -landscape.target,
            records=True,
        )
    )
    cases.append(
        Case(
            "MAXCUT torus l=400",
            10,
            torus,
            lambda folder: package().MaxCutBBO(*_torus_files(folder)),
            lambda folder: package().MaxCut(*_torus_files(folder)),
            TORUS_OPTIMUM,
        )
    )
    cases.append(
        Case(
            "trap-5 l=100, Python",
            10,
            lambda: PythonTrap(100),
            lambda folder: _python_trap_of_package(100, grey=False),
            lambda folder: _python_trap_of_package(100, grey=True),
            100.0,
            python=True,
        )
    )
    return tuple(cases)


CASES = _cases()


def run_ours(problem: Any, seed: int) -> Run:
    """Return one run of GOMEA."""
    algorithm = GOMEA(linkage=LinkageTree("mi", filtered=False), local_search=False, base_population=2)
    began = perf_counter()
    if isinstance(problem, KernelProblem):
        limits = Limits(max_seconds=MAX_SECONDS, target=problem.target)
        result = algorithm.run(problem, limits, random_state=seed)
    else:
        result = optimise(problem, algorithm, random_state=seed, max_seconds=MAX_SECONDS)
    seconds = perf_counter() - began
    if result.stopped_by != "target":
        return Run(np.inf, np.inf, np.inf)
    return Run(result.n_eval, seconds, result.n_eval_full)


def run_package(case: Case, *, grey: bool, seed: int) -> Run:
    """Return one run of the `gomea` package."""
    from gomea import discrete, linkage

    with tempfile.TemporaryDirectory() as folder:
        function = (case.grey_box if grey else case.black_box)(Path(folder))
    limit = 50_000 if grey else 500_000
    while True:
        model = linkage.LinkageTree()  # the package keeps no reference to it
        options: dict[str, Any] = {"max_number_of_seconds": MAX_SECONDS}
        if case.records:
            options |= {"max_number_of_evaluations": limit, "output_frequency": "NEW_ELITE"}
        algorithm = discrete.DiscreteGOMEA(
            fitness=function, linkage_model=model, random_seed=seed, base_population_size=2, **options
        )
        began = perf_counter()
        output = algorithm.run()
        seconds = perf_counter() - began
        if not case.records:
            final = output.getFinalStatistics()
            found = final["best_obj_val"] >= case.optimum
            return Run(final["evaluations"], seconds) if found else Run(np.inf, np.inf)
        hits = np.flatnonzero(np.array(output["best_obj_val"]) >= case.optimum)
        if len(hits):
            return Run(output["evaluations"][hits[0]], output["time"][hits[0]])
        if seconds > MAX_SECONDS:
            return Run(np.inf, np.inf)
        limit *= 2


def run_case(case: Case, n_runs: int | None = None) -> tuple[list[Run], list[Run], list[Run]]:
    """Return runs of ours, of the package's black box and of its grey box, in turns."""
    run_ours(case.ours(), 0)  # compiles
    runs: tuple[list[Run], list[Run], list[Run]] = ([], [], [])
    for seed in range(1, 1 + (n_runs or case.n_runs)):
        runs[0].append(run_ours(case.ours(), seed))
        runs[1].append(run_package(case, grey=False, seed=seed))
        runs[2].append(run_package(case, grey=True, seed=seed))
    return runs


def row_of(case: Case, runs: tuple[list[Run], list[Run], list[Run]]) -> list[str]:
    """Return a case's line of the table."""

    def column(source: Sequence[Run], name: str) -> list[float]:
        return [getattr(run, name) for run in source]

    ours, black, grey = runs
    evaluations = [column(ours, "evaluations"), column(black, "evaluations")]
    in_full = [column(ours, "full_evaluations"), column(grey, "evaluations")]
    seconds = [column(source, "seconds") for source in runs]
    faster = min(seconds[1:], key=lambda times: float(np.median(times)))

    def number(values: list[float]) -> str:
        return f"{np.median(values):,.0f}"

    in_full_cells = ["-", number(in_full[1]), "-"]
    if not case.python:
        in_full_cells = [*map(number, in_full), with_interval(ratio_of_medians(*in_full))]
    return [
        case.name,
        str(len(ours)),
        *map(number, evaluations),
        with_interval(ratio_of_medians(*evaluations)),
        *in_full_cells,
        *(f"{np.median(times):.3f}" for times in seconds),
        with_interval(ratio_of_medians(seconds[0], faster)),
    ]


def main(names: Sequence[str], n_runs: int | None) -> None:
    """Run the cases whose names begin with one of `names`, or all, and print their table."""
    chosen = [case for case in CASES if not names or case.name.startswith(tuple(names))]
    rows = []
    for case in chosen:
        rows.append(row_of(case, run_case(case, n_runs)))
        print(f"done: {case.name}", flush=True)
    print("medians; ratios ours / gomea with a 95 % bootstrap interval")
    print_rows(COLUMNS, rows)
