"""Processor seconds of answers for many rows, with our own elimination of variables and with pyAgrum.

The networks are random ones (law "ide-cozman", seeds 0, 1, ...), and so are the missing cells. pyAgrum answers 200 of
the rows, and its seconds are scaled to all rows. Kernels are compiled before. pyAgrum needs the extra "peers".
"""

from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
import pandas as pd

from gomea_bn import DiscretizedBayesNet
from gomea_bn.simulation.random_networks import random_network
from lab.runner.experiment import Option, Options, tabulated
from lab.runner.report import Sheet, sheet
from lab.runner.runs import timed

N_PEER_ROWS = 200


def seconds(answer: Callable[[], Any]) -> float:
    """Return the seconds of processor time of the second of two calls; the first one compiles and loads kernels."""
    answer()
    return timed(answer, clock=process_time)[1]


def peer_seconds(network: DiscretizedBayesNet, rows: pd.DataFrame, target: str | None) -> float:
    """Return the processor seconds of pyAgrum per row: for one posterior, or for the probability of the evidence."""
    import pyagrum

    engine = pyagrum.LazyPropagation(network.to_pyagrum())
    filled = network.impute(rows, random_state=0)
    known = rows.notna().assign(**({} if target is None else {target: False}))
    start = process_time()
    for row, is_known in zip(network.discretize(filled).to_numpy(), known.to_numpy(), strict=True):
        codes = zip(network.names, row.tolist(), is_known, strict=True)
        engine.setEvidence({name: code for name, code, observed in codes if observed})
        if target is None:
            engine.evidenceProbability()
        else:
            engine.posterior(target)
    return (process_time() - start) / len(rows)


def questions(
    network: DiscretizedBayesNet, frame: pd.DataFrame, rows: pd.DataFrame
) -> list[tuple[str, float, str]]:
    """Return every question with our seconds and pyAgrum's, for complete rows and the same rows with missing cells."""
    target = next(iter(network.cut_points))

    def of_peer(some: pd.DataFrame, asked: str | None) -> str:
        return f"{peer_seconds(network, some.head(N_PEER_ROWS), asked) * len(rows):.1f}"

    return [
        ("log_density, missing cells", seconds(lambda: network.log_density(rows)), of_peer(rows, None)),
        (
            "predict_proba, complete rows",
            seconds(lambda: network.predict_proba(frame, target)),
            of_peer(frame, target),
        ),
        (
            "predict_interval, missing cells",
            seconds(lambda: network.predict_interval(rows, target)),
            of_peer(rows, target),
        ),
        ("impute, draws", seconds(lambda: network.impute(rows, random_state=1)), ""),
        ("impute, means", seconds(lambda: network.impute(rows, "mean")), ""),
    ]


def compared(options: Options) -> Sheet:
    """Return one row per network and question."""
    table = []
    for seed in options.nets:
        network = random_network(options.variables, law="ide-cozman", random_state=seed)
        frame = network.sample(options.rows, seed)
        rows = frame.mask(np.random.default_rng(seed).random(frame.shape) < options.missing)
        for question, ours, peer in questions(network, frame, rows):
            table.append([f"{question}, {len(network.edges)} edges", f"{ours:.3f}", peer])
    size = f"{options.rows:,} rows of {options.variables} columns"
    heading = f"{size}, {100 * options.missing:g} % missing: processor seconds"
    return sheet(heading, ["question", "ours", "pyAgrum"], table)


EXPERIMENTS = (
    tabulated(
        "inference",
        "Processor seconds of answers for many rows, ours and pyAgrum's",
        (__doc__ or "").partition("\n\n")[2],
        compared,
        {
            "nets": Option((0, 1, 2), "Seeds of the random networks."),
            "rows": Option(10_000, "Number of rows.", least=1),
            "variables": Option(20, "Number of columns.", least=2),
            "missing": Option(0.3, "Share of missing cells."),
        },
        split=("nets",),
    ),
)
