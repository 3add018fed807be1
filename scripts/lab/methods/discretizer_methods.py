"""Every discretizer of the benchmarks as one call, from a table, a graph and perhaps classes to cut points."""

import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn import DiscretizedBayesNet
from gomea_bn.data.table import Table, read_table
from gomea_bn.discretization import discretizer
from gomea_bn.learning.cuts.refinement import refine_boundaries
from gomea_bn.simulation.random_networks import random_network
from lab.published.algorithms import inside

Cuts = dict[str, NDArray[np.float64]]

N_BINS = 5
"""Number of bins of pyAgrum's methods that take one; the default of our methods."""
SLOW = {"pyAgrum NML": 200}
"""Methods whose time grows with the square of the number of rows, and their largest number of rows without --full."""
TWO_CLASSES = frozenset({"pyAgrum CAIM", "pyAgrum MDLP", "optbinning MDLP"})
LIBRARIES = {"pyAgrum": "pyagrum", "optbinning": "optbinning"}
"""Modules of the libraries that name methods."""


@dataclass(frozen=True)
class Request:
    """Input of a method: rows, graph, column of classes, deadline and seed."""

    table: Table
    edges: list[tuple[str, str]]
    target: str | None
    seconds: float
    seed: int


@dataclass(frozen=True)
class Outcome:
    """Cuts of a method and its seconds; without cuts the note says why."""

    cuts: Cuts | None
    seconds: float
    note: str = ""


def methods_for(table: Table, target: str | None, full: bool) -> list[str]:
    """Return the methods that can run on a table, in the order of printing.

    Methods that need classes run if there is a column of classes, those for two classes if it has two. The slow ones
    run on few rows, or if `full`. A library takes part if it is installed.
    """
    missing = missing_peers()
    n_classes = 0 if target is None else len(columns_of(table)[target].levels)
    return [
        name
        for name in METHODS
        if name.split()[0] not in missing
        and (n_classes > 0 or not name.endswith(("MDLP", "CAIM")))
        and (n_classes in (0, 2) or name not in TWO_CLASSES)
        and (full or table.n_rows <= SLOW.get(name, table.n_rows))
    ]


def missing_peers() -> list[str]:
    """Return the libraries with methods of the benchmark that are not installed."""
    return [name for name, module in LIBRARIES.items() if find_spec(module) is None]


def run_method(name: str, request: Request) -> Outcome:
    """Return the cuts of a method before the deadline; libraries without a deadline are interrupted."""
    ours = name in OURS
    began = perf_counter()
    try:
        with interrupted_after(None if ours else request.seconds):
            cuts, note = METHODS[name](request)
    except TimeoutError:
        return Outcome(None, perf_counter() - began, f"over {request.seconds:g} s")
    except (ValueError, ArithmeticError, IndexError) as error:
        if ours:
            raise
        return Outcome(None, perf_counter() - began, f"{type(error).__name__}: {error}"[:70])
    return Outcome(inside(cuts, request.table), perf_counter() - began, note)


@cache
def compile_methods(with_classes: bool) -> None:
    """Run every method once on a small table, so that no measured second is spent on compiling or importing."""
    truth = random_network(4, cardinality=(2, 2), random_state=0)
    table = read_table(truth.sample(60, random_state=0))
    target = next(iter(truth.levels)) if with_classes else None
    for name in methods_for(table, target, True):
        run_method(name, Request(table, truth.edges, target, 60.0, 0))


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


def by_name(name: str, request: Request) -> tuple[Cuts, str]:
    """Return the cuts of one of our discretizers with its defaults."""
    method: Any = discretizer(name, max_seconds=request.seconds)
    if "random_state" in method.get_params():
        method = discretizer(name, max_seconds=request.seconds, random_state=request.seed)
    fitted = method.fit(request.table, request.target if name == "mdlp" else None, network=request.edges)
    return fitted.cut_points_, "deadline" if fitted.stopped_by_ == "max_seconds" else ""


def by_score(request: Request) -> tuple[Cuts, str]:
    """Return the cuts of the highest score with free numbers of bins, starting from bins of equal frequency."""
    cuts, _ = by_name("equal-frequency", request)
    network = DiscretizedBayesNet.from_table(request.table, request.edges, cuts)
    result = refine_boundaries(network, request.table, "dp", "free", max_bins=15, max_seconds=request.seconds)
    return dict(result.network.cut_points), "deadline" if result.stopped_by == "max_seconds" else ""


def cuts_by_pyagrum(method: str, request: Request, n_bins: int = N_BINS) -> tuple[Cuts, str]:
    """Return the cuts of one of pyAgrum's methods, column by column.

    Its bins are [a, b), ours are (a, b]. A cut moves to the float below, so that equal values keep their bin.
    """
    from pyagrum.lib.discreteTypeProcessor import DiscreteTypeProcessor

    frame = request.table.to_frame()
    classes = None
    if method in ("CAIM", "MDLP"):
        classes = columns_of(request.table)[str(request.target)].values.astype(np.float64)
    cuts = {}
    for name in (column.name for column in request.table.columns if column.is_continuous):
        processor = DiscreteTypeProcessor(method, n_bins if method != "NML" else 10, 1)
        template = processor.discretizedTemplate(frame[[name]], classes)
        cuts[name] = np.nextafter(template.variable(name).ticks()[1:-1], -np.inf)
    return cuts, ""


def by_optbinning(request: Request) -> tuple[Cuts, str]:
    """Return the cuts of optbinning's MDLP."""
    from optbinning import MDLP

    columns = columns_of(request.table)
    classes = columns[str(request.target)].values
    return {
        name: np.asarray(MDLP().fit(column.values, classes).splits, np.float64)
        for name, column in columns.items()
        if column.is_continuous
    }, ""


def columns_of(table: Table) -> dict[str, Any]:
    """Return the columns by name."""
    return {column.name: column for column in table.columns}


Method = Callable[[Request], tuple[Cuts, str]]
OURS: dict[str, Method] = {
    "equal frequency": partial(by_name, "equal-frequency"),
    "equal width": partial(by_name, "equal-width"),
    "k-means": partial(by_name, "k-means"),
    "latent": partial(by_name, "latent"),
    "MDLP": partial(by_name, "mdlp"),
    **{name: partial(by_name, name) for name in ("mdl", "bayesian", "mgcd")},
    "highest score (dp, free)": by_score,
}
METHODS: dict[str, Method] = {
    **OURS,
    **{
        f"pyAgrum {method}": partial(cuts_by_pyagrum, method)
        for method in ("quantile", "uniform", "kmeans", "NML", "CAIM", "MDLP")
    },
    "optbinning MDLP": by_optbinning,
}


def mean_bins(cuts: Iterable[NDArray[np.float64]]) -> float:
    """Return the mean number of bins of columns with the given cuts."""
    return float(np.mean([len(of_column) + 1 for of_column in cuts]))
