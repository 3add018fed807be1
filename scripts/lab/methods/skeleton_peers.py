"""Structure learners of other libraries on continuous and mixed columns, each stopped after a time limit.

GES and PC of causal-learn, XGES and Tetrad's searches with BIC treat every column as a number with linear Gaussian
dependences. Tetrad's score of basis functions has polynomials of the parents, its degenerate Gaussian indicators of
levels. pybnesian has conditional linear Gaussian and semiparametric networks. pyAgrum's learners get five bins of
equal frequency. A library that is not installed gives no edges, and its note says what installs it.

Every learner returns the completed partially directed graph of what it found: a directed edge as one pair, parent
first, and an edge without a direction as two pairs.
"""

import atexit
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from importlib import import_module
from multiprocessing import TimeoutError as OverTime
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gomea_bn.network.edges import cpdag
from lab.methods.peers import PeerRun, why_missing, without_arrow
from lab.published.judge import Edge
from lab.published.search_engine import pyagrum_learner
from lab.runner.runs import ReplaceableProcess, timed

N_BINS = 5
"""Number of bins of equal frequency for learners of discrete networks."""
SECONDS_TO_IMPORT = 120.0


def encoded(frame: pd.DataFrame) -> NDArray[np.float64]:
    """Return the columns as numbers; levels are numbered from 0 in their order."""
    return np.column_stack(
        [
            column.cat.codes if isinstance(column.dtype, pd.CategoricalDtype) else column
            for _, column in frame.items()
        ]
    ).astype(np.float64)


def binned(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with every continuous column in five bins of equal frequency, equal quantiles joined."""
    columns = {}
    for name, column in frame.items():
        if isinstance(column.dtype, pd.CategoricalDtype):
            codes = column.cat.codes.to_numpy()
        else:
            codes = pd.qcut(column, N_BINS, labels=False, duplicates="drop").to_numpy()
        columns[str(name)] = pd.Categorical(codes.astype(np.int64))
    return pd.DataFrame(columns)


def _pairs(marks: NDArray[np.bool_], frame: pd.DataFrame) -> list[Edge]:
    """Return the edges of a matrix whose entry [i, j] says that the edge may point from i to j."""
    names = list(map(str, frame.columns))
    return [(names[i], names[j]) for i, j in np.argwhere(marks)]


def essential_edges(names: Iterable[str], arcs: Iterable[Edge]) -> list[Edge]:
    """Return the edges of the completed partially directed graph of a directed acyclic graph."""
    places = {name: i for i, name in enumerate(names)}
    adjacency = np.zeros((len(places), len(places)), np.int8)
    for parent, child in arcs:
        adjacency[places[parent], places[child]] = 1
    return _pairs(cpdag(adjacency) != 0, pd.DataFrame(columns=list(places)))


def _of_causal_learn(graph: Any, frame: pd.DataFrame) -> list[Edge]:
    # the entry [i, j] is the mark at i of the edge between i and j: -1 a tail, 1 an arrow
    matrix = np.asarray(graph)
    return _pairs((matrix == -1) | ((matrix == 1) & (matrix.T == 1)), frame)


def _ges(frame: pd.DataFrame) -> list[Edge]:
    from causallearn.search.ScoreBased.GES import ges

    return _of_causal_learn(ges(encoded(frame), "local_score_BIC")["G"].graph, frame)


def _pc(frame: pd.DataFrame) -> list[Edge]:
    from causallearn.search.ConstraintBased.PC import pc

    return _of_causal_learn(pc(encoded(frame), 0.05, "fisherz", show_progress=False).G.graph, frame)


def _xges(frame: pd.DataFrame) -> list[Edge]:
    from xges import XGES

    search = XGES()
    # compiled scores would spend the first seconds on compiling
    search.fit(encoded(frame), use_fast_numba=False, verbose=0)
    return _pairs(np.asarray(search.get_adjacency_matrix()) != 0, frame)


def _tetrad(search: str, score: str, penalty: float, frame: pd.DataFrame) -> list[Edge]:
    # the import starts Java
    from lab.methods.tetrad import edges_of_tetrad

    return edges_of_tetrad(search, score, penalty, frame)


def _pybnesian(family: str, options: dict[str, Any], frame: pd.DataFrame) -> list[Edge]:
    import pybnesian

    learned = pybnesian.hc(without_arrow(frame), bn_type=getattr(pybnesian, family)(), seed=0, **options)
    return essential_edges(map(str, frame.columns), learned.arcs())


_LINEAR_GAUSSIAN = {"score": "bic", "operators": ["arcs"]}
_SEMIPARAMETRIC = {"score": "validated-lik", "operators": ["arcs", "node_type"], "patience": 5}


def _pyagrum(search: str, frame: pd.DataFrame) -> list[Edge]:
    learner = pyagrum_learner(binned(frame), "bic", 0.0)
    getattr(learner, search)()
    names = [learner.nameFromId(i) for i in range(frame.shape[1])]
    if search != "useMIIC":
        return essential_edges(names, [(names[a], names[b]) for a, b in learner.learnDAG().arcs()])
    graph = learner.learnPDAG()
    both = [pair for a, b in graph.edges() for pair in ((a, b), (b, a))]
    return [(names[a], names[b]) for a, b in sorted({*graph.arcs(), *both})]


SKELETON_PEERS: dict[str, tuple[str, Callable[[pd.DataFrame], list[Edge]]]] = {
    "causal-learn GES, BIC": ("causallearn.search.ScoreBased.GES", _ges),
    "causal-learn PC, Fisher z": ("causallearn.search.ConstraintBased.PC", _pc),
    "XGES, BIC": ("xges", _xges),
    "Tetrad BOSS, BIC": ("lab.methods.tetrad", partial(_tetrad, "BOSS", "linear", 1.0)),
    "Tetrad GRaSP, BIC": ("lab.methods.tetrad", partial(_tetrad, "GRaSP", "linear", 1.0)),
    "Tetrad FGES, BIC": ("lab.methods.tetrad", partial(_tetrad, "FGES", "linear", 1.0)),
    "Tetrad BOSS, degenerate Gaussian": (
        "lab.methods.tetrad",
        partial(_tetrad, "BOSS", "degenerate Gaussian", 1.0),
    ),
    "Tetrad BOSS, basis functions": ("lab.methods.tetrad", partial(_tetrad, "BOSS", "basis functions", 2.0)),
    "Tetrad BOSS, basis functions, penalty 1": (
        "lab.methods.tetrad",
        partial(_tetrad, "BOSS", "basis functions", 1.0),
    ),
    "pybnesian CLG, BIC": ("pybnesian", partial(_pybnesian, "CLGNetworkType", _LINEAR_GAUSSIAN)),
    "pybnesian semiparametric": ("pybnesian", partial(_pybnesian, "SemiparametricBNType", _SEMIPARAMETRIC)),
    f"pyAgrum MIIC, {N_BINS} bins": ("pyagrum", partial(_pyagrum, "useMIIC")),
    f"pyAgrum hill climbing, BIC, {N_BINS} bins": ("pyagrum", partial(_pyagrum, "useGreedyHillClimbing")),
    f"pyAgrum tabu, BIC, {N_BINS} bins": ("pyagrum", partial(_pyagrum, "useLocalSearchWithTabuList")),
}
"""Module to import and function from a frame to edges, by label."""


def peer_skeletons(
    frame: pd.DataFrame,
    timeout: float,
    peers: Mapping[str, tuple[str, Callable[[pd.DataFrame], list[Edge]]]] = SKELETON_PEERS,
) -> Iterator[PeerRun]:
    """Yield the edges that every peer learns from floats and categories within a limit of seconds.

    The peers run one after another in a process of their own, which is replaced when a peer exceeds the limit. The
    import of a library, its module, is not part of its seconds.
    """
    process = _process_of_peers()
    for label, (module, learn) in peers.items():
        try:
            process.call(_imported, module, timeout=SECONDS_TO_IMPORT)
        except ImportError as error:
            yield PeerRun(label, None, math.nan, why_missing(error))
            continue
        try:
            edges, seconds = process.call(timed, learn, frame, timeout=timeout)
        except OverTime:
            yield PeerRun(label, None, timeout, f"stopped after {timeout:g} s")
        except Exception as error:  # libraries raise exceptions of every type
            yield PeerRun(label, None, math.nan, f"failed: {type(error).__name__}: {error}"[:100])
        else:
            yield PeerRun(label, edges, seconds)


@cache
def _process_of_peers() -> ReplaceableProcess:
    """Return one process for all samples, since importing the libraries takes longer than most of their searches."""
    process = ReplaceableProcess()
    atexit.register(process.end)
    return process


def _imported(module: str) -> None:
    import_module(module)
