"""Processor time of shapes: before the search, and per evaluation.

    python scripts/benchmarks/preparation.py [--rows 500 2000 10000 100000] [--variables 30] [--evaluations 8000]

The table is drawn from a random network of `gomea_bn.simulation.random_networks` (seed 1). Printed are milliseconds a
continuous column for its shape, and for everything else that is made before the search, mostly its first cuts. With
--evaluations also the time of an evaluation with every option `shape`, divided by that with uniform bins: medians over
seeds 0 to 4 on rows of structural_laws.py (seed 100).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from time import process_time

import numpy as np
from harness.structural_laws import LAWS

from gomea_bn import BayesNetLearner, read_table
from gomea_bn.learning.learning_options import LearningOptions, automatic_bins
from gomea_bn.learning.learning_problem import learning_problem
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


def seconds_of_evaluations(law: str, n_rows: int, evaluations: int) -> dict[str, list[float]]:
    """Return the seconds per evaluation of searches with the same limits on bins, by `shape`, a search per seed."""
    sample = LAWS[law](n_rows, 100)
    seconds: dict[str, list[float]] = {shape: [] for shape in ("uniform", "marginal", "auto")}
    for seed in range(5):
        for shape, of_shape in seconds.items():
            learner = BayesNetLearner(
                shape=shape,
                kinds=sample.kinds,
                max_bins=15,
                max_indegree=6,
                max_seconds=None,
                max_evaluations=evaluations,
                patience=None,
                random_state=seed,
                density="bins",
            ).fit(sample.frame)
            of_shape.append(learner.fit_seconds_ / learner.n_eval_)
    return seconds


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line per number of rows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", nargs="+", type=int, default=[500, 2_000, 10_000, 100_000])
    parser.add_argument("--variables", type=int, default=30)
    parser.add_argument("--evaluations", type=int, default=0, help="evaluations of a search; 0 for none")
    options = parser.parse_args(arguments)
    compile_kernels()
    for n_rows in options.rows:
        shapes, others = milliseconds(options.variables, n_rows)
        print(f"{n_rows:,} rows: shapes {shapes:.0f} ms, the rest {others:.0f} ms a column", flush=True)
    for law, n_rows in (("nonlinear", 2_000), ("bells", 10_000)) if options.evaluations else ():
        seconds = seconds_of_evaluations(law, n_rows, options.evaluations)
        uniform = np.array(seconds["uniform"])
        parts = [f"{shape} {np.median(np.array(of) / uniform):.2f}" for shape, of in seconds.items()]
        print(
            f"{law}, {n_rows:,} rows: uniform {1e6 * np.median(uniform):.0f} us an evaluation; ratios "
            + ", ".join(parts),
            flush=True,
        )


if __name__ == "__main__":
    main()
