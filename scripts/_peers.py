"""The other libraries' structure learners, run on one sample and judged by one scorer.

Imported by the benchmarks; run alone it prints one table of scores and times:

    python scripts/_peers.py --network alarm --n 1000 --seed 1
"""

from __future__ import annotations

import argparse
import math
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from _judge import (
    Codes,
    Edge,
    Family,
    codes_and_cards,
    consistent_extension,
    family_score,
    load_bif_sample,
    network_score,
    object_index,
    random_families,
)
from numpy.typing import NDArray

__all__ = [
    "LEARN_SLOWLY",
    "PEERS",
    "PeerRun",
    "family_score",
    "load_bif_sample",
    "network_score",
    "peer_families_per_second",
    "peer_family_scores",
    "random_families",
    "run_peer",
]

LEARN_SLOWLY = ("pgmpy GES", "causal-learn GES", "causal-learn GES, score set")


def _pyagrum_learner(frame: pd.DataFrame, score: str, ess: float) -> Any:
    """Return a pyAgrum learner, one thread, all levels known; BD with the BDeu prior takes the ess as it is.

    ``useScoreBDeu`` brings a fixed ess of 1 to which the weight of ``useBDeuPrior`` is added.
    """
    gum: Any = import_module("pyagrum")

    gum.setNumberOfThreads(1)
    template = gum.BayesNet()
    for name in frame.columns:
        template.add(gum.LabelizedVariable(name, name, [str(c) for c in frame[name].cat.categories]))
    learner = gum.BNLearner(frame, template)
    learner.setNumberOfThreads(1)
    if score == "bdeu":
        learner.useScoreBD()
        learner.useBDeuPrior(ess)
    else:
        learner.useScoreBIC()
        learner.useNoPrior()
    return learner


def _pyagrum(frame: pd.DataFrame, score: str, ess: float, search: str) -> list[Edge]:
    learner = _pyagrum_learner(frame, score, ess)
    getattr(learner, search)()
    return [(learner.nameFromId(a), learner.nameFromId(b)) for a, b in learner.learnDAG().arcs()]


def _pyagrum_hill_climbing(frame: pd.DataFrame, score: str, ess: float) -> list[Edge]:
    return _pyagrum(frame, score, ess, "useGreedyHillClimbing")


def _pyagrum_tabu(frame: pd.DataFrame, score: str, ess: float) -> list[Edge]:
    return _pyagrum(frame, score, ess, "useLocalSearchWithTabuList")


def _pybnesian_score(frame: pd.DataFrame, score: str, ess: float) -> Any:
    import pybnesian

    plain = frame.apply(lambda column: column.cat.rename_categories(object_index(column.cat.categories)))
    return pybnesian.BDe(plain, ess) if score == "bdeu" else pybnesian.BIC(plain)


def _pybnesian_hill_climbing(frame: pd.DataFrame, score: str, ess: float) -> list[Edge]:
    import pybnesian

    start = pybnesian.DiscreteBN(list(frame.columns))
    learned = pybnesian.GreedyHillClimbing().estimate(
        pybnesian.ArcOperatorSet(), _pybnesian_score(frame, score, ess), start
    )
    return [(a, b) for a, b in learned.arcs()]


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
    """Learn with the only discrete score that causal-learn has, whatever ``score`` and ``ess`` ask for."""
    from causallearn.search.ScoreBased.GES import ges

    codes, _ = codes_and_cards(frame)
    graph = ges(codes, "local_score_BDeu", node_names=list(frame.columns))["G"].graph
    names = list(frame.columns)
    # graph[j, i] = 1 and graph[i, j] = -1 say i -> j; -1 in both places says i - j
    directed = [(names[i], names[j]) for j, i in np.argwhere(graph == 1) if graph[i, j] == -1]
    undirected = [(names[i], names[j]) for i, j in np.argwhere(graph == -1) if graph[j, i] == -1]
    return consistent_extension(names, directed, undirected)


def _causal_learn_ges_score_set(frame: pd.DataFrame, score: str, ess: float) -> list[Edge]:
    """Learn with causal-learn's search over ``family_score``, put in the place of its own BDeu."""
    module: Any = import_module("causallearn.search.ScoreBased.GES")
    codes, cards = codes_and_cards(frame)

    def local_score(data: Codes, child: int, parents: list[int], parameters: object = None) -> float:
        return family_score(codes, cards, child, parents, score, ess)

    own = module.local_score_BDeu
    module.local_score_BDeu = local_score
    try:
        return _causal_learn_ges(frame, score, ess)
    finally:
        module.local_score_BDeu = own


PEERS: dict[str, Callable[[pd.DataFrame, str, float], list[Edge]]] = {
    "pyAgrum hill climbing": _pyagrum_hill_climbing,
    "pyAgrum tabu": _pyagrum_tabu,
    "pybnesian hill climbing": _pybnesian_hill_climbing,
    "pgmpy hill climbing": _pgmpy_hill_climbing,
    "pgmpy GES": _pgmpy_ges,
    "causal-learn GES": _causal_learn_ges,
    "causal-learn GES, score set": _causal_learn_ges_score_set,
}


def peer_note(label: str, score: str, ess: float) -> str:
    """Return what the peer optimised where that is not exactly the score asked for."""
    if label == "causal-learn GES":
        return "BDeu with ess 1 and a prior of one parent per node: neither can be set; its BIC is Gaussian"
    if label == "causal-learn GES, score set":
        return "its search over our family_score"
    if label.startswith("pyAgrum") and score == "bdeu":
        return f"ess {ess:g} set; its log-gamma rounds x < 50 to 0.01"
    return f"ess {ess:g} set" if score == "bdeu" else ""


@dataclass(frozen=True, slots=True)
class PeerRun:
    """What one peer learned; ``edges`` is None when it did not end, and ``note`` says why."""

    label: str
    edges: list[Edge] | None
    seconds: float
    note: str


def run_peer(
    label: str, frame: pd.DataFrame, score: str, ess: float, *, timeout: float | None = None
) -> PeerRun:
    """Return a peer's edges and its wall seconds from the DataFrame to the edges.

    The peer runs in a process of its own (one thread, fixed hash seed: pgmpy's results depend on it), where
    a first call on a few rows and columns pays for the imports before the clock starts.

    Parameters
    ----------
    label : str
        A key of ``PEERS``.
    frame : DataFrame
        Categorical columns.
    score : {"bdeu", "bic"}
    ess : float
    timeout : float, optional
        Seconds after which the peer is stopped; the run then has no edges.
    """
    environment = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    with tempfile.TemporaryDirectory() as folder:
        job, answer = Path(folder, "job.pickle"), Path(folder, "answer.pickle")
        job.write_bytes(pickle.dumps((label, frame, score, ess, timeout)))
        done = subprocess.run(
            [sys.executable, __file__, "--job", str(job), "--answer", str(answer)],
            env=environment | {"PYTHONHASHSEED": "0"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == -signal.SIGALRM and timeout is not None:
            return PeerRun(label, None, timeout, f"stopped after {timeout:g} s")
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
            return PeerRun(label, None, math.nan, f"failed: {lines[-1]}")
        edges, seconds = pickle.loads(answer.read_bytes())
    return PeerRun(label, edges, seconds, peer_note(label, score, ess))


def _run_job(job: Path, answer: Path) -> None:
    """Run the peer of a job file and write (edges, seconds); the alarm kills the process at the timeout."""
    label, frame, score, ess, timeout = pickle.loads(job.read_bytes())
    PEERS[label](frame.iloc[:50, :3], score, ess)
    if timeout is not None:
        signal.setitimer(signal.ITIMER_REAL, timeout)
    start = time.perf_counter()
    edges = PEERS[label](frame, score, ess)
    seconds = time.perf_counter() - start
    signal.setitimer(signal.ITIMER_REAL, 0)
    answer.write_bytes(pickle.dumps((edges, seconds)))


def _pybnesian_families(frame: pd.DataFrame, score: str, ess: float) -> Callable[[Any, Any], float]:
    import pybnesian

    local_score = _pybnesian_score(frame, score, ess).local_score
    model = pybnesian.DiscreteBN(list(frame.columns))
    return lambda child, parents: local_score(model, child, parents)


def _pyagrum_families(frame: pd.DataFrame, score: str, ess: float) -> Callable[[Any, Any], float]:
    scorer: Callable[[Any, Any], float] = _pyagrum_learner(frame, score, ess).score
    return scorer


def _pgmpy_families(frame: pd.DataFrame, score: str, ess: float) -> Callable[[Any, Any], float]:
    local_score = _pgmpy_score(frame, score, ess).local_score
    return lambda child, parents: local_score(child, tuple(parents))


# per library: the scorer, nats per unit of its scores, families at most, passes of which the best counts
_FAMILY_SCORERS: dict[str, tuple[Callable[..., Callable[[Any, Any], float]], float, int, int]] = {
    "pybnesian": (_pybnesian_families, 1.0, 1_000_000, 5),
    "pyAgrum": (_pyagrum_families, math.log(2.0), 1_000_000, 5),
    "pgmpy": (_pgmpy_families, 1.0, 300, 1),
}


def peer_family_scores(
    frame: pd.DataFrame, families: Sequence[Family], score: str, ess: float = 10.0
) -> dict[str, tuple[NDArray[np.float64], float]]:
    """Return per library the scores of the families, in nats, and the seconds of the best pass over them.

    Each library scores every distinct family once per pass with a scorer made for that pass, so that no
    cache can answer; one thread. pgmpy, being slow, scores the first 300 only.

    Parameters
    ----------
    frame : DataFrame
        Categorical columns.
    families : sequence of (child, (parent, ...)), names
    score : {"bdeu", "bic"}
    ess : float
    """
    found: dict[str, tuple[NDArray[np.float64], float]] = {}
    for label, (make, unit, most, passes) in _FAMILY_SCORERS.items():
        distinct = [(child, list(parents)) for child, parents in dict.fromkeys(families)][:most]
        best = math.inf
        values: list[float] = []
        for _ in range(passes):
            local_score = make(frame, score, ess)
            local_score(distinct[-1][0], distinct[-1][1])  # lazy set-up is not scoring
            start = time.perf_counter()
            values = [local_score(child, parents) for child, parents in distinct]
            best = min(best, time.perf_counter() - start)
        found[label] = (np.array(values) * unit, best)
    return found


def peer_families_per_second(
    frame: pd.DataFrame, families: Sequence[Family], score: str, ess: float = 10.0
) -> dict[str, float]:
    """Return the families that each library scores per second, uncached, one thread."""
    found = peer_family_scores(frame, families, score, ess)
    return {label: len(values) / seconds for label, (values, seconds) in found.items()}


def print_families(frame: pd.DataFrame, families: Sequence[Family], score: str, ess: float) -> None:
    """Print per library the families per second and how far its scores are from the judge's."""
    codes, cards = codes_and_cards(frame)
    column = {name: i for i, name in enumerate(frame.columns)}
    ours = np.array(
        [family_score(codes, cards, column[c], [column[p] for p in ps], score, ess) for c, ps in families]
    )
    for label, (values, seconds) in peer_family_scores(frame, families, score, ess).items():
        gap = np.abs(values - ours[: len(values)])
        print(
            f"{label:12} {len(values) / seconds:10,.0f} families/s; from our scores: "
            f"median {np.median(gap):.1e}, largest {gap.max():.1e} nats"
        )


def main() -> None:
    """Print the scores and times of all peers on one sample."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--network", default="alarm", help="BIF network inside the pgmpy wheel")
    parser.add_argument("--n", type=int, default=1000, help="rows of the sample")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--score", choices=("bic", "bdeu", "both"), default="both")
    parser.add_argument("--ess", type=float, default=10.0, help="equivalent sample size of BDeu")
    parser.add_argument("--skip-slow", action="store_true", help=f"leave out {'; '.join(LEARN_SLOWLY)}")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds per peer")
    parser.add_argument("--families", type=int, default=0, help="also time so many random families, uncached")
    parser.add_argument("--job", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--answer", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.job is not None:
        _run_job(args.job, args.answer)
        return
    frame, truth, _ = load_bif_sample(args.network, args.n, args.seed)
    families = random_families(list(frame.columns), args.families, 3, args.seed)
    for score in ("bdeu", "bic") if args.score == "both" else (args.score,):
        print(
            f"\n{args.network}, n = {args.n}, seed {args.seed}, {score} in nats (ess {args.ess:g} for bdeu)"
        )
        print(f"{'':28} {'score':>11} {'arcs':>5} {'seconds':>8}  note")
        best = network_score(frame, truth, score, args.ess)
        print(f"{'generating network':28} {best:11.1f} {len(truth):5d} {'':8}", flush=True)
        for label in PEERS:
            if args.skip_slow and label in LEARN_SLOWLY:
                continue
            run = run_peer(label, frame, score, args.ess, timeout=args.timeout)
            shown = "-" if run.edges is None else f"{network_score(frame, run.edges, score, args.ess):.1f}"
            arcs = "-" if run.edges is None else str(len(run.edges))
            print(f"{label:28} {shown:>11} {arcs:>5} {run.seconds:8.2f}  {run.note}", flush=True)
        if families:
            print_families(frame, families, score, args.ess)


if __name__ == "__main__":
    main()
