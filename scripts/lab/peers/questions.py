"""Small networks that predict a class, from fronts with a target, next to a decision tree and logistic regression.

Of every front the network of at most 30 free parameters with the least left-out loss on the training rows answers for
the test rows. The tree has as many leaves as that network has free parameters, and its leaves the smoothing of one row.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gomea_bn import ParetoBayesNetLearner
from lab.peers.prediction import CLASSES, class_scores, fold_of, table_of
from lab.runner.experiment import Option, Options
from lab.runner.printing import sheet
from lab.runner.report import Sheet
from lab.runner.tabulated import tabulated

_N_FOLDS = 5
_MOST_PARAMETERS = 30
_TARGET = "outcome"
# days within which an event is the outcome, and columns that the outcome or another model decides
_CLINICAL = {
    "support2": (180, ("num_surv2m", "num_surv6m", "fac_sfdm2", "num_num_co")),
    "rhc": (180, ("num_surv2md1",)),
    "flchain": (3652, ("fac_chapter", "num_sample_yr")),
    "Framingham": (7305, ()),
    "GBSG2": (1095, ()),
}


def clinical_table(path: Path, days: int, left_out: tuple[str, ...]) -> tuple[pd.DataFrame, pd.Series]:
    """Return features and outcome of a table of survival times, without rows that are censored before the outcome.

    It has the columns pid, event, time in days, numbers num_... and factors fac_..., as tables of SurvSet.
    """
    frame = pd.read_csv(path)
    event = (frame["event"] == 1) & (frame["time"] <= days)
    known = event | (frame["time"] > days)
    features = frame[known].drop(columns=["pid", "event", "time", *left_out], errors="ignore")
    factors = {name: "category" for name in features.columns if name.startswith("fac_")}
    outcome = event[known].map({True: "yes", False: "no"})
    return features.astype(factors).reset_index(drop=True), outcome.reset_index(drop=True)


def front_scores(
    x: pd.DataFrame, y: pd.Series, new: pd.DataFrame, truth: pd.Series, seconds: float
) -> list[float]:
    """Return test and left-out loss of the chosen network, and the numbers of its parameters and predictors."""
    learner = ParetoBayesNetLearner(target=_TARGET, max_seconds=seconds, random_state=0)
    front = learner.fit(x.assign(**{_TARGET: pd.Categorical(y)})).front_
    small = [c for c in front if c.objectives["complexity"] <= _MOST_PARAMETERS]
    chosen = min(small, key=lambda candidate: candidate.objectives["target"])
    answers = chosen.network.predict_proba(new, _TARGET)
    classes = np.unique(y)
    loss = class_scores(answers[list(classes)].to_numpy(), classes, truth)[1]
    used = {name for edge in chosen.network.edges for name in edge} - {_TARGET}
    return [loss, chosen.objectives["target"], chosen.objectives["complexity"], float(len(used))]


def peer_scores(
    x: pd.DataFrame, y: pd.Series, new: pd.DataFrame, truth: pd.Series, n_leaves: int
) -> tuple[float, float]:
    """Return the log losses of a decision tree with some leaves and of logistic regression."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    factors = make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    )
    encoder = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (factors, make_column_selector(dtype_exclude="number")),
    )
    rows, others = encoder.fit_transform(x), encoder.transform(new)
    classes, codes = np.unique(y, return_inverse=True)
    logistic = LogisticRegression(max_iter=2000).fit(rows, codes)
    tree = DecisionTreeClassifier(max_leaf_nodes=max(2, n_leaves), random_state=0).fit(rows, codes)
    counts = np.full((tree.tree_.node_count, len(classes)), 1 / len(classes))
    np.add.at(counts, (tree.apply(rows), codes), 1)
    leaves: NDArray[np.float64] = counts / counts.sum(axis=1, keepdims=True)
    return (
        class_scores(leaves[tree.apply(others)], classes, truth)[1],
        class_scores(logistic.predict_proba(others), classes, truth)[1],
    )


def compared(options: Options) -> list[Sheet]:
    """Return log losses on every table, as means over the folds."""
    sheets = []
    for name in options.tables:
        path = Path(options.clinical or "") / f"{name}.csv"
        if name in _CLINICAL and not (options.clinical and path.is_file()):
            sheets.append(sheet(f"{name}: skipped, needs --clinical FOLDER with {name}.csv.", ("",), ()))
            continue
        x, y = (
            clinical_table(path, *_CLINICAL[name]) if name in _CLINICAL else table_of(name, None) or ((), ())
        )
        folds, rows = fold_of(y, 0), []
        for fold in range(_N_FOLDS):
            train, test = folds != fold, folds == fold
            ours = front_scores(x[train], y[train], x[test], y[test], options.seconds)
            rows.append([*ours, *peer_scores(x[train], y[train], x[test], y[test], int(ours[2]))])
        loss, left_out, parameters, predictors, tree, logistic = np.mean(rows, axis=0).tolist()
        heading = f"{name}: {len(x)} rows, {x.shape[1]} features, {_N_FOLDS} folds"
        cells = [f"{loss:.3f}", f"{left_out:.3f}", f"{parameters:.0f}", f"{predictors:.1f}", f"{tree:.3f}"]
        columns = ("log loss", "left-out", "parameters", "predictors", "tree", "logistic regression")
        sheets.append(sheet(heading, columns, [[*cells, f"{logistic:.3f}"]]))
    return sheets


_TABLES = (*CLASSES, *_CLINICAL)
EXPERIMENTS = (
    tabulated(
        "fronts-target",
        "Small networks for a question against a decision tree and logistic regression",
        "Means over five folds; the network is chosen from the training rows alone.",
        compared,
        {
            "tables": Option(CLASSES, "Tables.", choices=_TABLES),
            "seconds": Option(15.0, "max_seconds of a front."),
            "clinical": Option(None, "Folder with CSV files of the clinical tables.", str),
        },
        split=("tables",),
    ),
)
