"""How large tables and files of networks get, and what a limit of the cells per row costs in held-out density.

Networks of the default learner on random parts of real tables, without a limit below a million cells, and with
`max_table_cells` as a multiple of the number of rows. Values are jittered, so that densities of rows can be compared.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from harness.printing import print_table
from harness.real_tables import TABLES
from parts.held_out import jittered

from gomea_bn import BayesNetLearner, DiscretizedBayesNet, ExpertKnowledge

_DEFAULT = "default"
_TRAIN_SHARE = 0.7


def learned(
    train: pd.DataFrame, kinds: dict[str, str], factor: float | None, options: argparse.Namespace
) -> DiscretizedBayesNet:
    """Return the network under a limit of `factor` cells per row, or of the default."""
    knowledge = None
    if factor is not None:
        knowledge = ExpertKnowledge(max_table_cells=max(int(factor * len(train)), 2))
    learner = BayesNetLearner(
        max_seconds=None,
        max_evaluations=options.evaluations,
        knowledge=knowledge,
        kinds=kinds,
        random_state=1,
        density="bins",
    )
    return learner.fit(train).network_


def kilobytes(network: DiscretizedBayesNet) -> float:
    """Return the size of the network's JSON file."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "network.json"
        network.to_json(path)
        return path.stat().st_size / 1000


def measured(name: str, options: argparse.Namespace) -> pd.DataFrame:
    """Return a row per split and limit of one table: limit, numbers of rows and cells, kilobytes and density."""
    real = TABLES[name]()
    frame = jittered(real.frame, real.continuous)
    n_train = round(_TRAIN_SHARE * len(frame))
    results = []
    for seed in range(options.splits):
        order = np.random.default_rng(seed).permutation(len(frame))
        train, test = (frame.iloc[part].reset_index(drop=True) for part in (order[:n_train], order[n_train:]))
        for factor in (None, *options.factors):
            network = learned(train, real.kinds, factor, options)
            results.append(
                (
                    _DEFAULT if factor is None else f"{factor:g} n",
                    n_train,
                    max(table.size for table in network.tables.values()),
                    kilobytes(network),
                    network.score(test),
                )
            )
    return pd.DataFrame(results, columns=["limit", "rows", "cells", "kB", "density"])


def main(arguments: list[str] | None = None) -> None:
    """Print a line per table and limit: the largest table and file, and the mean density minus the default's."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=list(TABLES))
    parser.add_argument("--factors", type=float, nargs="*", default=[30.0, 10.0, 3.0])
    parser.add_argument("--splits", type=int, default=4)
    parser.add_argument("--evaluations", type=int, default=5_000)
    options = parser.parse_args(arguments)
    lines = []
    for name in options.tables:
        with warnings.catch_warnings():
            # duplicate rows, and more free probabilities than rows
            warnings.simplefilter("ignore")
            frame = measured(name, options)
        default = frame[frame.limit == _DEFAULT].density.to_numpy()
        for limit, part in frame.groupby("limit", sort=False):
            loss = part.density.to_numpy() - default
            error = loss.std(ddof=1) / np.sqrt(len(loss)) if len(loss) > 1 else np.nan
            lines.append(
                (
                    f"{name} ({int(part.rows.iloc[0])} rows)",
                    str(limit),
                    f"{part.cells.max():,}",
                    f"{part.kB.max():.0f}",
                    f"{loss.mean():+.3f} ± {error:.3f}",
                )
            )
    print_table(
        "Tables of networks and limits of their cells",
        ["table", "limit", "largest table", "largest file, kB", "density - default"],
        lines,
    )


if __name__ == "__main__":
    main()
