"""Evaluations until the archive holds the whole Pareto front, for both ways of updating the archive.

A third search keeps to the published code's rules: mutual information, one donor, dominance.

The published code's figures are medians of nine runs of it (archive of 1,000, stopped when the front was whole, counted
up to the last solution that entered the archive). Where the archive follows at once, ours are counted likewise; where
it stands still during a generation, to that generation's end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from _side_by_side import Run, print_rows, ratio_of_medians, with_interval

from gomea_bn.algorithms.mogomea import MOGOMEA, FrontRun
from gomea_bn.problems.multi_objective import LOTZ, OneMaxZeroMax, TrapInverseTrap
from gomea_bn.runtime.limits import Limits

__all__ = ["CASES", "run_to_front"]

MAX_SECONDS = 120.0
ARCHIVE_SIZE = 1000
SETTINGS = {
    "immediate": MOGOMEA(archive_update="immediate", archive_size=ARCHIVE_SIZE),
    "generation": MOGOMEA(archive_update="generation", archive_size=ARCHIVE_SIZE),
    "as published": MOGOMEA(
        linkage="tree-mi",
        search_donors=False,
        mixing="dominance",
        archive_update="immediate",
        archive_size=ARCHIVE_SIZE,
    ),
}
COLUMNS = (
    "problem",
    "seeds",
    "search",
    "evaluations",
    "quartiles",
    "published",
    "ratio",
    "seconds",
    "solved",
)


@dataclass(frozen=True)
class Case:
    """A problem with a known front, and what the published code took to find it."""

    name: str
    n_seeds: int
    problem: Callable[[], Any]
    published: float
    full_only: bool = False


CASES = (
    *(
        Case(f"trap-5 / inverse l={n}", 30, lambda n=n: TrapInverseTrap(n), published, n > 100)  # type: ignore[misc]
        for n, published in ((25, 1.9e3), (50, 8.4e3), (100, 35e3), (200, 95e3))
    ),
    *(
        Case(f"LOTZ l={n}", 9, lambda n=n: LOTZ(n), published, n > 50)  # type: ignore[misc]
        for n, published in ((25, 14e3), (50, 120e3), (100, 1.07e6))
    ),
    *(
        Case(f"OneMax / ZeroMax l={n}", 30, lambda n=n: OneMaxZeroMax(n), published)  # type: ignore[misc]
        for n, published in ((25, 1.5e3), (50, 6.4e3), (100, 12.6e3))
    ),
)


def run_to_front(problem: Any, settings: MOGOMEA, seed: int, max_seconds: float = MAX_SECONDS) -> Run:
    """Return what one run took until its archive held the problem's whole front."""
    wanted = set(map(tuple, problem.front.tolist()))
    run = FrontRun(settings, problem, Limits(max_seconds=max_seconds), random_state=seed)
    with run, run.stop.catching_interrupts():
        going = True
        while going:
            going = run.step()
            found = run.archive.objectives
            # the members are nondominated and distinct, so fewer ones, or others, cannot be the front
            if len(found) == len(wanted) and set(map(tuple, found.tolist())) == wanted:
                return Run(run.n_eval_at_best, run.stop.seconds, run.touched / problem.n_terms)
    if run.stop.reason == "interrupt":
        raise KeyboardInterrupt
    return Run(np.inf, np.inf, np.inf)


def _cells(runs: Sequence[Run], published: float) -> list[str]:
    evaluations = [run.evaluations for run in runs]
    low, median, high = np.quantile(evaluations, [0.25, 0.5, 0.75], method="nearest")
    return [
        f"{np.median(evaluations):,.0f}" if np.isfinite(median) else "-",
        f"{low:,.0f} to {high:,.0f}",
        f"{published:,.0f}",
        with_interval(ratio_of_medians(evaluations, [published])),
        f"{np.median([run.seconds for run in runs]):.3f}",
        f"{np.isfinite(evaluations).sum()}/{len(runs)}",
    ]


def main(options: Any) -> None:
    """Run the cases whose names begin with one of `--only`, or all, and print their table."""
    names, n_seeds, full = options.only, options.seeds, options.full
    chosen = [case for case in CASES if not names or case.name.startswith(tuple(names))]
    rows = []
    for case in chosen:
        if case.full_only and not full and not names:
            continue
        problem = case.problem()
        runs: dict[str, list[Run]] = {name: [] for name in SETTINGS}
        for settings in SETTINGS.values():
            run_to_front(problem, settings, 0, 10.0)  # compiles
        for seed in range(1, 1 + (n_seeds or case.n_seeds)):
            for name, settings in SETTINGS.items():
                runs[name].append(run_to_front(problem, settings, seed))
        for name, found in runs.items():
            rows.append([case.name, str(len(found)), name, *_cells(found, case.published)])
        print(f"done: {case.name}", flush=True)
    print(
        "\nEvaluations to the whole front: medians over seeds 1, 2, ...; ratios to the published code's median "
        "with a 95 % bootstrap interval of ours"
    )
    print_rows(COLUMNS, rows)
