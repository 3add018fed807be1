"""Small runs with fixed seeds and evaluation counts, and a digest of what each of them returns.

Run as a script it prints the digests of the installed version, to be compared with `test_recorded_results.py`.
"""

import hashlib
import json
import re
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from front_checks import PUBLISHED_FRONT

from gomea_bn import (
    GOMEA,
    MOGOMEA,
    BayesNetEnsemble,
    BayesNetLearner,
    ExpertKnowledge,
    ExpertNetwork,
    LinkageTree,
    ParetoBayesNetLearner,
    optimise,
    refine_boundaries,
    review_page,
    write_front,
)
from gomea_bn.discretization import DISCRETIZERS, K2, LDBN, MDLNetwork, Tabu, discretizer
from gomea_bn.problems import LOTZ, MaxCut, Trap, rosenbrock

# results with fitted shapes may differ in the last bits between processors, which decides between networks that tie
PUBLISHED: dict[str, Any] = {"shape": "uniform", "max_bins": 15, "max_indegree": 6, "density": "bins"}
"""Options that repeat the results of versions without shapes and conditionals."""


def table(n_rows: int = 240) -> pd.DataFrame:
    """Return four continuous, one logical and one categorical column that depend on each other."""
    rng = np.random.default_rng(2024)
    group = rng.integers(3, size=n_rows)
    a = rng.normal(group * 2.0, 1.0)
    b = np.exp(0.4 * a + rng.normal(scale=0.3, size=n_rows))
    c = rng.uniform(-1, 1, n_rows)
    d = np.where(c > 0, a, -a) + rng.normal(scale=0.5, size=n_rows)
    flag = rng.random(n_rows) < 1 / (1 + np.exp(-d))
    frame = pd.DataFrame({"a": a, "b": b, "c": c, "d": d}).round(4)
    frame["group"] = pd.Categorical.from_codes(group, pd.Index(["low", "middle", "high"]))
    frame["flag"] = flag
    return frame


_NUMBER = re.compile(r"\d+\.\d+(?:e[-+]?\d+)?")


def digest(value: Any) -> str:
    """Return a digest of nested results; numbers, also those in texts, count with nine significant digits."""
    return hashlib.sha256(json.dumps(_plain(value), sort_keys=True).encode()).hexdigest()[:16]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return [list(value.shape), [_plain(item) for item in value.ravel().tolist()]]
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (float, np.floating)):
        return f"{float(value):.9g}"
    if isinstance(value, (np.integer, np.bool_)):
        return value.item()
    if isinstance(value, str):
        # processors differ in the last digits of logarithms
        return _NUMBER.sub(lambda number: f"{float(number[0]):.9g}", value)
    return value


def _network(network: Any) -> dict[str, Any]:
    return {
        "edges": sorted(network.edges),
        "cuts": dict(network.cut_points),
        "support": {name: list(ends) for name, ends in network.support.items()},
        "tables": dict(network.tables),
    }


def _learned(**options: Any) -> dict[str, Any]:
    learner = BayesNetLearner(
        max_seconds=None, max_evaluations=4_000, random_state=3, **PUBLISHED, **options
    ).fit(table())
    return {
        **_network(learner.network_),
        "score": learner.score_,
        "n_eval": learner.n_eval_,
        "density": learner.score_samples(table()),
        "stopped_by": learner.stopped_by_,
    }


def _with_knowledge() -> dict[str, Any]:
    knowledge = ExpertKnowledge(
        required_edges=[("c", "d")],
        forbidden_edges=[("b", "a")],
        temporal_order=[["group"], ["a", "b"]],
        max_indegree=2,
    )
    return _learned(knowledge=knowledge, cut_points={"c": [-0.5, 0.0, 0.5]})


def _expert() -> ExpertNetwork:
    return ExpertNetwork.from_edges([("group", "a"), ("a", "b"), ("c", "d")], cut_points={"c": [0.0]})


def _several(**options: Any) -> Any:
    options = {**PUBLISHED_FRONT, "shape": "uniform", **options}
    return ParetoBayesNetLearner(max_seconds=None, max_evaluations=3_000, random_state=5, **options).fit(
        table()
    )


def _front(**options: Any) -> dict[str, Any]:
    front = _several(**options).front_
    return {
        "values": front.values,
        "networks": [_network(item.network) for item in front],
        "knee": front.knee().index,
        "frequency": front.edge_frequency().to_csv(float_format="%.9g"),
    }


def _ensemble(**options: Any) -> dict[str, Any]:
    learner = BayesNetLearner(max_seconds=None, max_evaluations=1_000, **PUBLISHED)
    ensemble = BayesNetEnsemble(learner, n_networks=3, random_state=7, **options).fit(table())
    return {
        "networks": [_network(network) for network in ensemble.networks_],
        "density": ensemble.log_density(table()),
        "sample": ensemble.sample(5, random_state=1).to_csv(float_format="%.9g"),
    }


def _result(problem: Any, algorithm: Any, **limits: Any) -> dict[str, Any]:
    result = optimise(problem, algorithm, random_state=11, **limits)
    return {"X": result.X, "F": result.F, "n_eval": result.n_eval, "stopped_by": result.stopped_by}


def _max_cut() -> MaxCut:
    rng = np.random.default_rng(1)
    edges = np.array([(i, j) for i in range(24) for j in range(i) if rng.random() < 0.3])
    return MaxCut(24, edges, rng.integers(1, 10, len(edges)).astype(float))


def _cuts(name: str) -> dict[str, Any]:
    options: dict[str, Any] = {"random_state": 3} if name in {"mgcd"} else {}
    method = discretizer(name, **options)
    frame = table()
    if name == "mdlp":
        method.fit(frame, "group")
    else:
        method.fit(frame, network=[("group", "a"), ("a", "b"), ("c", "d"), ("a", "d"), ("d", "flag")])
    return dict(method.cut_points_)


def _coupled(method: Any) -> dict[str, Any]:
    method.fit(table())
    return _network(method.network_)


def _tabu(method: Any) -> dict[str, Any]:
    frame = table()[["group", "flag"]].assign(
        high=lambda columns: columns["flag"] & (columns["group"] == "high"),
        copy=lambda columns: columns["group"],
    )
    method.fit(frame)
    return {"edges": sorted(method.network_.edges)}


def _refined(method: str, **options: Any) -> dict[str, Any]:
    learner = BayesNetLearner(
        discretizer="equal-frequency", max_seconds=None, max_evaluations=2_000, random_state=3, **PUBLISHED
    ).fit(table())
    result = refine_boundaries(learner.network_, table(), method, max_bins=15, random_state=2, **options)
    return {**_network(result.network), "before": result.score_before, "after": result.score_after}


def _front_files() -> dict[str, Any]:
    front = _several(expert=_expert()).front_
    with tempfile.TemporaryDirectory() as folder:
        paths = write_front(Path(folder) / "front", front, networks=5)
        page = Path(folder) / "page.html"
        review_page(front, page)
        return {
            "names": sorted(path.name for path in paths),
            "table": (Path(folder) / "front" / "front.csv").read_text(),
            "networks": {
                path.name: path.read_text()
                for path in sorted(paths)
                if path.parent.name == "networks" and path.suffix in {".bif", ".dot"}
            },
        }


def _network_files() -> dict[str, Any]:
    learner = BayesNetLearner(max_seconds=None, max_evaluations=2_000, random_state=3, **PUBLISHED)
    learner.fit(table())
    network = learner.network_
    with tempfile.TemporaryDirectory() as folder:
        network.to_json(Path(folder) / "network.json")
        network.to_bif(Path(folder) / "network.bif")
        network.to_dot(Path(folder) / "network.dot")
        texts = {path.name: path.read_text() for path in Path(folder).iterdir()}
    record = json.loads(texts.pop("network.json"))
    for variable in record["variables"]:
        # kinds of values and counts are younger than the digest
        for part in ("values", "counts"):
            variable.pop(part, None)
    # names the code that wrote the file
    del record["written_by"]
    record["metadata"] = sorted(set(record["metadata"]) - {"shape"})
    return {"json": record, "summary": network.summary(), **texts}


CASES: dict[str, Callable[[], Any]] = {
    "learner, optimal": _learned,
    "learner, equal frequency": lambda: _learned(discretizer="equal-frequency"),
    "learner, equal width": lambda: _learned(discretizer="equal-width"),
    "learner, mdl": lambda: _learned(discretizer="mdl"),
    "learner, bayesian": lambda: _learned(discretizer="bayesian"),
    "learner, knowledge": _with_knowledge,
    "front": _front,
    "front, expert": lambda: _front(expert=_expert()),
    "front, optimal": lambda: _front(discretizer="optimal"),
    "ensemble": _ensemble,
    "ensemble, bootstrap": lambda: _ensemble(resampling="bootstrap"),
    "trap": lambda: _result(
        Trap(20), GOMEA(linkage=LinkageTree("mi"), search_donors=False), max_evaluations=20_000
    ),
    "maxcut": lambda: _result(_max_cut(), GOMEA(search_donors=False), max_evaluations=20_000),
    "rosenbrock": lambda: _result(rosenbrock(6), None, max_evaluations=20_000),
    "lotz": lambda: _result(LOTZ(8), MOGOMEA(), max_evaluations=10_000),
    **{f"discretizer, {name}": partial(_cuts, name) for name in DISCRETIZERS},
    "LDBN": lambda: _coupled(LDBN(random_state=1)),
    "MDLNetwork": lambda: _coupled(MDLNetwork()),
    "K2": lambda: _tabu(K2(random_state=1)),
    "Tabu": lambda: _tabu(Tabu()),
    "refine, dp fixed": lambda: _refined("dp"),
    "refine, dp free": lambda: _refined("dp", bin_counts="free"),
    "refine, bayesian": lambda: _refined("bayesian"),
    "refine, rv-gomea": lambda: _refined("rv-gomea", callback=lambda progress: progress.n_eval > 3_000),
    "network files": _network_files,
    "front files": _front_files,
}


if __name__ == "__main__":
    import sys
    import traceback
    from time import perf_counter

    for case, run in CASES.items():
        began = perf_counter()
        try:
            print(f'    "{case}": "{digest(run())}",', flush=True)
        except Exception:
            traceback.print_exc(limit=-3)
        print(f"{case} {perf_counter() - began:.1f} s", file=sys.stderr)
