"""Twelve small tables learned with default options: what the fits are, and thirty answers of each of them.

Run as a script it records all of it in `recorded_defaults.json` and prints what moved, each value before and after:

    python tests/recorded_defaults.py            # all tables; make record does the same
    python tests/recorded_defaults.py gaps front # these alone
    python tests/recorded_defaults.py --check    # print what would move, and write nothing

A value that agrees with the recorded one keeps its digits, so the file changes where a result did and nowhere else.
The tables have strong laws and few columns, so that neither the last digits of a sum nor a search that goes another
way to the same network moves a value.
"""

import argparse
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from math import isclose, isfinite
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gomea_bn import BayesNetLearner, DiscretizedBayesNet, ParetoBayesNetLearner
from gomea_bn.certainty.graph_scores import GraphScores
from gomea_bn.problems import ScoredFamily

RECORDED = Path(__file__).with_name("recorded_defaults.json")
TOLERANCE = 1e-6
"""Largest relative difference of equal numbers, and absolute one of numbers below 1."""
_DIGITS = 9
_N_NEW, _N_SINGLE = 60, 5
_N_QUERIES, _N_PREDICTIONS, _N_INTERVALS, _N_IMPUTED = 10, 8, 6, 6

Record = dict[str, Any]
"""Numbers, texts and None by what they are."""
Law = Callable[[np.random.Generator, int], pd.DataFrame]


def _levels(codes: np.ndarray, *names: str) -> "pd.Categorical[str]":
    return pd.Categorical.from_codes(codes.astype(int), pd.Index(names))


def _chance(generator: np.random.Generator, logit: np.ndarray) -> np.ndarray:
    """Return draws of 0 and 1."""
    return (generator.random(len(logit)) < 1 / (1 + np.exp(-logit))).astype(int)


def _continuous(generator: np.random.Generator, n: int) -> pd.DataFrame:
    a, e = generator.normal(size=(2, n))
    b = 0.8 * a + 0.5 * generator.normal(size=n)
    c = 0.6 * a - 0.9 * b + 0.4 * generator.normal(size=n)
    d = 1.5 * c + e + 0.5 * generator.normal(size=n)
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": d, "e": e})


def _mixed(generator: np.random.Generator, n: int) -> pd.DataFrame:
    group = generator.integers(3, size=n)
    x = generator.normal(2.0 * group, 1.0)
    flag = _chance(generator, 2.0 * (x - 2.0))
    y = x * np.array([-1.0, 0.5, 1.0])[group] + generator.normal(scale=0.4, size=n)
    z = np.exp(0.5 * y + generator.normal(scale=0.3, size=n))
    return pd.DataFrame(
        {"group": _levels(group, "low", "middle", "high"), "x": x, "flag": _levels(flag, "no", "yes")}
    ).assign(y=y, z=z)


def _gaps(generator: np.random.Generator, n: int) -> pd.DataFrame:
    frame = _mixed(generator, n)
    for name in ("x", "y", "flag"):
        frame[name] = frame[name].mask(generator.random(n) < 0.15)
    return frame


def _atoms(generator: np.random.Generator, n: int) -> pd.DataFrame:
    arm = generator.integers(2, size=n)
    takes = _chance(generator, np.where(arm == 1, 1.5, -1.0))
    dose = np.where(takes == 1, np.exp(generator.normal(1.0, 0.5, n)), 0.0)
    effect = 2.0 * np.sqrt(dose) + generator.normal(size=n)
    cost = np.where(
        generator.random(n) < 0.3, 10.0, np.exp(0.4 * effect + generator.normal(scale=0.4, size=n))
    )
    return pd.DataFrame(
        {"arm": _levels(arm, "placebo", "drug"), "dose": dose, "effect": effect, "cost": cost}
    )


def _discrete(generator: np.random.Generator, n: int) -> pd.DataFrame:
    visit = generator.integers(4, size=n)
    smoker = _chance(generator, np.full(n, -0.3))
    # two causes of one effect: all directions are decided, and no two graphs have one score
    illness = _chance(generator, np.array([-3.0, -2.0, 0.0, 1.0])[visit] + 2.5 * smoker)
    scan = np.where(generator.random(n) < 0.75, 2 * illness, generator.integers(3, size=n))
    cough = _chance(generator, 3.0 * illness - 1.5)
    return pd.DataFrame(
        {
            "visit": _levels(visit, "none", "near", "far", "long"),
            "smoker": _levels(smoker, "no", "yes"),
            "illness": _levels(illness, "no", "yes"),
            "scan": _levels(scan, "clear", "shadow", "spot"),
            "cough": _levels(cough, "no", "yes"),
        }
    )


def _counts(generator: np.random.Generator, n: int) -> pd.DataFrame:
    age = generator.uniform(20, 80, n)
    ward = generator.integers(3, size=n)
    visits = generator.poisson(np.exp(0.03 * (age - 40) + np.array([0.0, 0.6, 1.2])[ward]))
    tests = generator.poisson(1 + 2.5 * visits)
    days = generator.poisson(np.exp(0.02 * age)) + 1
    return pd.DataFrame(
        {"age": age, "ward": _levels(ward, "a", "b", "c"), "visits": visits, "tests": tests, "days": days}
    )


def _rounded(generator: np.random.Generator, n: int) -> pd.DataFrame:
    sex = generator.integers(2, size=n)
    age = generator.integers(18, 90, size=n)
    height = np.round(generator.normal(165 + 13 * sex, 7.0), 0)
    weight = np.round(0.9 * (height - 100) + 0.15 * (age - 50) + generator.normal(scale=6.0, size=n), 1)
    pressure = 5 * np.round((100 + 0.5 * age + 0.2 * weight + generator.normal(scale=8.0, size=n)) / 5)
    return pd.DataFrame(
        {"sex": _levels(sex, "f", "m"), "age": age, "height": height, "weight": weight, "pressure": pressure}
    )


def _heavy_tails(generator: np.random.Generator, n: int) -> pd.DataFrame:
    a = generator.standard_t(3, n)
    b = 1.2 * a + 0.5 * generator.standard_t(2.5, n)
    c = generator.standard_t(3, n)
    d = b - 0.8 * c + 0.4 * generator.standard_t(2.5, n)
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": d})


def _nonlinear(generator: np.random.Generator, n: int) -> pd.DataFrame:
    x = generator.uniform(-2, 2, n)
    w = generator.normal(size=n)
    y = np.sin(2 * x) + generator.normal(scale=0.2, size=n)
    z = w**2 + y + generator.normal(scale=0.3, size=n)
    k = _chance(generator, 4 * np.cos(1.5 * z))
    return pd.DataFrame({"x": x, "w": w, "y": y, "z": z, "k": _levels(k, "off", "on")})


def _fitted(law: Law, n_rows: int, max_evaluations: int, **options: Any) -> Record:
    frame, new = _rows(law, n_rows)
    learner = BayesNetLearner(
        max_seconds=None, max_evaluations=max_evaluations, random_state=1, **options
    ).fit(frame)
    return {"score": learner.score_, **network_record(learner.network_, frame, new)}


def _weighted(law: Law, n_rows: int, max_evaluations: int) -> Record:
    frame, new = _rows(law, n_rows)
    weights = np.random.default_rng(3).gamma(3.0, 1.0, n_rows)
    learner = BayesNetLearner(max_seconds=None, max_evaluations=max_evaluations, random_state=1)
    learner.fit(frame, sample_weight=weights)
    return {"score": learner.score_, **network_record(learner.network_, frame, new)}


def _in_pieces(law: Law, n_rows: int, max_evaluations: int) -> Record:
    frame, new = _rows(law, n_rows)
    pieces = [frame.iloc[start : start + 700] for start in range(0, n_rows, 700)]
    learner = BayesNetLearner(
        max_seconds=None, max_evaluations=max_evaluations, random_state=1, sample_rows=1_000
    ).fit(pieces)
    return {"score": learner.score_, **network_record(learner.network_, frame, new)}


def _front(law: Law, n_rows: int, max_evaluations: int) -> Record:
    frame, new = _rows(law, n_rows)
    front = (
        ParetoBayesNetLearner(max_seconds=None, max_evaluations=max_evaluations, random_state=1)
        .fit(frame)
        .front_
    )
    values: Record = {
        f"{objective.name} of network {row}": value
        for row, of_row in enumerate(front.values)
        for objective, value in zip(front.objectives, of_row, strict=True)
    }
    knee = front.knee()
    return {"knee": knee.index, **values, **network_record(knee.network, frame, new)}


TABLES: dict[str, Callable[[], Record]] = {
    "continuous": partial(_fitted, _continuous, 300, 3_000),
    "mixed": partial(_fitted, _mixed, 300, 3_000),
    "gaps": partial(_fitted, _gaps, 300, 3_000),
    "atoms": partial(_fitted, _atoms, 400, 3_000),
    "discrete": partial(_fitted, _discrete, 500, 3_000),
    "counts": partial(_fitted, _counts, 300, 3_000),
    "rounded": partial(_fitted, _rounded, 400, 3_000),
    "heavy tails": partial(_fitted, _heavy_tails, 300, 3_000),
    "nonlinear": partial(_fitted, _nonlinear, 400, 3_000),
    "pieces": partial(_in_pieces, _mixed, 2_100, 3_000),
    "front": partial(_front, _mixed, 200, 2_000),
    "weighted": partial(_weighted, _continuous, 300, 3_000),
}
"""What is recorded of a table, by its name."""


def _rows(law: Law, n_rows: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return rows to learn from, and new ones; both have numbers of six decimals."""
    frames = (law(np.random.default_rng(seed), n) for seed, n in ((1, n_rows), (2, _N_NEW)))
    learned, new = (frame.round(6) for frame in frames)
    return learned, new


def network_record(network: DiscretizedBayesNet, rows: pd.DataFrame, new: pd.DataFrame) -> Record:
    """Return what is recorded of a network of some rows: graph, cuts, scores, densities of new rows, thirty answers."""
    record: Record = {"edges": [f"{parent} -> {child}" for parent, child in sorted(network.edges)]}
    record["n_parameters"] = network.n_parameters
    record |= {f"cuts of {name}": cuts.tolist() for name, cuts in network.cut_points.items()}
    for child, gains in sorted(network.metadata.get("parents", {}).items()):
        record |= {f"gain of {parent} -> {child}": gain for parent, gain in gains}
    for name, score in zip(network.names, _family_scores(network, rows), strict=True):
        record[f"score of {name} given its parents"] = score
    for name, terms in network.log_density_terms(new.dropna()).items():
        record[f"mean log density of {name}"] = float(np.mean(terms))
    densities = network.log_density(new)
    record["mean log density"] = float(densities.mean())
    record |= {f"log density of row {row}": float(densities[row]) for row in range(_N_SINGLE)}
    return record | dict(_answers(network, new))


def _family_scores(network: DiscretizedBayesNet, rows: pd.DataFrame) -> list[float]:
    """Return the score in nats of every column given its parents, over the shown bins and the complete rows."""
    most = max(len(network.parents(name)) for name in network.names)
    scores = GraphScores.of(network, rows.dropna(), max_indegree=most)
    families = [
        ScoredFamily((v, 0), tuple((p, 0) for p in of_child)) for v, of_child in enumerate(scores.parents)
    ]
    return [float(score) for score in scores.scorer.score(families, use_cache=False)]


def _answers(network: DiscretizedBayesNet, new: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    """Yield questions and answers; each question asks another row, and columns take turns."""
    names = list(network.names)
    n_names = len(names)

    def known(row: int, *gone: str) -> pd.DataFrame:
        """Return a row without the cells of some columns."""
        frame = new.iloc[[row]].copy()
        for name in gone:
            frame[name] = frame[name].mask(np.array([True]))
        return frame

    for k in range(_N_QUERIES):
        target, *others = (names[(k + step) % n_names] for step in (0, 1, 2 + k // n_names))
        evidence = {name: new[name].iloc[k] for name in others if name != target}
        asked = ", ".join(f"{name} = {value}" for name, value in evidence.items())
        yield f"P({target} | {asked})", network.query(target, evidence).to_numpy().tolist()
    rows = iter(range(_N_QUERIES, _N_NEW))
    for k in range(_N_PREDICTIONS):
        row, target, gone = next(rows), names[k % n_names], names[(k + 2) % n_names]
        yield (
            f"prediction of {target} of row {row} without {gone}",
            _plain(network.predict(known(row, target, gone), target).iloc[0]),
        )
    continuous = list(network.cut_points)
    for k in range(_N_INTERVALS if continuous else 0):
        row, target = next(rows), continuous[k % len(continuous)]
        gone = names[(names.index(target) + 1) % n_names]
        interval = network.predict_interval(known(row, target, gone), target).iloc[0]
        yield f"mean, median and 90 % of {target} of row {row} without {gone}", interval.tolist()
    # a table of levels alone has no intervals, and more cells are filled
    for k in range(_N_IMPUTED if continuous else _N_IMPUTED + _N_INTERVALS):
        row, unknown = next(rows), [names[(k + step) % n_names] for step in (0, 2)]
        filled = network.impute(known(row, *unknown), "mode").iloc[0]
        yield f"row {row} filled in {' and '.join(unknown)}", [_plain(filled[name]) for name in unknown]


def _plain(value: Any) -> Any:
    """Return a cell as JSON holds it."""
    return value.item() if isinstance(value, np.generic) else value


def measured(name: str) -> Record:
    """Return what is recorded of a table today, as JSON holds it."""
    with warnings.catch_warnings():
        # of values of new rows outside the support, and of answers that draws gave
        warnings.simplefilter("ignore")
        return {what: _rounded_off(value) for what, value in TABLES[name]().items()}


def _rounded_off(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_rounded_off(item) for item in value]
    value = _plain(value)
    return float(f"{value:.{_DIGITS}g}") if isinstance(value, float) and isfinite(value) else value


def agree(before: Any, now: Any) -> bool:
    """Return whether two recorded values are equal, numbers within `TOLERANCE`."""
    if isinstance(before, list) and isinstance(now, list):
        return len(before) == len(now) and all(map(agree, before, now))
    if isinstance(before, (int, float)) and isinstance(now, (int, float)):
        return isclose(before, now, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return bool(before == now)


_ABSENT = "-"


def moved(before: Record, now: Record) -> list[str]:
    """Return a line for every value that is not the recorded one, before and after."""
    return [
        f"{what}: {_text(before, what)} -> {_text(now, what)}"
        for what in {**before, **now}
        if what not in before or what not in now or not agree(before[what], now[what])
    ]


def _text(record: Record, what: str) -> str:
    return json.dumps(record[what]) if what in record else _ABSENT


def recorded() -> dict[str, Record]:
    """Return what is recorded of all tables."""
    records: dict[str, Record] = json.loads(RECORDED.read_bytes()) if RECORDED.is_file() else {}
    return records


def kept(before: Record, now: Record) -> Record:
    """Return the record of today, with the digits of before where both agree."""
    return {
        what: before[what] if what in before and agree(before[what], value) else value
        for what, value in now.items()
    }


def text_of(records: dict[str, Record]) -> str:
    """Return records as JSON with a line for every value."""
    tables = [
        f" {json.dumps(name)}: {{\n"
        + ",\n".join(f"  {json.dumps(what)}: {json.dumps(value)}" for what, value in record.items())
        + "\n }"
        for name, record in records.items()
    ]
    return "{\n" + ",\n".join(tables) + "\n}\n"


def main(arguments: list[str] | None = None) -> int:
    """Record tables, or check them, and print what moved; returns the code with which the process ends."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="Names of tables; all of them by default.")
    parser.add_argument("--check", action="store_true", help="Write nothing; end with 1 if something moved.")
    given = parser.parse_args(arguments)
    if unknown := sorted(set(given.tables) - set(TABLES)):
        parser.error(f"unknown tables {', '.join(unknown)}; there are {', '.join(TABLES)}")
    before = recorded()
    records = {name: before[name] for name in TABLES if name in before}
    n_moved = 0
    for name in given.tables or TABLES:
        now = measured(name)
        lines = moved(before.get(name, {}), now)
        n_moved += len(lines)
        print(f"{name}: {len(lines)} of {len(now)} values moved", *lines, sep="\n  ", flush=True)
        records[name] = kept(before.get(name, {}), now)
    if not given.check:
        RECORDED.write_text(
            text_of({name: records[name] for name in TABLES if name in records}), encoding="utf-8"
        )
    return int(given.check and n_moved > 0)


if __name__ == "__main__":
    sys.exit(main())
