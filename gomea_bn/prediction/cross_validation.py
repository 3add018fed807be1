"""`cross_validate`: densities and predictions on held-out rows, of learners, discretizers and a baseline."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from gomea_bn.data.sources import source_table
from gomea_bn.data.table import Table
from gomea_bn.data.weights import refuse_groups, weighted_table, weights_of_rows
from gomea_bn.discretization.proposals import PROPOSERS
from gomea_bn.errors import (
    GomeaBnError,
    GomeaBnWarning,
    Option,
    check_integer,
    names_in,
    nearest,
    wrong_option,
)
from gomea_bn.learning.learner import BayesNetLearner
from gomea_bn.learning.options import refuse_times, seed_of
from gomea_bn.learning.pareto_learner import ParetoBayesNetLearner
from gomea_bn.metrics.distances import histogram_baseline
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.conditionals.conditionals import INTERVAL
from gomea_bn.network.parts import spellings
from gomea_bn.prediction.distributions import Cells, cell_probabilities, crps, folds_of

METHODS = ("learner", "knee", *PROPOSERS, "histogram")
"""What can be judged: the learner, the knee of a front, the learner with another discretizer, and a baseline."""


def cross_validate(
    data: pd.DataFrame | Table | str | os.PathLike[str],
    *,
    target: str | None = None,
    folds: int = 5,
    compare: Sequence[str] = ("learner", "histogram"),
    max_seconds: float | None = 10.0,
    learner: BayesNetLearner | None = None,
    kinds: Mapping[str, str] | None = None,
    random_state: int | None = None,
    sample_weight: ArrayLike | None = None,
    groups: str | None = None,
) -> pd.DataFrame:
    """Return how well networks describe and predict rows that they were not learned from.

    The rows are divided into folds at random, with the values of the target alike in all. Every method learns from all
    folds but one, and is judged on that one, for each fold in turn.

    Parameters
    ----------
    data : DataFrame, Table or path
        Rows.
    target : str, optional
        Column that is predicted from all other cells of a row.
    folds : int
        Number of folds, at least 2.
    compare : sequence of str
        Methods: "learner", "knee" (that of a front), "histogram" (a baseline without edges, from the rows without
        missing values), and names of discretizers, such as "equal-frequency", for the learner with these.
    max_seconds : float or None
        Time limit of every search.
    learner : BayesNetLearner, optional
        Options of "learner"; its time limit and its seed are replaced.
    kinds : mapping of str to str, optional
        Kinds of columns, as of `BayesNetLearner`.
    random_state : int or None
        Seed of the folds and of the searches.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the rows from 0 on, as of `BayesNetLearner.fit`: methods learn with them, and means are weighted by
        them. Rows of weight 0 are left out.
    groups : str, optional
        Column that names the group of every row, as of `BayesNetLearner`: rows of a group are in one fold, methods
        learn from groups, and standard errors are those of means over groups. By default that of the learner.

    Returns
    -------
    DataFrame
        One row per method, in the order of `compare`. "log_density" is the mean over the rows in nats, where point
        masses count by the measuring step of their column (`resolution="steps"`). With a target "log_loss" is the mean
        of -ln P(level), in nats, or "crps" the continuous ranked probability score in the units of the target; lower is
        better. "calibration" is the mean probability of the predicted level minus the share of rows in which it is
        right, or for a continuous target .9 minus the share of rows inside their central 90 % interval; it is 0 for a
        calibrated method, and positive for one that is too sure. Each has its standard error over the rows, as
        "log_density_error". "seconds" is the mean of a fold. `attrs["seed"]` repeats the folds.

    Raises
    ------
    GomeaBnError
        For unknown methods or targets, fewer rows or groups than folds, and tables that a method cannot learn from.

    Examples
    --------
    >>> from gomea_bn.simulation.random_networks import random_network
    >>> frame = random_network(4, random_state=1).sample(100, random_state=1)
    >>> table = cross_validate(frame, folds=2, compare=["histogram"], random_state=1)
    >>> print(table.columns.tolist())
    ['log_density', 'log_density_error', 'seconds']
    """
    check_integer("folds", folds, 2)
    methods = names_in("compare", compare)
    for name in methods:
        if not isinstance(name, str) or name not in METHODS:
            wanted = f" must name methods among {', '.join(METHODS)}, got {name!r:.80}.{nearest(str(name), METHODS)}"
            raise GomeaBnError([Option("compare"), wanted])
    if not methods:
        raise GomeaBnError([Option("compare"), f" must name at least one method among {', '.join(METHODS)}."])
    methods = list(dict.fromkeys(methods))
    learner = BayesNetLearner() if learner is None else learner
    if not isinstance(learner, BayesNetLearner):
        raise GomeaBnError(f"learner must be a BayesNetLearner or None, got {learner!r:.80}.")
    options = learner.get_params(deep=False)
    refuse_times(options, "cross-validation")
    table = source_table(
        data,
        kinds=kinds or options["kinds"],
        missing=options["missing"],
        max_levels=options["max_levels"],
        groups=options["groups"] if groups is None else groups,
    )
    # the table has these
    options |= {"kinds": None, "groups": None}
    weights = np.ones(table.n_rows)
    if sample_weight is not None:
        refuse_groups(table)
        weights = weights_of_rows(table, sample_weight)
        table, weights = table.take(np.flatnonzero(weights)), weights[weights > 0]
    if target is not None:
        names = spellings(table.names)
        if not isinstance(target, str) or target not in names:
            hint = nearest(str(target), names)
            raise wrong_option("target", f"must be a column of the table, got {target!r:.80}.{hint}")
        target = names[target]
    of_rows = np.arange(table.n_rows) if table.groups is None else table.groups.codes
    if (n_units := len(np.unique(of_rows))) < folds:
        what = "rows" if table.groups is None else "groups"
        raise GomeaBnError(
            [Option("folds"), f" must be at most the number of {what}, {n_units:,}, got {folds:,}."]
        )
    seed = seed_of(random_state)
    options |= {"random_state": seed, "max_seconds": max_seconds}
    fold_of = folds_of(table, target, folds, np.random.default_rng(seed))
    records = []
    for method in methods:
        parts: list[dict[str, NDArray[np.float64]]] = []
        began = perf_counter()
        for fold in range(folds):
            is_held_out = fold_of == fold
            kept, held_out = (table.take(np.flatnonzero(mask)) for mask in (~is_held_out, is_held_out))
            of_kept = None if sample_weight is None else weights[~is_held_out]
            with warnings.catch_warnings():
                # values of held-out rows may lie outside the range of the others
                warnings.simplefilter("ignore", GomeaBnWarning)
                parts.append(_judged(_learned(method, kept, options, of_kept), kept, held_out, target))
        order = np.argsort(fold_of, kind="stable")
        record = {}
        for measure in parts[0]:
            values = np.concatenate([part[measure] for part in parts])
            is_measured = ~np.isnan(values)
            rows = order[is_measured]
            record[measure], record[f"{measure}_error"] = _mean(
                values[is_measured], weights[rows], of_rows[rows]
            )
        records.append({**record, "seconds": (perf_counter() - began) / folds})
    result = pd.DataFrame(records, index=pd.Index(methods, name="method"))
    result.attrs["seed"] = seed
    return result


def _mean(
    values: NDArray[np.float64], weights: NDArray[np.float64], groups: NDArray[np.int64]
) -> tuple[float, float]:
    """Return the weighted mean of some values, NaN for none, and its standard error, NaN where it is unknown.

    Values of a group are no independent ones: their deviations count as one sum (Liang & Zeger, "Longitudinal data
    analysis using generalized linear models", 1986).
    """
    if not len(values):
        return np.nan, np.nan
    mean = float((weights * values).sum() / weights.sum())
    codes = np.unique(groups, return_inverse=True)[1]
    n = int(codes.max()) + 1
    if n < 2 or not np.isfinite(mean):
        return mean, np.nan
    deviations = np.bincount(codes, weights * (values - mean))
    return mean, float(np.sqrt(n / (n - 1) * (deviations**2).sum()) / weights.sum())


def _learned(
    method: str, table: Table, options: Mapping[str, object], weights: NDArray[np.float64] | None
) -> DiscretizedBayesNet:
    """Return the network that a method learns from some rows, perhaps with weights."""
    if method == "histogram":
        return histogram_baseline(
            (table if weights is None else weighted_table(table, weights)).complete_rows()
        )
    if method == "knee":
        limits: Any = {"max_seconds": options["max_seconds"], "random_state": options["random_state"]}
        return ParetoBayesNetLearner(**limits).fit(table, sample_weight=weights).front_.knee().network
    changed: Any = {**options} if method == "learner" else {**options, "discretizer": method}
    return BayesNetLearner(**changed).fit(table, sample_weight=weights).network_


def _judged(
    network: DiscretizedBayesNet, learned_from: Table, held_out: Table, target: str | None
) -> dict[str, NDArray[np.float64]]:
    """Return the measures of held-out rows, float64 (n_rows,) by name; NaN where the target is missing."""
    frame = held_out.to_frame()
    measures = {"log_density": network.log_density(frame, resolution="steps")}
    if target is None:
        return measures
    position = held_out.names.index(target)
    column = held_out.columns[position]
    is_known, rows = ~column.is_missing, np.arange(held_out.n_rows)
    values = column.values
    if not column.is_continuous:
        probabilities = network.predict_proba(frame, target).to_numpy()
        with np.errstate(divide="ignore"):
            losses = -np.log(probabilities[rows, np.maximum(values, 0)])
        predicted = probabilities.argmax(axis=1)
        surplus = probabilities.max(axis=1) - (predicted == values)
        return measures | {
            "log_loss": np.where(is_known, losses, np.nan),
            "calibration": np.where(is_known, surplus, np.nan),
        }
    known = learned_from.columns[position]
    cells = Cells.of(known.values[~known.is_missing])
    scores, _ = crps(cells, cell_probabilities(network, frame, target, cells), values)
    ends = network.predict_interval(frame, target, ((1 - INTERVAL) / 2, (1 + INTERVAL) / 2)).to_numpy()[:, 2:]
    surplus = INTERVAL - ((ends[:, 0] <= values) & (values <= ends[:, 1]))
    return measures | {"crps": scores, "calibration": np.where(is_known, surplus, np.nan)}
