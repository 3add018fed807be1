"""Processor time that the learner takes before its search, which its limit in seconds does not count.

    python scripts/benchmarks/preparation.py [--rows 500 2000 10000 100000] [--variables 30]

The table is drawn from a random network of `gomea_bn.simulation.random_networks` (seed 1). Printed are milliseconds a
continuous column for its shape, and for everything else that is made before the search, mostly its first cuts.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from time import process_time

from gomea_bn import read_table
from gomea_bn.learning.learning_problem import LearningOptions, automatic_bins, learning_problem
from gomea_bn.learning.table_shapes import table_shapes
from gomea_bn.learning.warm_up import compile_kernels
from gomea_bn.simulation.random_networks import random_network


def milliseconds(n_variables: int, n_rows: int) -> tuple[float, float]:
    """Return the processor time a continuous column for shapes, and for all other preparation, in milliseconds."""
    frame = random_network(n_variables, random_state=1).sample(n_rows, 1)
    options = LearningOptions(max_bins=automatic_bins(n_rows))
    times = []
    # the first run also loads code and data
    for _ in range(2):
        table = read_table(frame)
        began = process_time()
        table_shapes(table)
        fitted = process_time()
        learning_problem(table, options)
        times.append((fitted - began, process_time() - fitted))
    n_continuous = sum(column.is_continuous for column in table.columns)
    shapes, others = (1000 * min(seconds) / n_continuous for seconds in zip(*times, strict=True))
    return shapes, others


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line per number of rows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", nargs="+", type=int, default=[500, 2_000, 10_000, 100_000])
    parser.add_argument("--variables", type=int, default=30)
    options = parser.parse_args(arguments)
    compile_kernels()
    for n_rows in options.rows:
        shapes, others = milliseconds(options.variables, n_rows)
        print(f"{n_rows:,} rows: shapes {shapes:.0f} ms, the rest {others:.0f} ms a column", flush=True)


if __name__ == "__main__":
    main()
