"""Auto-MPG with its published graph: our `BayesianDiscretizer` beside the port of the same paper in bnlearn."""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from _bench_discretizers_tables import auto_mpg
from _side_by_side import print_rows

from gomea_bn.discretization import BayesianDiscretizer

FAMILIES = ("B", "BC", "CE", "EA", "AECG", "CD", "DF", "H")
"""Parents and then the child of every column, parents before children."""
ORDER = "FDAEC"
PUBLISHED = {
    "A": "15.25 17.65 20.9 25.65 28.9",
    "C": "70.5 93.5 109 159.5 259 284.5",
    "D": "71.5 99 127",
    "E": "2115 2480.5 2959.5 3657.5",
    "F": "12.35 13.75 16.05 22.85",
}
"""Inner cuts of Chen, Wheeler & Kochenderfer 2017."""


def ours(frame: Any, kinds: dict[str, str], cycles: int) -> tuple[dict[str, Any], float, int]:
    """Return our cuts, the median seconds of seven whole fits after a first one, and the passes needed."""
    edges = [(parent, family[-1]) for family in FAMILIES for parent in family[:-1]]
    method = BayesianDiscretizer(order=list(ORDER), max_cycles=cycles, kinds=kinds)
    found = method.fit(frame, network=edges)
    times = []
    for _ in range(7):
        began = perf_counter()
        method.fit(frame, network=edges)
        times.append(perf_counter() - began)
    return found.cut_points_, statistics.median(times), found.n_cycles_


def port(frame: Any, continuous: str, options: argparse.Namespace) -> dict[str, Any]:
    """Return what the port gives in a process of its own."""
    place = {name: k for k, name in enumerate(frame)}
    graph = [place[family] if len(family) == 1 else [place[name] for name in family] for family in FAMILIES]
    problem = {
        "columns": {name: frame[name].tolist() for name in frame},
        "graph": graph,
        "continuous": [place[name] for name in continuous],
        "cycles": options.cycles,
    }
    run = subprocess.run(
        [options.peer_python, str(Path(__file__).with_name("_bnlearn_port.py"))],
        input=json.dumps(problem),
        capture_output=True,
        text=True,
    )
    if run.returncode:
        raise SystemExit(
            f"{options.peer_python} cannot run bnlearn's port; install the package bnlearn, or name another "
            f"Python with --peer-python:\n{run.stderr[-2000:]}"
        )
    answer: dict[str, Any] = json.loads(run.stdout)
    return answer


def main(options: argparse.Namespace) -> None:
    """Print cuts, seconds and their ratio."""
    frame, discrete, _ = auto_mpg()
    frame = frame.assign(**{name: frame[name].astype(int) for name in discrete})
    kinds = {name: "discrete" if name in discrete else "continuous" for name in frame}
    cuts, seconds, passes = ours(frame, kinds, options.cycles)
    peer = port(frame, "".join(cuts), options)
    theirs = {name: np.array(own[1:-1]) for name, own in zip(cuts, peer["edges"], strict=True)}
    print(
        f"\nAuto-MPG, {len(frame)} rows, published graph, at most {options.cycles} passes ({passes} needed)"
    )
    rows = []
    for name, own in cuts.items():
        published = np.array(PUBLISHED[name].split(), np.float64)
        rows.append([name, listed(own), same(own, theirs[name]), same(own, published)])
    print_rows(("column", "our cuts", "bnlearn's", "published"), rows)
    print(
        f"ours {seconds:.4f} s (whole fit), bnlearn {peer['version']} {peer['seconds']:.1f} s: "
        f"{peer['seconds'] / seconds:,.0f}x"
    )


def listed(cuts: np.ndarray) -> str:
    """Return cuts as text."""
    return " ".join(f"{cut:g}" for cut in cuts)


def same(own: np.ndarray, other: np.ndarray) -> str:
    """Return "the same", or the other cuts."""
    equal = len(own) == len(other) and np.allclose(own, other, rtol=1e-12)
    return "the same" if equal else listed(other)
