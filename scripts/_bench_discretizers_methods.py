"""Every discretizer of the benchmark as one call: a table and a graph, perhaps classes, in; cut points out."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn import DiscretizedBayesNet
from gomea_bn.data.table import Table, read_table
from gomea_bn.discretization import discretizer
from gomea_bn.learning.refinement import refine_boundaries
from gomea_bn.simulation.random_networks import random_network

__all__ = [
    "Given",
    "Outcome",
    "by_pyagrum",
    "compile_methods",
    "inside",
    "mean_bins",
    "methods_for",
    "run_method",
]

Cuts = dict[str, NDArray[np.float64]]

N_BINS = 5
"""Bins of pyAgrum's methods that take their number as given, the default of ours."""
SLOW = {"pyAgrum NML": 200}
"""Methods whose time grows with the square of the rows in plain Python, and the most rows without --full."""
TWO_CLASSES = frozenset({"pyAgrum CAIM", "pyAgrum MDLP", "optbinning MDLP"})


@dataclass(frozen=True)
class Given:
    """What a method may use: rows, graph, column of classes, deadline, seed, and a Python that has Khiops."""

    table: Table
    edges: list[tuple[str, str]]
    target: str | None
    seconds: float
    seed: int
    khiops_python: str | None = None


@dataclass(frozen=True)
class Outcome:
    """The cuts that a method found, or why it has none; its seconds either way."""

    cuts: Cuts | None
    seconds: float
    note: str = ""


def methods_for(table: Table, target: str | None, full: bool, khiops: bool = False) -> list[str]:
    """Return the methods that can be asked, in the order of printing.

    Without a column of classes those that need one are left out, with more than two classes those that do not know
    more, and on many rows the slow ones unless `full`; Khiops only where there is a Python that has it.
    """
    n_classes = 0 if target is None else len(columns_of(table)[target].levels)
    return [
        name
        for name in METHODS
        if (n_classes > 0 or not name.endswith(("MDLP", "CAIM", "MODL")))
        and (khiops or not name.startswith("Khiops"))
        and (n_classes in (0, 2) or name not in TWO_CLASSES)
        and (full or table.n_rows <= SLOW.get(name, table.n_rows))
    ]


def run_method(name: str, given: Given) -> Outcome:
    """Return what a method finds before the deadline; libraries without a deadline are interrupted."""
    ours = name in OURS
    began = perf_counter()
    try:
        with interrupted_after(None if ours else given.seconds):
            cuts, note = METHODS[name](given)
    except TimeoutError:
        return Outcome(None, perf_counter() - began, f"over {given.seconds:g} s")
    except (ValueError, ArithmeticError, IndexError) as error:
        if ours:
            raise
        return Outcome(None, perf_counter() - began, f"{type(error).__name__}: {error}"[:70])
    return Outcome(inside(cuts, given.table), perf_counter() - began, note)


@cache
def compile_methods(with_classes: bool) -> None:
    """Run everything once on a small table, so that no measured second goes to compiling or importing."""
    truth = random_network(4, cardinality=(2, 2), random_state=0)
    table = read_table(truth.sample(60, random_state=0))
    target = next(iter(truth.levels)) if with_classes else None
    for name in methods_for(table, target, True):
        run_method(name, Given(table, truth.edges, target, 60.0, 0))


@contextmanager
def interrupted_after(seconds: float | None) -> Iterator[None]:
    """Raise TimeoutError in the block after some seconds."""

    def stop(_signal: int, _frame: object) -> None:
        raise TimeoutError

    if seconds is None:
        yield
        return
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def inside(cuts: Cuts, table: Table) -> Cuts:
    """Return the cuts of every continuous column that lie strictly inside its range, increasing."""
    found = {}
    for column in table.columns:
        if column.is_continuous:
            own = np.unique(np.asarray(cuts[column.name], np.float64))
            found[column.name] = own[(own > column.values.min()) & (own < column.values.max())]
    return found


def by_name(name: str, given: Given) -> tuple[Cuts, str]:
    """Return the cuts of one of our discretizers with its defaults."""
    method: Any = discretizer(name, max_seconds=given.seconds)
    if "random_state" in method.get_params():
        method = discretizer(name, max_seconds=given.seconds, random_state=given.seed)
    made = method.fit(given.table, given.target if name == "mdlp" else None, network=given.edges)
    return made.cut_points_, "deadline" if made.stopped_by_ == "max_seconds" else ""


def by_score(given: Given) -> tuple[Cuts, str]:
    """Return the cuts of highest score with free bin counts, from bins of equal frequency."""
    cuts, _ = by_name("equal-frequency", given)
    network = DiscretizedBayesNet.from_table(given.table, given.edges, cuts)
    result = refine_boundaries(network, given.table, "dp", "free", max_seconds=given.seconds)
    return dict(result.network.cut_points), "deadline" if result.stopped_by == "max_seconds" else ""


def by_pyagrum(method: str, given: Given, n_bins: int = N_BINS) -> tuple[Cuts, str]:
    """Return the cuts of one of pyAgrum's methods, column by column.

    Its bins are [a, b), ours (a, b]: a cut moves to the float below, so that equal values keep their bin.
    """
    from pyagrum.lib.discreteTypeProcessor import DiscreteTypeProcessor

    frame = given.table.to_frame()
    classes = None
    if method in ("CAIM", "MDLP"):
        classes = columns_of(given.table)[str(given.target)].values.astype(np.float64)
    found = {}
    for name in (column.name for column in given.table.columns if column.is_continuous):
        processor = DiscreteTypeProcessor(method, n_bins if method != "NML" else 10, 1)
        template = processor.discretizedTemplate(frame[[name]], classes)
        found[name] = np.nextafter(template.variable(name).ticks()[1:-1], -np.inf)
    return found, ""


def by_optbinning(given: Given) -> tuple[Cuts, str]:
    """Return the cuts of optbinning's MDLP."""
    from optbinning import MDLP

    columns = columns_of(given.table)
    classes = columns[str(given.target)].values
    return {
        name: np.asarray(MDLP().fit(column.values, classes).splits, np.float64)
        for name, column in columns.items()
        if column.is_continuous
    }, ""


def by_khiops(with_classes: bool, given: Given) -> tuple[Cuts, str]:
    """Return the cuts of Khiops, run by the Python that has it, whose folder holds its programs too."""
    columns = columns_of(given.table)
    continuous = {name: column.values.tolist() for name, column in columns.items() if column.is_continuous}
    classes = columns[str(given.target)].values.tolist() if with_classes else None
    python = str(given.khiops_python)
    run = subprocess.run(
        [python, str(Path(__file__).with_name("_khiops_cuts.py"))],
        input=json.dumps({"columns": continuous, "classes": classes}),
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": os.pathsep.join([str(Path(python).parent), os.environ["PATH"]])},
    )
    if run.returncode:
        raise SystemExit(f"{python} cannot run Khiops:\n{run.stderr[-2000:]}")
    return {name: np.array(cuts) for name, cuts in json.loads(run.stdout).items()}, ""


def columns_of(table: Table) -> dict[str, Any]:
    """Return the columns by name."""
    return {column.name: column for column in table.columns}


Method = Callable[[Given], tuple[Cuts, str]]
OURS: dict[str, Method] = {
    "equal frequency": partial(by_name, "equal-frequency"),
    "equal width": partial(by_name, "equal-width"),
    "k-means": partial(by_name, "k-means"),
    "latent": partial(by_name, "latent"),
    "MDLP": partial(by_name, "mdlp"),
    "mdl": partial(by_name, "mdl"),
    "bayesian": partial(by_name, "bayesian"),
    "mgcd": partial(by_name, "mgcd"),
    "highest score (dp, free)": by_score,
}
METHODS: dict[str, Method] = {
    **OURS,
    **{
        f"pyAgrum {method}": partial(by_pyagrum, method)
        for method in ("quantile", "uniform", "kmeans", "NML", "CAIM", "MDLP")
    },
    "optbinning MDLP": by_optbinning,
    "Khiops MODL": partial(by_khiops, True),
    "Khiops histograms": partial(by_khiops, False),
}


def mean_bins(cuts: Iterable[NDArray[np.float64]]) -> float:
    """Return the mean number of bins of the columns."""
    return float(np.mean([len(own) + 1 for own in cuts]))
