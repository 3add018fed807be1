"""Many variables: our learner and pyAgrum's tabu search, and seconds and memory without screening.

`scale-screening` prints for every search the seconds to its best network and in all, and the score above the generating
network. Peers get the same seconds: hill climbing of pyAgrum and pybnesian and tabu search end with their best network,
others end without one. `scale-threads` prints what 1, 2, 4 ... threads gain at equal evaluations. `scale-cost` prints
processor seconds of fits by phase, and those after which a limited fit is about as good as the best one. All but
`scale-threads` need the extra "peers".
"""

import os
import warnings
from collections.abc import Callable, Sequence
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from gomea_bn import BayesNetLearner, DiscretizedBayesNet, ExpertNetwork, ParetoBayesNetLearner
from gomea_bn.data.table import Table, read_table
from gomea_bn.errors import GomeaBnWarning
from gomea_bn.learning.warm_up import compile_front_kernels, compile_kernels
from gomea_bn.metrics.distances import accuracy, sensitivity
from gomea_bn.runtime.phases import showing
from gomea_bn.simulation.random_networks import random_network
from lab.methods.peers import run_peer
from lab.published.judge import network_score
from lab.published.tables import published_network, varying_sample
from lab.runner.experiment import Option, Options, tabulated
from lab.runner.report import Sheet, sheet
from lab.runner.runs import in_new_process, peak_megabytes, timed
from lab.scaling.rows import size_of

N_HELD_OUT = 20_000
# the law draws the number of edges: with this factor on the upper limit, 1 network in 100 has the number asked for
EDGE_ROOM = 1.3
EQUIVALENT_SAMPLE_SIZE = 10.0


def network_of(n_variables: int, n_edges: int, seed: int) -> tuple[DiscretizedBayesNet, int]:
    """Return the first network from `seed` on with exactly `n_edges` edges and at most 3 parents, and its seed."""
    fraction = EDGE_ROOM * n_edges / (n_variables * (n_variables - 1) / 2)
    while True:
        network = random_network(n_variables, max_indegree=3, max_edge_fraction=fraction, random_state=seed)
        if len(network.edges) == n_edges:
            return network, seed
        seed += 1


def quantile_bins(table: Table, n_bins: int) -> tuple[dict[str, Any], pd.DataFrame]:
    """Return equal-frequency cuts of the continuous columns, and the table as categories."""
    cuts, columns = {}, {}
    for column in table.columns:
        codes = column.values
        if column.is_continuous:
            cuts[column.name] = np.unique(np.quantile(column.values, np.arange(1, n_bins) / n_bins))
            codes = np.searchsorted(cuts[column.name], column.values, side="left")
        columns[column.name] = pd.Categorical(codes.astype(str))
    return cuts, pd.DataFrame(columns)


def row_of(
    label: str,
    network: DiscretizedBayesNet,
    truth: DiscretizedBayesNet,
    held_out: pd.DataFrame,
    seconds: float,
) -> tuple[str, ...]:
    """Return a network's row of the printed table."""
    true = {frozenset(edge) for edge in truth.edges}
    right = sum(frozenset(edge) in true for edge in network.edges)
    return (
        label,
        f"{seconds:.1f}",
        f"{network.log_density(held_out).mean():.3f}",
        str(len(network.edges)),
        str(right),
        f"{accuracy(truth, network):.4f}",
        f"{sensitivity(truth, network):.3f}",
    )


def learn(options: Options) -> list[Sheet]:
    """Return seconds, held-out log density and edges of ours and of the peer, network by network."""
    seed = options.seed
    sheets = []
    for _ in range(options.nets):
        truth, seed = network_of(options.variables, options.edges, seed)
        frame = truth.sample(options.rows, random_state=10_000 + seed)
        held_out = truth.sample(N_HELD_OUT, random_state=20_000 + seed)
        table = read_table(frame)
        rows = [row_of("generating network", truth, truth, held_out, 0.0)]
        true_fit = DiscretizedBayesNet.from_table(table, truth.edges, truth.cut_points)
        rows.append(row_of("true graph and cuts, our tables", true_fit, truth, held_out, 0.0))
        cuts, discrete = quantile_bins(table, 5)
        for score in () if options.without_peer else ("bic", "bdeu"):
            run = run_peer("pyAgrum tabu", discrete, score, 1.0, timeout=options.peer_seconds)
            if run.edges is None:
                rows.append((f"pyAgrum tabu, {score}: {run.note}", f"{run.seconds:.1f}", *["-"] * 5))
                continue
            binned = DiscretizedBayesNet.from_table(table, run.edges, cuts)
            rows.append(row_of(f"pyAgrum tabu, {score}, quantile-5", binned, truth, held_out, run.seconds))
        traces = []
        for candidates in read_candidates(options.candidates):
            learner = BayesNetLearner(
                options.discretizer,
                density="bins",
                max_candidates=candidates,
                max_seconds=options.seconds,
                patience=None,
                n_jobs=options.jobs,
                random_state=seed,
            )
            _, seconds = timed(learner.fit, frame)
            label = f"ours, {options.discretizer}, {learner.n_candidate_pairs_} pairs"
            rows.append(row_of(label, learner.network_, truth, held_out, seconds))
            trace = [entry for entry in learner.history_ if entry.objective < 0]
            shown = [trace[k] for k in np.linspace(0, len(trace) - 1, 8).astype(int).tolist()]
            scores = (f"{-entry.objective:.0f} at {entry.seconds:.0f} s" for entry in shown)
            traces.append(f"{label}: {', '.join(scores)}")
        columns = ("", "seconds", "log density/row", "edges", "right", "accuracy", "sensitivity")
        size = f"{options.variables} variables, {options.edges} edges, {options.rows:,} rows"
        heading = f"Network of seed {seed}: {size}, {options.jobs} threads"
        traces.append(f"Peak memory of this process: {peak_megabytes():.0f} MB")
        sheets.append(sheet(heading, columns, rows, "\n".join(traces)))
        seed += 1
    return sheets


def read_candidates(texts: Sequence[str]) -> list[int | str | None]:
    """Return the values of `max_candidates` that an option lists."""
    return [None if text == "all" else text if text == "auto" else int(text) for text in texts]


def screening(options: Options) -> Sheet:
    """Return the scores that searches with fewer and more candidate pairs reach, and peers in equal seconds.

    Scores are minus that of the generating network, in nats, and count all rows. Columns that are constant in the
    sample are left out.
    """
    columns = ("network", "sample", "columns", "score", "", "nats", "s to best", "s in all", "")
    size = f"{options.sample_rows:,} rows, BDeu {EQUIVALENT_SAMPLE_SIZE:g}"
    rows: list[tuple[object, ...]] = []
    for name in options.networks:
        truth = published_network(name)
        for net in range(options.nets):
            frame = varying_sample(truth, options.sample_rows, net)
            true_edges = [edge for edge in truth.edges if set(edge) <= set(frame.columns)]
            for score in options.score:
                reference = network_score(frame, true_edges, score, EQUIVALENT_SAMPLE_SIZE)
                results = [peer_result(label, frame, score, options.seconds) for label in options.peers]
                results += [
                    our_result(frame, score, candidates, net, options)
                    for candidates in read_candidates(options.candidates)
                ]
                for label, reached, texts in results:
                    nats = f"{reached - reference:,.1f}" if np.isfinite(reached) else "-"
                    rows.append((name, net, frame.shape[1], score, label, nats, *texts))
    return sheet(f"{size}, {options.seconds:g} s, {options.jobs} threads", columns, rows)


SearchResult = tuple[str, float, tuple[str, str, str]]
"""Label, score in nats, and texts: seconds to the best network, in all, note."""


def peer_result(label: str, frame: pd.DataFrame, score: str, seconds: float) -> SearchResult:
    """Return the score of a peer's network after at most some seconds; nan where there is no network."""
    run = run_peer(label, frame, score, EQUIVALENT_SAMPLE_SIZE, timeout=seconds, returns_best=True)
    if run.edges is None:
        return label, np.nan, ("-", "-", run.note)
    reached = network_score(frame, run.edges, score, EQUIVALENT_SAMPLE_SIZE)
    notes = [run.note, "ended by the limit" if run.seconds >= seconds else ""]
    return label, reached, ("-", f"{run.seconds:.1f}", "; ".join(filter(None, notes)))


def our_result(
    frame: pd.DataFrame, score: str, candidates: int | str | None, seed: int, options: Options
) -> SearchResult:
    """Return the score of our network under the limits of the options."""
    learner = BayesNetLearner(
        density="bins",
        scoring_method=score,
        equivalent_sample_size=EQUIVALENT_SAMPLE_SIZE,
        max_candidates=candidates,
        max_seconds=options.seconds,
        n_jobs=options.jobs,
        random_state=seed,
    )
    _, in_all = timed(learner.fit, frame)
    # the learner counts from the beginning of its search, after the preparation of the table
    to_best = in_all - learner.fit_seconds_ + learner.time_to_best_
    reached = network_score(frame, learner.network_.edges, score, EQUIVALENT_SAMPLE_SIZE)
    seconds = (f"{to_best:.1f}", f"{in_all:.1f}")
    return f"ours, {learner.n_candidate_pairs_} pairs", reached, (*seconds, "")


SEARCHES: dict[str, tuple[type[Any], dict[str, Any]]] = {
    "learn": (BayesNetLearner, {}),
    "learn-bins": (BayesNetLearner, {"curves": "none", "density": "bins"}),
    "front": (ParetoBayesNetLearner, {}),
    "front-expert": (
        ParetoBayesNetLearner,
        {"expert": ExpertNetwork.from_edges([("c0", "c1"), ("c1", "c2")])},
    ),
}
"""Searches of `scale-threads` by name: a learner and its options."""


def numbers_of_threads(n_cores: int) -> tuple[int, ...]:
    """Return 1, 2, 4 ... threads for as many cores as there are."""
    return tuple(2**k for k in range(n_cores.bit_length()))


def threads(options: Options) -> Sheet:
    """Return the seconds of searches of the same evaluations with several numbers of threads, in turn.

    Every fourth column of a random graph of lines and waves is discrete. The result must be the same.
    """
    frame = _lines_and_waves(options.rows, options.variables)
    common: dict[str, Any] = {"max_seconds": None, "patience": None, "random_state": 1}
    rows: list[tuple[object, ...]] = []
    for name in options.searches:
        kind, given = SEARCHES[name]
        seconds: dict[int, list[tuple[float, float]]] = {n_jobs: [] for n_jobs in options.jobs}
        results = set()
        for turn in range(options.repeats + 1):
            for n_jobs, of_jobs in seconds.items():
                learner = kind(**common, **given, n_jobs=n_jobs, max_evaluations=options.evaluations)
                began = process_time()
                _, in_all = timed(learner.fit, frame)
                # the first one makes the process warm
                of_jobs += [(in_all, process_time() - began)] if turn else []
                results.add(learner.score_ if kind is BayesNetLearner else learner.front_.run_hash)
        is_same = "same" if len(results) == 1 else "DIFFERENT"
        medians = {n_jobs: np.median(of_jobs, axis=0).tolist() for n_jobs, of_jobs in seconds.items()}
        first, _ = medians[options.jobs[0]]
        for n_jobs, (wall, processor) in medians.items():
            numbers = (f"{wall:.2f}", f"{processor:.2f}", f"{first / wall:.2f}")
            rows.append((name, n_jobs, *numbers, is_same))
    size = f"{options.rows:,} rows, {options.variables} columns, {options.evaluations:,} evaluations"
    columns = ("", "threads", "s", "s of processors", "speed-up", "result")
    return sheet(f"{size}, medians of {options.repeats}", columns, rows)


def _lines_and_waves(n_rows: int, n_columns: int) -> pd.DataFrame:
    """Return columns that are sums of lines and sines of two earlier ones, every fourth one cut at 0."""
    generator = np.random.default_rng(1)
    values = [generator.normal(size=n_rows)]
    for child in range(1, n_columns):
        parents = generator.choice(child, size=min(child, 2), replace=False).tolist()
        means = [np.sin(values[p]) if (p + child) % 2 else 0.8 * values[p] for p in parents]
        values.append(np.sum(means, axis=0) + 0.4 * generator.normal(size=n_rows))
    frame = pd.DataFrame(np.array(values).T, columns=[f"c{i}" for i in range(n_columns)])
    return frame.assign(**{f"c{i}": np.where(frame[f"c{i}"] > 0, "p", "n") for i in range(0, n_columns, 4)})


# what a phase is called by its first word
PHASES = {
    "Reading": "reading",
    "Preparing": "search",
    "Choosing": "shown cuts",
    "Judging": "edges",
    "Fitting": "densities",
    "Counting": "all rows",
    "Improving": "all rows",
    "Comparing": "checks",
}
N_JUDGED = 2_000


class _Stopwatch:
    """Processor seconds of the phases of a fit, which it is shown like a live table."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(PHASES.values(), 0.0)
        self._phase, self._began = "reading", process_time()

    def begin(self, running: str, *_then: str) -> None:
        now = process_time()
        self.seconds[self._phase] += now - self._began
        self._phase, self._began = PHASES[running.split()[0]], now

    def begin_part(self, _running: str, _n_pieces: int = 0) -> Callable[[], None]:
        """Return what to call for each piece of a part of the phase, whose seconds are those of the phase."""
        return _note_nothing


def _note_nothing() -> None:
    pass


WITHIN_NATS = 0.02
"""Nats of a held-out row by which a fit is as good as the best one of its size."""


class Cost(NamedTuple):
    """What fits of one size cost.

    Attributes
    ----------
    seconds : dict
        Processor seconds of a default fit by phase.
    density : float
        Log density of a row that the default fit did not learn from, in nats.
    limited : list of (float, float, float)
        Limit, processor seconds and log density of every fit with a limit.
    """

    seconds: dict[str, float]
    density: float
    limited: list[tuple[float, float, float]]

    def soonest(self) -> tuple[float, str]:
        """Return the seconds of the fastest fit that is nearly as good as the best one, and what limit it had."""
        runs = [(sum(self.seconds.values()), self.density, "no limit")]
        runs += [(seconds, density, f"limit {limit:g}") for limit, seconds, density in self.limited]
        best = max(density for _, density, _ in runs)
        return min((seconds, name) for seconds, density, name in runs if density >= best - WITHIN_NATS)


def cost_of_size(n_rows: int, n_columns: int, limits: list[float]) -> Cost:
    """Return the cost of a default fit, and of fits with limits of some seconds.

    A fit of few rows and as many columns comes first: it loads code, and compiles kernels.
    """
    frame = _lines_and_waves(n_rows + N_JUDGED, n_columns)
    rows, others = frame.iloc[:n_rows], frame.iloc[n_rows:]
    BayesNetLearner(max_evaluations=200, random_state=1).fit(frame.iloc[:150])
    stopwatch: Any = _Stopwatch()
    with showing(stopwatch):
        network = BayesNetLearner(random_state=1).fit(rows).network_
    stopwatch.begin("Comparing")
    limited = []
    for limit in limits:
        with warnings.catch_warnings():
            # what a limit cut short
            warnings.simplefilter("ignore", GomeaBnWarning)
            began = process_time()
            of_limit = BayesNetLearner(max_seconds=limit, random_state=1).fit(rows).network_
        limited.append((limit, process_time() - began, of_limit.score(others)))
    return Cost(stopwatch.seconds, network.score(others), limited)


def cost(options: Options) -> Sheet:
    """Return the processor seconds of fits by size: by phase, and to a density near the best; and those of peers."""
    rows: list[tuple[object, ...]] = []
    for size in options.sizes:
        n_rows, n_columns = size_of(size)
        of_size = in_new_process(cost_of_size, n_rows, n_columns, [float(limit) for limit in options.limits])
        frame = _lines_and_waves(n_rows, n_columns)
        _, discrete = quantile_bins(read_table(frame), 5)
        of_peers = []
        for label in options.peers:
            run = run_peer(label, discrete, "bic", 1.0, timeout=options.peer_seconds)
            of_peers.append(run.note or "no edges" if run.edges is None else f"{run.seconds:.1f}")
        of_phases = [f"{of_phase:.1f}" for of_phase in of_size.seconds.values()]
        in_all, (soonest, name) = sum(of_size.seconds.values()), of_size.soonest()
        of_limits = [f"{density:.3f} ({seconds:.1f} s)" for _, seconds, density in of_size.limited]
        near_best = f"{soonest:.1f} ({name})"
        rows.append(
            (size, near_best, f"{in_all:.1f}", *of_phases, f"{of_size.density:.3f}", *of_limits, *of_peers)
        )
    columns = (
        "rows x columns",
        f"within {WITHIN_NATS:g} nats",
        "all",
        *dict.fromkeys(PHASES.values()),
        "log density/row",
        *(f"limit {limit}" for limit in options.limits),
        *options.peers,
    )
    return sheet("Processor seconds of fits, and wall seconds of peers", columns, rows)


_NETS = {"nets": Option(1, "Number of networks, or of samples of each network.", least=1)}
_SEARCH = {
    "seconds": Option(590.0, "Limit of our search."),
    "jobs": Option(2, "Number of threads of our search."),
    "candidates": Option(
        ("auto",), "max_candidates of the learner: auto, all, or numbers; none for no search."
    ),
}

EXPERIMENTS = (
    tabulated(
        "scale-learn",
        "Many columns: held-out density and edges, ours and pyAgrum's tabu search",
        "Random networks with a given number of edges.",
        learn,
        {
            **_NETS,
            **_SEARCH,
            "seed": Option(0, "Seed from which networks are tried."),
            "variables": Option(100, "Number of variables.", least=2),
            "edges": Option(150, "Number of edges.", least=1),
            "rows": Option(5_000, "Number of rows.", least=1),
            "peer_seconds": Option(3600.0, "Limit of the peer."),
            "discretizer": Option("equal-frequency", "Discretizer of the learner."),
            "without_peer": Option(False, "Leave the peer out."),
        },
        prepare=compile_kernels,
    ),
    tabulated(
        "scale-screening",
        "Scores of searches with fewer and more candidate pairs, and of peers in equal seconds",
        "Published networks of many columns.",
        screening,
        {
            **_NETS,
            **_SEARCH,
            "networks": Option(("hailfinder", "hepar2", "win95pts", "andes"), "Published networks."),
            "sample_rows": Option(1_000, "Number of rows.", least=1),
            "score": Option(("bdeu",), "Scores.", choices=("bdeu", "bic")),
            "peers": Option(("pyAgrum tabu",), "Peers by their labels in peers.py."),
        },
        split=("networks",),
        prepare=compile_kernels,
    ),
    tabulated(
        "scale-threads",
        "Seconds of searches with 1, 2, 4 ... threads, at equal evaluations",
        "ParetoBayesNetLearner and BayesNetLearner.",
        threads,
        {
            "jobs": Option(
                numbers_of_threads(os.cpu_count() or 1),
                "Numbers of threads, which the first is compared with.",
                least=1,
            ),
            "rows": Option(2_000, "Number of rows.", least=1),
            "variables": Option(12, "Number of columns.", least=3),
            "evaluations": Option(60_000, "Evaluations of a search.", least=1),
            "repeats": Option(3, "Number of timed searches.", least=1),
            "searches": Option(tuple(SEARCHES), "Searches.", choices=tuple(SEARCHES)),
        },
        split=("searches",),
        prepare=compile_front_kernels,
    ),
    tabulated(
        "scale-cost",
        "Processor seconds of fits by size and phase, and to a density near the best, next to peers",
        "Random graphs of lines and waves, every fourth column discrete.",
        cost,
        {
            "sizes": Option(
                ("200x10", "2000x10", "20000x10", "2000x5", "2000x20", "2000x40"), "Rows x columns."
            ),
            "limits": Option(("1", "2", "5", "10"), "Limits of further fits, in seconds."),
            "peers": Option(
                ("pyAgrum tabu", "pybnesian hill climbing", "XGES, score set"),
                "Peers by their labels in peers.py.",
            ),
            "peer_seconds": Option(60.0, "Limit of a peer."),
        },
        split=("sizes",),
    ),
)
