"""The part `skeletons` of shapes.py: F1 of learned skeletons on three laws, ours and those of other libraries."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

import numpy as np
from harness.printing import mean_difference, print_table, with_error
from harness.runs import make_learner, resume_tasks, warm_up
from harness.structural_laws import LAWS
from methods.skeleton_peers import peer_skeletons

__all__ = ["f1_of_skeleton", "skeletons"]

PEERS = "peers"

Task = dict[str, Any]
Record = dict[str, Any]


def f1_of_skeleton(true_edges: Iterable[tuple[str, str]], edges: Iterable[tuple[str, str]]) -> float:
    """Return the F1 of learned adjacencies: 2 TP / (number of true ones + number of learned ones).

    Directions are ignored, and an edge in both directions counts once. Two graphs without edges have an F1 of 1.
    """
    true_pairs = {frozenset(edge) for edge in true_edges}
    pairs = {frozenset(edge) for edge in edges}
    total = len(true_pairs) + len(pairs)
    return 2.0 * len(true_pairs & pairs) / total if total else 1.0


def skeletons(options: argparse.Namespace) -> None:
    """Print one table per law, a row for every method."""
    graphs = range(options.first_seed, options.first_seed + options.graphs)
    samples = [
        {"law": law, "rows": n_rows, "graph": graph}
        for law in options.laws
        for n_rows in options.rows
        for graph in graphs
    ]
    tasks: list[Task] = [
        {**sample, "method": name, "seconds": options.seconds, "options": of_variant}
        for sample in samples
        for name, of_variant in options.variants.items()
    ]
    for of_variant in options.variants.values():
        warm_up(of_variant)
    records = resume_tasks(ours, tasks, options.results, options.workers)
    if not options.without_peers:
        tasks = [{**sample, "method": PEERS, "timeout": options.timeout} for sample in samples]
        records += resume_tasks(peers, tasks, options.results, options.workers)
    setting = (
        f"graphs of seeds {graphs.start} to {graphs.stop - 1}, {options.seconds:g} s a run of ours: "
        + ", ".join([options.discretizer, *options.option])
    )
    for law in options.laws:
        _print_law(law, options.rows, [record for record in records if record["task"]["law"] == law], setting)


def ours(task: Task) -> Record:
    """Return the F1 of one variant of the learner on one sample, its seconds and its number of edges."""
    sample = LAWS[task["law"]](task["rows"], task["graph"])
    warm_up(task["options"])
    fixed = {
        "kinds": sample.kinds,
        "n_jobs": 1,
        "random_state": task["graph"],
        "max_seconds": task["seconds"],
    }
    learner = make_learner(task["options"], **fixed).fit(sample.frame)
    edges = learner.network_.edges
    result = {
        "f1": f1_of_skeleton(sample.edges, edges),
        "edges": len(edges),
        "true edges": len(sample.edges),
        "seconds": learner.fit_seconds_,
        "note": "",
    }
    return {"methods": {task["method"]: result}}


def peers(task: Task) -> Record:
    """Return the F1 of every peer on one sample; a peer without a result has a note."""
    sample = LAWS[task["law"]](task["rows"], task["graph"])
    results = {}
    for peer in peer_skeletons(sample.frame, task["timeout"]):
        results[peer.label] = {
            "f1": None if peer.edges is None else f1_of_skeleton(sample.edges, peer.edges),
            "edges": None if peer.edges is None else len({frozenset(edge) for edge in peer.edges}),
            "true edges": len(sample.edges),
            "seconds": peer.seconds,
            "note": peer.note,
        }
    return {"methods": results}


def _print_law(law: str, sizes: list[int], records: list[Record], setting: str) -> None:
    """Print mean F1 and seconds by method and number of rows, and why peers have no result."""
    cells: dict[tuple[str, int], dict[int, Record]] = {}
    for record in records:
        task = record["task"]
        for method, result in record["methods"].items():
            cells.setdefault((method, task["rows"]), {})[task["graph"]] = result
    methods = list(dict.fromkeys(method for method, _ in cells))
    columns: list[str] = []
    for n_rows in sizes:
        columns += [f"F1, {n_rows:,} rows", f"minus {methods[0]}", "edges", "seconds"]
    rows = []
    for method in methods:
        texts: list[str] = [method]
        for n_rows in sizes:
            texts += _cell(cells[method, n_rows], cells[methods[0], n_rows])
        rows.append(texts)
    n_true = np.mean([result["true edges"] for result in cells[methods[0], sizes[0]].values()])
    print_table(f"Skeletons, law {law!r}, {n_true:.1f} true edges, {setting}", ("method", *columns), rows)
    notes = {
        f"{method}, {n_rows:,} rows: {result['note']}": None
        for (method, n_rows), by_graph in cells.items()
        for result in by_graph.values()
        if result["note"]
    }
    for note in notes:
        print(note)


def _cell(results: dict[int, Record], first: dict[int, Record]) -> list[str]:
    """Return mean F1, its difference from the first method on the same graphs, edges and seconds as text."""
    ended = {graph: result for graph, result in results.items() if result["f1"] is not None}
    if not ended:
        return ["-"] * 4
    missing = "" if len(ended) == len(results) else f" ({len(ended)} of {len(results)})"
    f1 = with_error([result["f1"] for result in ended.values()], 2) + missing
    change = "-"
    if results is not first:
        of_first = [first[graph]["f1"] for graph in ended]
        interval = mean_difference([result["f1"] for result in ended.values()], of_first)
        change = "{:+.2f} [{:+.2f}, {:+.2f}]".format(*interval)
    edges = np.mean([result["edges"] for result in ended.values()])
    seconds = np.mean([result["seconds"] for result in ended.values()])
    return [f1, change, f"{edges:.1f}", f"{seconds:.2f}"]
