"""Parts of the search engine removed or replaced, and pyAgrum's learners, on published networks with BDeu."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from operator import methodcaller
from typing import Any

import pandas as pd

from gomea_bn.algorithms.gomea import GOMEA
from gomea_bn.errors import GomeaBnError
from gomea_bn.learning.learner import BayesNetLearner
from gomea_bn.learning.warm_up import compile_kernels
from gomea_bn.metrics.distances import shd
from lab.published.algorithms import learning_seed
from lab.published.judge import Edge, network_score
from lab.published.tables import published_network, varying_sample
from lab.runner.experiment import Experiment, Measured, Plan, Row, Task
from lab.runner.report import (
    Figure,
    Panel,
    Report,
    by_net,
    figures_of,
    group_by,
    median_text,
    nested,
    rank_tests,
    summary_sheet,
    values_of,
)
from lab.runner.runs import timed
from lab.runner.statistics import Finding, is_even, is_lower, number, summarise

NETWORKS = ("asia", "insurance", "alarm", "hepar2")
EQUIVALENT_SAMPLE_SIZE = 10.0
BUDGET = 1_000_000
"""Number of evaluations of a run of BN-GOMEA."""
PEERS = {"pyAgrum-hill-climbing": "useGreedyHillClimbing", "pyAgrum-tabu": "useLocalSearchWithTabuList"}
LINKAGE = {
    "tree": GOMEA(refine="none"),
    "tree-mi": GOMEA("tree-mi", refine="none"),
    "tree-corrected": GOMEA("tree-corrected", refine="none"),
    "univariate": GOMEA("univariate", refine="none"),
    "no-local-search": GOMEA(local_search=False, refine="none"),
    "no-forced-improvement": GOMEA(forced_improvement=False, refine="none"),
}
"""The default (tree, similarity NMI, filtered), and settings with one change of it each."""
SCHEMES = {
    "ims": GOMEA(refine="none"),
    "ims-sub2": GOMEA(subgenerations=2, refine="none"),
    "ims-sub8": GOMEA(subgenerations=8, refine="none"),
    "ims-first16": GOMEA(base_population=16, refine="none"),
    "ims-growth4": GOMEA(growth=4, refine="none"),
    "single-32": GOMEA(base_population=32, max_population_size=32, refine="none"),
    "single-128": GOMEA(base_population=128, max_population_size=128, refine="none"),
    "single-512": GOMEA(base_population=512, max_population_size=512, refine="none"),
}
"""The default (first population 2, growth 2, 4 subgenerations), settings with one change of it each, and single
populations."""
SETTINGS = {**LINKAGE, **SCHEMES}
NOTE = (
    f"BDeu with an equivalent sample size of {EQUIVALENT_SAMPLE_SIZE:g}; one plain scorer judges every graph. Values "
    "are its score minus that of the generating network on the same rows in nats; higher is better. Columns with a "
    "single value are left out for all algorithms. pyAgrum's learners end by themselves within a second, "
    "without restarts."
)


EASY = "both reach the same network on every sample"
GAINS = "it gains within the same number of evaluations here too"


def measure(task: Task) -> Measured:
    """Return the score of one algorithm's network minus that of the generating network, and its evaluations."""
    truth = published_network(task["network"])
    frame = varying_sample(truth, task["rows"], task["net"])
    names = list(map(str, frame.columns))
    true_edges = [(parent, child) for parent, child in truth.edges if parent in names and child in names]
    counts: dict[str, Any] = {}
    if task["algorithm"] in PEERS:
        search = PEERS[task["algorithm"]]
        edges, in_all = timed(pyagrum_edges, search, frame, "bdeu", EQUIVALENT_SAMPLE_SIZE)
        seconds = {"search": in_all}
    else:
        compile_kernels()
        learner = BayesNetLearner(
            scoring_method="bdeu",
            equivalent_sample_size=EQUIVALENT_SAMPLE_SIZE,
            algorithm=SETTINGS[task["algorithm"]],
            max_seconds=task["seconds"],
            max_evaluations=task["evaluations"],
            n_jobs=1,
            random_state=learning_seed(task["net"]),
            density="bins",
        ).fit(frame)
        edges = learner.network_.edges
        counts = {
            "n_eval": learner.n_eval_,
            "n_eval_at_best": learner.history_[-1].n_eval,
            "stopped_by": learner.stopped_by_,
        }
        seconds = {"search": learner.fit_seconds_, "to_best": learner.time_to_best_}
    reference = network_score(frame, true_edges, "bdeu", EQUIVALENT_SAMPLE_SIZE)
    values = {
        "gain": network_score(frame, edges, "bdeu", EQUIVALENT_SAMPLE_SIZE) - reference,
        "shd": shd(true_edges, edges, names=names),
        "left_out": len(truth.names) - len(names),
    }
    return Measured({**values, **counts}, seconds)


def pyagrum_edges(
    search: str,
    frame: pd.DataFrame,
    score: str,
    ess: float,
    seconds: float = math.inf,
    most: int | None = None,
) -> list[Edge]:
    """Return the edges that one of pyAgrum's searches reaches, with at most some parents."""
    learner = pyagrum_learner(frame, score, ess)
    if math.isfinite(seconds):
        learner.setMaxTime(seconds)
    if most is not None:
        learner.setMaxIndegree(most)
    getattr(learner, search)()
    return [(learner.nameFromId(a), learner.nameFromId(b)) for a, b in learner.learnDAG().arcs()]


def pyagrum_learner(frame: pd.DataFrame, score: str, ess: float) -> Any:
    """Return pyAgrum's learner of categorical columns for one thread, with the levels that no row has.

    The equivalent sample size of BDeu is set by the score BD with the BDeu prior, since pyAgrum's own BDeu adds the
    weight of the prior to a fixed equivalent sample size of 1.
    """
    try:
        gum: Any = import_module("pyagrum")
    except ImportError:
        raise GomeaBnError('This algorithm needs pyAgrum: pip install "gomea-bn[experiments]".') from None
    gum.setNumberOfThreads(1)
    template = gum.BayesNet()
    for name in frame.columns:
        template.add(gum.LabelizedVariable(name, name, [str(level) for level in frame[name].cat.categories]))
    learner = gum.BNLearner(frame, template)
    learner.setNumberOfThreads(1)
    if score == "bdeu":
        learner.useScoreBD()
        learner.useBDeuPrior(ess)
    else:
        learner.useScoreBIC()
        learner.useNoPrior()
    return learner


def report(_plan: Plan, rows: Sequence[Row], *, findings: Callable[..., list[Finding]]) -> Report:
    """Return scores, evaluations and seconds by network, rows and algorithm."""
    sheets, panels = [], []
    claims: list[Finding] = []
    for (name,), group in group_by(rows, "network").items():
        cells = group_by(group, "rows", "algorithm")
        gains = {key: values_of(cell, "gain") for key, cell in cells.items()}
        more_columns = {
            "evaluations to best": median_text(cells, "n_eval_at_best"),
            "SHD": median_text(cells, "shd"),
            "s": median_text(cells, "search", "seconds"),
        }
        heading = f"Score over the generating network's, {name}"
        sheets.append(summary_sheet(heading, ("rows", "algorithm"), gains, more_columns))
        by_size = nested(gains)
        sheets.append(rank_tests(f"Score, pairs of algorithms, {name}", "rows", by_size))
        y_label = "score over the generating network's"
        panels.append(Panel(name, "rows", y_label, figures_of(gains), log_x=True))
        for size in by_size:
            of_size = {a: by_net(cell, "gain") for (n, a), cell in cells.items() if n == size}
            claims += findings(name, size, of_size, len(group_by(rows, "network", "rows")))
    figure = Figure("scores", "Scores: medians and quartiles over samples", tuple(panels), 2)
    return Report(tuple(sheets), (figure,), tuple(claims), (NOTE,))


def linkage_findings(
    network: str, rows: int, gains: dict[str, dict[int, float]], n_tests: int
) -> list[Finding]:
    """Return the findings on GOMEA against pyAgrum, and on local search, which gains except on INSURANCE."""
    findings = []
    medians = {name: summarise(list(values.values())).median for name, values in gains.items()}
    setting = f"{network}, {rows} rows, medians"
    for peer in PEERS:
        if peer in medians and "tree" in medians:
            worse = is_lower(gains["tree"], gains[peer], n_tests)
            quantity, theirs = f"BDeu, GOMEA against {peer}", f"{number(medians[peer])} (not of the paper)"
            holds = None if worse is None else not worse
            even = gains["tree"] == gains[peer]
            findings.append(
                Finding(quantity, setting, theirs, number(medians["tree"]), holds, same=False, even=even)
            )
    if "no-local-search" in medians and "tree" in medians:
        gain = medians["tree"] - medians["no-local-search"]
        paper = "no gain" if network == "insurance" else "gain"
        worse = is_lower(gains["no-local-search"], gains["tree"], n_tests)
        equal = gains["tree"] == gains["no-local-search"]
        holds = False if equal else worse
        if network == "insurance":
            holds = is_even(gains["no-local-search"], gains["tree"], n_tests)
        reason = EASY if equal else GAINS if worse else ""
        findings.append(
            Finding("BDeu, gain of local search", setting, paper, number(gain), holds, reason=reason)
        )
    return findings


def scheme_findings(
    network: str, rows: int, gains: dict[str, dict[int, float]], n_tests: int
) -> list[Finding]:
    """Return the finding that the multi-start scheme is not below the best single population."""
    medians = {name: summarise(list(values.values())).median for name, values in gains.items()}
    single = {name: value for name, value in medians.items() if name.startswith("single")}
    if "ims" not in medians or not single:
        return []
    best = max(single, key=single.__getitem__)
    ours = f"ims {number(medians['ims'])}, {best} {number(single[best])}"
    quantity = "BDeu, multi-start scheme against the best single population"
    worse = is_lower(gains["ims"], gains[best], n_tests)
    holds = True if medians["ims"] >= medians[best] else None if worse is None else not worse
    return [Finding(quantity, f"{network}, {rows} rows, medians", "not below", ours, holds)]


EXPERIMENTS = (
    Experiment(
        name="linkage",
        title="Parts of the search engine, and pyAgrum's learners",
        source="Orphanou, Thierens & Bosman, Learning Bayesian network structures with GOMEA (GECCO 2018): 20 runs of "
        "a million evaluations.",
        plan=Plan(10, (1_000,), (*LINKAGE, *PEERS), NETWORKS, None, BUDGET),
        full=Plan(20, (500, 1_000, 5_000), (*LINKAGE, *PEERS), NETWORKS, None, BUDGET),
        tasks=methodcaller("tasks", "network", "rows", "algorithm"),
        measure=measure,
        report=partial(report, findings=linkage_findings),
        least_size=10,
        prepare=compile_kernels,
    ),
    Experiment(
        name="ims",
        title="The interleaved multi-start scheme, and single populations",
        source="Dushatskiy et al., Parameterless gene-pool optimal mixing evolutionary algorithms (2021).",
        plan=Plan(6, (1_000,), tuple(SCHEMES), ("asia", "insurance", "alarm"), 4.0),
        full=Plan(20, (500, 1_000, 5_000), tuple(SCHEMES), NETWORKS, 60.0),
        tasks=methodcaller("tasks", "network", "rows", "algorithm"),
        measure=measure,
        report=partial(report, findings=scheme_findings),
        least_size=10,
        prepare=compile_kernels,
    ),
)
