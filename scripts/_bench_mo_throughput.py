"""Evaluations per second with a full archive of 10,000, on one core, and what the archive takes of that time."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
from _bench_mo_peers import ARCHIVE_SIZE, N_VARIABLES, three_objectives
from _side_by_side import print_rows

from gomea_bn.algorithms.archive import ElitistArchive
from gomea_bn.algorithms.mogomea import MOGOMEA
from gomea_bn.learning.warm_up import compile_front_kernels
from gomea_bn.runtime.limits import Limits, Progress, Result

__all__ = ["microseconds_per_offer", "rates"]

N_ROWS, WANTED = 500, 20_000
# the adaptive grid thins an archive to no fewer than this share of its size
FULL = 0.75


def rates(archive_size: int, seconds: float, seed: int) -> tuple[Result, list[Progress]]:
    """Return a run of MOGOMEA and its state after every generation."""
    states: list[Progress] = []
    limits = Limits(max_seconds=seconds)
    settings = MOGOMEA(archive_size=archive_size)
    return settings.run(
        three_objectives(0, N_ROWS), limits, random_state=seed, callback=states.append
    ), states


def microseconds_per_offer(first: Result, second: Result) -> tuple[float, float]:
    """Return what it takes to offer the second run's front to the first one's, and to offer it once more.

    All of its members lie close to the archive's, so that hardly one is dismissed at a glance. The second time every
    one is dominated, or known, or in a taken box.
    """
    archives = []
    for result in (first, second):
        archive = ElitistArchive(result.X.shape[1], result.F.shape[1], ARCHIVE_SIZE)
        archive.offer(result.X, result.F)
        archives.append(archive)
    times = []
    for _ in range(2):
        began = perf_counter()
        archives[0].take(archives[1].data)
        times.append((perf_counter() - began) / len(archives[1]) * 1e6)
    return times[0], times[1]


def main(options: Any) -> None:
    """Print rates with archives of 10,000 and of 100, and the time per offered solution."""
    seconds = options.seconds or 60.0
    compile_front_kernels(print)
    rows = []
    results = []
    for archive_size, seed in ((ARCHIVE_SIZE, 1), (ARCHIVE_SIZE, 2), (100, 1)):
        result, states = rates(archive_size, seconds, seed)
        results.append(result)
        full = [state for state in states if state.archive_size >= FULL * archive_size]
        cells = ["-", "-", "-"]
        if len(full) > 1 and full[-1].seconds > full[0].seconds:
            sustained = (full[-1].n_eval - full[0].n_eval) / (full[-1].seconds - full[0].seconds)
            cells = [f"{full[0].seconds:.1f}", f"{sustained:,.0f}", f"{1e6 / sustained:.1f}"]
        rows.append(
            [
                f"{archive_size:,}",
                str(seed),
                f"{max(state.archive_size for state in states):,}",
                f"{result.n_eval / result.exec_time:,.0f}",
                *cells,
                f"{result.statistics['cache_hits'] / sum(result.statistics.values()):.1%}",
            ]
        )
    print(f"\n{N_VARIABLES} variables, n = {N_ROWS}, three objectives, {seconds:g} s, one core")
    columns = ("archive", "seed", "most members", "evaluations/s", "full at s", "evaluations/s from then on")
    print_rows((*columns, "µs each", "families from the cache"), rows)
    fresh, again = microseconds_per_offer(results[0], results[1])
    members = np.array([len(result.X) for result in results[:2]])
    print(
        f"wanted: {WANTED:,} evaluations/s; offering {members[1]:,} members of the second front to the first with "
        f"{members[0]:,}: {fresh:.1f} µs each, once more: {again:.1f} µs each"
    )
