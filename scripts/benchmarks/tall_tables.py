"""Seconds and memory of learning from tall and wide tables under a limit of a few seconds.

    python scripts/benchmarks/tall_tables.py [--sizes 1000000x20 100000x100 3000000x20 100000x300] [--seconds 2]

Printed are, for every size, the seconds by which `BayesNetLearner.fit` and `ParetoBayesNetLearner.fit` from a frame in
memory exceed the limit, with the kernels compiled; their processor time; the seconds of reading the frame and
preparing the search of `BayesNetLearner` without a limit; the floor, which is the seconds of copying, sorting, coding,
counting and hashing every column once; and how far the peak of the memory lies above the memory at the start, as a
multiple of the table as float64. Every part is measured in a process of its own. A column is the
hyperbolic tangent of an earlier one plus normal noise, and every fourth is the exponential of that.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import subprocess
import sys
from collections.abc import Sequence
from time import perf_counter, process_time

import numpy as np
import pandas as pd
from harness.printing import print_table
from numpy.typing import NDArray

from gomea_bn import BayesNetLearner, ParetoBayesNetLearner, read_table
from gomea_bn.learning.learning_options import LearningOptions
from gomea_bn.learning.learning_problem import learning_problem
from gomea_bn.problems.cuts.policies import fill_bin_codes
from gomea_bn.runtime.threads import in_threads

__all__ = ["tall_frame"]

_PARTS = ("network", "front", "preparing", "floor")


def tall_frame(n_rows: int, n_columns: int) -> pd.DataFrame:
    """Return a table of continuous columns, each of which depends on an earlier one."""
    rng = np.random.default_rng(0)
    values = np.empty((n_columns, n_rows))
    for column in range(n_columns):
        rng.standard_normal(out=values[column])
        if column:
            values[column] += np.tanh(values[rng.integers(column)])
    np.exp(values[::4], out=values[::4])
    return pd.DataFrame(values.T, columns=[f"x{column}" for column in range(n_columns)], copy=False)


def pass_once(frame: pd.DataFrame) -> None:
    """Copy, sort, code, count and hash every column once, which no fit can leave out."""

    def copied(position: int) -> NDArray[np.float64]:
        values = frame.iloc[:, position].to_numpy() + 0.0
        ascending = np.sort(values)
        codes = np.empty(len(values), np.uint8)
        fill_bin_codes(values, ascending[[len(values) // 2]], codes)
        np.bincount(codes)
        return values

    digest = hashlib.sha256()
    for values in in_threads(copied, range(frame.shape[1])):
        digest.update(values.data)


def measured(n_rows: int, n_columns: int, seconds: float, part: str) -> dict[str, float]:
    """Return wall and processor seconds and bytes per byte of the table, of one part."""
    frame = tall_frame(n_rows, n_columns)
    kind = ParetoBayesNetLearner if part == "front" else BayesNetLearner
    learner = kind(max_seconds=seconds, random_state=0)
    # loads code, and compiles kernels
    learner.fit(tall_frame(500, n_columns))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began, on_processor = perf_counter(), process_time()
    if part == "floor":
        pass_once(frame)
    elif part == "preparing":
        learning_problem(read_table(frame), LearningOptions.of(learner, n_rows))
    else:
        learner.fit(frame)
    wall, processor = perf_counter() - began, process_time() - on_processor
    memory = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    return {"seconds": wall, "processor": processor, "memory": memory / (8 * n_rows * n_columns)}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line per size."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    sizes = ["1000000x20", "100000x100", "3000000x20", "100000x300"]
    parser.add_argument("--sizes", nargs="+", default=sizes, help="ROWSxCOLUMNS")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--part", choices=_PARTS, help="print one measurement as JSON")
    options = parser.parse_args(arguments)
    if options.part:
        n_rows, n_columns = map(int, options.sizes[0].split("x"))
        print(json.dumps(measured(n_rows, n_columns, options.seconds, options.part)))
        return
    rows = []
    for size in options.sizes:
        cells = [size]
        for part in _PARTS:
            command = [
                sys.executable,
                __file__,
                "--sizes",
                size,
                "--seconds",
                str(options.seconds),
                "--part",
                part,
            ]
            output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            record = json.loads(output.splitlines()[-1])
            over = record["seconds"] - (options.seconds if part in ("network", "front") else 0)
            cells += [f"{over:.1f}", f"{record['processor']:.1f}", f"{record['memory']:.1f}"]
        rows.append(cells)
    limit = f"a limit of {options.seconds:g} s"
    heading = (
        f"Seconds beyond {limit}, or of preparing or the floor; processor seconds; memory per byte of table"
    )
    columns = ["rows x columns"]
    for part in _PARTS:
        columns += [part, "CPU", "memory"]
    print_table(heading, columns, rows)


if __name__ == "__main__":
    main()
