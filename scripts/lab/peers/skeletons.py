"""The experiment `shapes-skeletons`: F1 of learned graphs on several laws, ours and those of other libraries."""

import json
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from graphlib import TopologicalSorter
from math import isfinite

import numpy as np
import pandas as pd

from gomea_bn import BayesNetLearner, ExpertKnowledge
from lab.methods.skeleton_peers import essential_edges, peer_skeletons
from lab.published.tables import published_model
from lab.runner.experiment import Experiment, Option, Options, Row, Task, records
from lab.runner.printing import mean_difference, with_error
from lab.runner.report import Record, Report, Sheet, group_by, sheet
from lab.runner.runs import VARIANTS, learner_variants, make_learner, warm_up
from lab.samples.structural_laws import LAWS, SALT, Sample

PEERS = "peers"


def gaussian_network(n_rows: int, seed: int, name: str) -> Sample:
    """Return rows of a network of genes or plants of the bnlearn repository, its columns in an order of the seed.

    A variable is its intercept plus a coefficient times every parent plus normal noise, whose variance the file has.
    """
    generator = np.random.default_rng([SALT, seed, *name.encode()])
    model = json.loads(published_model(f"{name}.json").read_text("utf-8"))
    values: dict[str, np.ndarray] = {}
    for child in TopologicalSorter(
        {node: of["parents"] for node, of in model["cpds"].items()}
    ).static_order():
        of_child = model["cpds"][child]
        (deviation,) = np.sqrt(of_child["variance"])
        values[child] = deviation * generator.standard_normal(n_rows)
        for term, (coefficient,) in of_child["coefficients"].items():
            values[child] += coefficient * (1.0 if term == "(Intercept)" else values[term])
    names = generator.permutation(model["nodes"]).tolist()
    edges = [(parent, child) for parent, child in model["arcs"]]
    return Sample(pd.DataFrame({k: values[k] for k in names}), dict.fromkeys(names, "continuous"), edges)


SAMPLES: dict[str, Callable[[int, int], Sample]] = {
    **LAWS,
    **{
        name.upper(): partial(gaussian_network, name=name)
        for name in ("ecoli70", "magic-niab", "magic-irri", "arth150")
    },
}
"""Functions of the number of rows and a seed, by the name of a law or of a published network."""


def f1_of_skeleton(true_edges: Iterable[tuple[str, str]], edges: Iterable[tuple[str, str]]) -> float:
    """Return the F1 of learned adjacencies: 2 TP / (number of true ones + number of learned ones).

    Directions are ignored, and an edge in both directions counts once. Two graphs without edges have an F1 of 1.
    """
    true_pairs = {frozenset(edge) for edge in true_edges}
    pairs = {frozenset(edge) for edge in edges}
    total = len(true_pairs) + len(pairs)
    return 2.0 * len(true_pairs & pairs) / total if total else 1.0


def f1_of_cpdag(true_edges: Iterable[tuple[str, str]], edges: Iterable[tuple[str, str]]) -> float:
    """Return the F1 of the edges of two completed partially directed graphs.

    An edge without a direction stands in both directions, and is right if the true one has no direction either.
    """
    graphs = [set(true_edges), set(edges)]
    true_marks, marks = (
        {(a, b, (b, a) in graph) for a, b in graph if (b, a) not in graph or a < b} for graph in graphs
    )
    total = len(true_marks) + len(marks)
    return 2.0 * len(true_marks & marks) / total if total else 1.0


def skeletons(options: Options) -> list[Task]:
    """Return a task per sample and variant, and then one per sample for the peers."""
    samples = [
        {"law": law, "rows": n_rows, "graph": graph}
        for law in options.laws
        for n_rows in options.rows
        for graph in range(options.first_seed, options.first_seed + options.graphs)
    ]
    tasks: list[Task] = [
        {
            **sample,
            "method": name,
            "seconds": options.seconds,
            "options": of_variant,
            "against_truth": options.against_truth,
        }
        for sample in samples
        for name, of_variant in learner_variants(options).items()
    ]
    if options.without_peers:
        return tasks
    return tasks + [{**sample, "method": PEERS, "timeout": options.timeout} for sample in samples]


def skeletons_report(options: Options, rows: Sequence[Row]) -> Report:
    """Return one table per law, a row for every method."""
    setting = (
        f"graphs of seeds {options.first_seed} to {options.first_seed + options.graphs - 1}, "
        f"{options.seconds:g} s a run of ours: " + ", ".join([options.discretizer, *options.option])
    )
    return Report(
        tuple(_sheet_of_law(law, records(group), setting) for (law,), group in group_by(rows, "law").items())
    )


def one_sample(task: Task) -> Record:
    """Return the results of one variant of ours or of every peer on one sample, by method."""
    return peers(task) if task["method"] == PEERS else ours(task)


def ours(task: Task) -> Record:
    """Return the F1 of one variant of the learner on one sample, its seconds and its number of edges."""
    sample = SAMPLES[task["law"]](task["rows"], task["graph"])
    warm_up(task["options"])
    limits = {"n_jobs": 1, "random_state": task["graph"], "max_seconds": task["seconds"]}
    learner = make_learner(task["options"], kinds=sample.kinds, **limits).fit(sample.frame)
    names = list(map(str, sample.frame))
    edges = learner.network_.edges
    excess = None
    if task["against_truth"]:
        pairs = [(a, b) for a in names for b in names if a != b and (a, b) not in sample.edges]
        rules = ExpertKnowledge(required_edges=sample.edges, forbidden_edges=pairs)
        other = make_learner(task["options"], kinds=sample.kinds, knowledge=rules, **limits).fit(sample.frame)
        excess = _score_found(learner) - other.score_
    result = {
        "f1": f1_of_skeleton(sample.edges, edges),
        "cpdag": f1_of_cpdag(essential_edges(names, sample.edges), essential_edges(names, edges)),
        "edges": len(edges),
        "true edges": len(sample.edges),
        "seconds": learner.fit_seconds_,
        "excess": excess,
        "note": "",
    }
    return {"methods": {task["method"]: result}}


def _score_found(learner: BayesNetLearner) -> float:
    """Return the score of the best network, before edges that left-out rows do not need were left out."""
    left_out = learner.network_.metadata.get("left_out_edges", {})
    return float(left_out.get("best_score", learner.score_))


def peers(task: Task) -> Record:
    """Return the F1 of every peer on one sample; a peer without a result has a note."""
    sample = SAMPLES[task["law"]](task["rows"], task["graph"])
    true_edges = essential_edges(map(str, sample.frame), sample.edges)
    results = {}
    for peer in peer_skeletons(sample.frame, task["timeout"]):
        results[peer.label] = {
            "f1": None if peer.edges is None else f1_of_skeleton(true_edges, peer.edges),
            "cpdag": None if peer.edges is None else f1_of_cpdag(true_edges, peer.edges),
            "edges": None if peer.edges is None else len({frozenset(edge) for edge in peer.edges}),
            "true edges": len(sample.edges),
            "seconds": peer.seconds if isfinite(peer.seconds) else None,
            "note": peer.note,
        }
    return {"methods": results}


def _sheet_of_law(law: str, records: list[Record], setting: str) -> Sheet:
    """Return mean F1 and seconds by method and number of rows, and why peers have no result."""
    cells: dict[tuple[str, int], dict[int, Record]] = {}
    for record in records:
        task = record["task"]
        for method, result in record["methods"].items():
            cells.setdefault((method, task["rows"]), {})[task["graph"]] = result
    methods = list(dict.fromkeys(method for method, _ in cells))
    sizes = list(dict.fromkeys(n_rows for _, n_rows in cells))
    columns: list[str] = []
    for n_rows in sizes:
        columns += [f"F1, {n_rows:,} rows", f"minus {methods[0]}", "F1 of CPDAG", "edges", "seconds"]
    rows = []
    for method in methods:
        texts: list[str] = [method]
        for n_rows in sizes:
            texts += _cell(cells.get((method, n_rows), {}), cells.get((methods[0], n_rows), {}))
        rows.append(texts)
    n_true = np.mean([result["true edges"] for result in next(iter(cells.values())).values()])
    notes = {
        f"{method}, {n_rows:,} rows: {result['note']}": None
        for (method, n_rows), by_graph in cells.items()
        for result in by_graph.values()
        if result["note"]
    }
    for (method, n_rows), by_graph in cells.items():
        excess = [result["excess"] for result in by_graph.values() if result.get("excess") is not None]
        if excess:
            text = (
                f"{np.median(excess):+.1f} nats in the median, from {min(excess):+.1f} to {max(excess):+.1f}"
            )
            notes[f"{method}, {n_rows:,} rows: score minus that of the true graph {text}."] = None
    heading = f"Skeletons, law {law!r}, {n_true:.1f} true edges, {setting}"
    return sheet(heading, ("method", *columns), rows, "\n".join(notes))


def _cell(results: dict[int, Record], first: dict[int, Record]) -> list[str]:
    """Return mean F1, its difference from the first method on the same graphs, F1 of CPDAGs, edges and seconds."""
    ended = {graph: result for graph, result in results.items() if result["f1"] is not None}
    if not ended:
        return ["-"] * 5
    missing = "" if len(ended) == len(results) else f" ({len(ended)} of {len(results)})"
    f1 = with_error([result["f1"] for result in ended.values()], 2) + missing
    change = "-"
    if results is not first:
        both = [graph for graph in ended if graph in first]
        interval = mean_difference(
            [ended[graph]["f1"] for graph in both], [first[graph]["f1"] for graph in both]
        )
        change = "{:+.2f} [{:+.2f}, {:+.2f}]".format(*interval)
    edges = np.mean([result["edges"] for result in ended.values()])
    seconds = np.mean([result["seconds"] for result in ended.values()])
    of_cpdag = with_error([result["cpdag"] for result in ended.values()], 2)
    return [f1, change, of_cpdag, f"{edges:.1f}", f"{seconds:.2f}"]


EXPERIMENTS = (
    Experiment(
        name="shapes-skeletons",
        title="F1 of the skeletons and CPDAGs of random graphs, ours and other libraries'",
        source="Ten columns; see structural_laws.py for the laws and skeleton_peers.py for the libraries. Differences "
        "from the first method have 95 % bootstrap intervals over the graphs, and edges of CPDAGs count with their "
        "directions.",
        tasks=skeletons,
        measure=one_sample,
        report=skeletons_report,
        options={
            "laws": Option(
                tuple(LAWS), "Laws of the rows, or published Gaussian networks.", choices=sorted(SAMPLES)
            ),
            "rows": Option((500, 2_000, 10_000), "Numbers of rows.", least=1),
            "graphs": Option(10, "Number of random graphs, or of samples of a published network.", least=1),
            "timeout": Option(60.0, "Seconds after which a library is stopped."),
            "seconds": Option(8.0, "Deadline of a run."),
            "first_seed": Option(0, "Seed of the first graph."),
            "without_peers": Option(False, "Leave other libraries out."),
            "against_truth": Option(
                False, "Also learn with the true graph required, and compare the scores."
            ),
            **VARIANTS,
        },
        # peers have a process of their own, which processes of a pool may not start
        in_turn=True,
    ),
)
