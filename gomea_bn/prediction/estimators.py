"""`BayesNetClassifier` and `BayesNetRegressor`: one column predicted by a discretized Bayesian network."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, time, timedelta
from itertools import chain, count
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from gomea_bn.data.frames import column_names, frame_of
from gomea_bn.data.table import Table
from gomea_bn.data.weights import checked_weights
from gomea_bn.errors import (
    GomeaBnError,
    GomeaBnWarning,
    check_choice,
    check_integer,
    check_probabilities,
    give_warning,
    row_list,
    wrong_option,
)
from gomea_bn.learning.ensemble import BayesNetEnsemble
from gomea_bn.learning.learner import BayesNetLearner
from gomea_bn.learning.options import refuse_times, rows_to_search, seed_of, table_to_learn
from gomea_bn.learning.target import why_no_target
from gomea_bn.learning.warm_up import compile_kernels
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.inference import answers
from gomea_bn.network.inference.engine import engine_for
from gomea_bn.network.rows import UNKNOWN, known_rows
from gomea_bn.parameters import with_known_names
from gomea_bn.prediction.distributions import Cells, cell_probabilities
from gomea_bn.problems.knowledge import ExpertKnowledge
from gomea_bn.runtime.fit_clock import FitClock

AUTO = "auto"
STRUCTURES = ("free", "root", "augmented", "tree", "naive", "leaf")
"""Rules about the edges of the target; `BayesNetClassifier` describes them."""

_EVALUATIONS_OF_CUTS = 100


def structured(options: Mapping[str, Any], table: Table, target: str, structure: str) -> dict[str, Any]:
    """Return the options of a learner whose knowledge also has the rules of one of `STRUCTURES`.

    Columns that are constant get no rules.
    """
    knowledge = options["knowledge"] or ExpertKnowledge()
    others = [column.name for column in table.columns if column.name != target and not column.is_constant]
    away, towards = [(target, name) for name in others], [(name, target) for name in others]
    if structure in ("augmented", "tree", "naive"):
        required = dict.fromkeys([*knowledge.required_edges, *away])
        knowledge = replace(knowledge, required_edges=tuple(required))
        if structure != "augmented":
            most, given = {"naive": 1, "tree": 2}[structure], options["max_indegree"]
            options = {**options, "max_indegree": min(most, given) if isinstance(given, int) else most}
        if structure == "naive":
            # cuts alone are left to find, and the first evaluations find the best ones
            limit = options["max_evaluations"] or _EVALUATIONS_OF_CUTS
            options = {**options, "max_evaluations": min(limit, _EVALUATIONS_OF_CUTS)}
    elif structure != "free":
        forbidden = dict.fromkeys([*knowledge.forbidden_edges, *(towards if structure == "root" else away)])
        knowledge = replace(knowledge, forbidden_edges=tuple(forbidden))
    return {**options, "knowledge": knowledge}


try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data
except ImportError as error:
    raise GomeaBnError(
        "BayesNetClassifier and BayesNetRegressor need scikit-learn 1.6 or later: pip install 'gomea-bn[predict]'."
    ) from error

# kinds of targets that NumPy converts to floats, or compares as if they were
_NO_NUMBERS = (str, bytes, date, time, timedelta, np.datetime64, np.timedelta64)
_DEFAULT_TARGET = "target"
# seconds that a fit usually takes: per cell of the features, and the fewest
_SECONDS_OF_CELL, _FEWEST_SECONDS = 5e-5, 5.0
# where no learner is given: seconds after which a fit ends whatever it has found, and evaluations of a search whose
# network predicts nothing but missing cells, per pair of columns and at least
_MOST_SECONDS = 120.0
_EVALUATIONS_OF_PAIR, _FEWEST_EVALUATIONS = 2, 2_000
# share of the limit that further networks have where the first one leaves less
_LEAST_SHARE = 0.05


# texts of warnings that were shown, without numbers of rows, which differ between folds
_SHOWN: set[str] = set()
_N_ROWS = re.compile(r"\b[\d,]+ rows?\b")


@contextmanager
def _one_warning() -> Iterator[None]:
    """Give the package's warnings of a method as one, and the same text once where filters show a text once.

    Python forgets what it has shown whenever filters change, as they do in every fit, so that each fold of a
    cross-validation would repeat it.
    """
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", GomeaBnWarning)
            yield
    finally:
        # an error follows what was warned of before
        texts = dict.fromkeys(str(one.message) for one in caught if issubclass(one.category, GomeaBnWarning))
        for other in caught:
            if not issubclass(other.category, GomeaBnWarning):
                warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
        text = " ".join(texts)
        is_once = _is_shown_once(text)
        said = _N_ROWS.sub("rows", text)
        if text and not (is_once and said in _SHOWN):
            if is_once:
                _SHOWN.add(said)
            give_warning(text)


def _is_shown_once(text: str) -> bool:
    """Return whether the filters of warnings show a warning of this package once."""
    actions = (
        action
        for action, message, category, module, line in warnings.filters
        if issubclass(GomeaBnWarning, category)
        and module is None
        and not line
        and (message is None or re.match(message, text))
    )
    return next(actions, "default") in ("default", "module", "once")


@with_known_names
class _Predictor(BaseEstimator):  # type: ignore[misc]
    """What classifier and regressor share: reading rows, and learning."""

    _kind: str
    # option of the learner where none is given and the table is complete
    _curves: str
    # multiple of the usual seconds from which on columns may follow mixtures of lines
    _times_of_mixtures: float

    def __init__(
        self,
        learner: BayesNetLearner | None = None,
        *,
        structure: str = AUTO,
        n_networks: int = 1,
        random_state: Any = None,
        unknown: str = "missing",
    ) -> None:
        self.learner = learner
        self.structure = structure
        self.n_networks = n_networks
        self.random_state = random_state
        self.unknown = unknown

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    @_one_warning()
    def _learn(
        self,
        frame: pd.DataFrame,
        y: Any,
        target: str,
        weights: NDArray[np.float64] | None,
        n_levels: int = 0,
    ) -> None:
        """Learn the networks from the features and the values of the target, and set the fitted attributes."""
        check_choice("structure", self.structure, (AUTO, *STRUCTURES))
        check_integer("n_networks", self.n_networks, 1)
        check_choice("unknown", self.unknown, UNKNOWN)
        if self.learner is not None and not isinstance(self.learner, BayesNetLearner):
            raise GomeaBnError(f"learner must be a BayesNetLearner or None, got {self.learner!r:.80}.")
        if target in map(str, frame.columns):
            raise GomeaBnError(
                f"X has a column '{target}', which is the name of the target.", ["rename the column or y"]
            )
        clock, seed = FitClock(), seed_of(self.random_state)
        options = (self.learner or BayesNetLearner()).get_params(deep=False)
        if options["groups"] == target:
            raise wrong_option("groups", f"must be a column of X, got the target '{target}'.")
        refuse_times(options, "an estimator")
        options["kinds"] = {**(options["kinds"] or {}), target: self._kind}
        options["random_state"] = seed
        table = table_to_learn(
            frame.reset_index(drop=True).assign(**{target: y}),
            weights,
            kinds=options["kinds"],
            missing=options["missing"],
            max_levels=max(options["max_levels"], n_levels),
            groups=options["groups"],
        )
        # the table has these already
        options |= {"kinds": None, "groups": None}
        usual = max(_SECONDS_OF_CELL * table.n_rows * (len(table.names) - 1), _FEWEST_SECONDS)
        seconds = options["max_seconds"]
        planned = usual if self.learner is None else seconds
        if options["line"] == "auto" and planned is not None and planned < self._times_of_mixtures * usual:
            options["line"] = "single"
        if self.learner is None:
            seconds = _MOST_SECONDS
            options |= {"curves": self._curves, "max_seconds": seconds}
        compile_kernels(n_columns=len(table.names))
        clock = FitClock(seconds, clock.began)
        if seconds is not None:
            # reading has taken some of them
            options["max_seconds"] = max(clock.left, _LEAST_SHARE * seconds) / self.n_networks
        structure = self.structure
        if structure == AUTO:
            of_target = {**options, "target": target}
            n_searched = rows_to_search(BayesNetLearner(**of_target), table)
            if why_no_target(of_target, table, n_searched) is not None:
                structure = "free"
        if structure == AUTO:
            options["target"] = target
            if self.learner is None:
                n_pairs = len(table.names) * (len(table.names) - 1) // 2
                options["max_evaluations"] = max(_EVALUATIONS_OF_PAIR * n_pairs, _FEWEST_EVALUATIONS)
        else:
            options = {**structured(options, table, target, structure), "target": None}
        learner = BayesNetLearner(**options).fit(table)
        self.target_, self.structure_ = target, structure
        self.table_, self.network_ = table, learner.network_
        self.seed_ = seed
        self.densities_: list[DiscretizedBayesNet] = [learner.network_]
        if self.n_networks > 1:
            if seconds is not None:
                # what the first network has left
                options["max_seconds"] = max(clock.left, _LEAST_SHARE * seconds)
            # parts of the rows have networks of the score, since members are averaged over all rows afterwards
            rest = BayesNetLearner(**{**options, "target": None})
            ensemble = BayesNetEnsemble(rest, n_networks=self.n_networks - 1, random_state=seed).fit(table)
            self.densities_ += ensemble.networks_

    def _answer(self, density: DiscretizedBayesNet, frame: pd.DataFrame) -> NDArray[np.float64]:
        """Return the probabilities of the values of the target under a network, float64 (n_rows, n_values)."""
        raise NotImplementedError

    @_one_warning()
    def _probabilities(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities of the values of the target, averaged over networks, float64 (n_rows, n_values)."""
        frame = self._rows(X)
        return np.asarray(np.mean([self._answer(density, frame) for density in self.densities_], axis=0))

    def _features(self, X: Any, *, y: Any = "no_validation", reset: bool = False) -> pd.DataFrame:
        """Return the rows as a frame with the columns of `fit`, checked as scikit-learn does."""
        if hasattr(X, "columns") and hasattr(X, "__getitem__"):
            try:
                validate_data(self, X, y, reset=reset, skip_check_array=True)
            except ValueError as error:
                # columns that are absent, new or in another order, by scikit-learn's contract in its words
                raise GomeaBnError(str(error)) from error
            frame = frame_of(X)
            if not len(frame):
                raise GomeaBnError("X must have at least one row, got none.")
            return frame
        least = 2 if reset else 1
        checked = validate_data(
            self, X, y, reset=reset, dtype=None, ensure_all_finite="allow-nan", ensure_min_samples=least
        )
        array = checked[0] if reset else checked
        return pd.DataFrame(array, columns=column_names(array.shape[1])).infer_objects()

    def _rows(self, X: Any) -> pd.DataFrame:
        """Return new rows; levels that no training row has count as `unknown` says."""
        check_is_fitted(self)
        frame = self._features(X)
        others = [name for name in self.network_.names if name != self.target_]
        return known_rows(self.network_, frame, self.unknown, others)


class BayesNetClassifier(ClassifierMixin, _Predictor):  # type: ignore[misc]
    """Classify rows by a discretized Bayesian network over the features and the class.

    The classes of a row have the probabilities P(class | features of the row). Features may be of any kind; missing
    cells are summed out.

    Parameters
    ----------
    learner : BayesNetLearner, optional
        Learner of the network, with all its options: limits, knowledge, discretizer, shapes, and `groups`, a column of
        X whose rows are held out together; never changed. Its `max_seconds` is for the whole fit, and its
        `random_state` is ignored. By default a learner with ``curves="none"``, whose fit ends by its work, so that it
        is the same however busy the machine is: with ``structure="auto"`` after 2,000 evaluations of the search, or two
        per pair of columns if these are more. A fit of 6,000 rows of 16 columns and two classes takes about five
        seconds, and of ten classes four times as long; after 120 s, which large tables reach, what is left is cut
        short, as ``network_.metadata["cut_short"]`` and a warning say.
        Columns follow mixtures of lines only with a learner that has no limit or at least 20 s, and 2e-4 s a cell.
    structure : {"auto", "free", "root", "augmented", "tree", "naive", "leaf"}
        Rules about the edges of the class, in addition to those of the learner's `knowledge`. "free": none. "root":
        the class has no parents. "augmented": the class is a parent of every feature, and the search chooses the edges
        between features (an augmented naive Bayes; Friedman, Geiger & Goldszmidt, "Bayesian network classifiers",
        1997). "tree": the same with at most one further parent of a feature. "naive": the same without edges between
        features. "leaf": the class has no children. "auto": that of `BayesNetLearner` with the class as its `target`,
        whose parents left-out rows choose; "free" where that is not possible, as with ``density="bins"``.
    n_networks : int
        Number of networks whose probabilities are averaged: `network_`, and further ones from parts of the rows, as of
        `BayesNetEnsemble`, whose graphs the score chooses.
    random_state : int, numpy Generator, RandomState or None
        Seed of the searches and of the folds.
    unknown : {"missing", "nearest", "error"}
        What a level of a feature that no training row has counts as, see `DiscretizedBayesNet.log_density`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels of the classes, sorted.
    network_ : DiscretizedBayesNet
        Network learned from all rows, over the features and the class.
    densities_ : list of DiscretizedBayesNet
        Networks that predict; their probabilities are averaged.
    structure_ : str
        Structure of the network.
    target_ : str
        Name of the class in the network: the name of `y`, otherwise "target", or "target_2" and so on where X has a
        column of that name.
    table_ : Table
        Rows that the network was learned from.
    seed_ : int
        Seed that repeats the fit, unless a time limit ended a search.
    n_features_in_, feature_names_in_
        Number of features, and their names if X is a data frame.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gomea_bn import BayesNetClassifier, BayesNetLearner
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> learner = BayesNetLearner(max_seconds=None, max_evaluations=2000)
    >>> classifier = BayesNetClassifier(learner, structure="root", random_state=1).fit(X, y)
    >>> classifier.score(X, y) > 0.9
    True
    """

    _kind = "discrete"
    _curves = "none"
    # they take two thirds of a fit, and more folds and longer searches predict classes as well
    _times_of_mixtures = 4.0

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the network.

        Parameters
        ----------
        X : DataFrame, other table, or array-like of shape (n_rows, n_features)
            Features. The columns of an array are named x0, x1, ...
        y : array-like of shape (n_rows,)
            Classes: text, whole numbers or bools.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows from 0 on, as of `BayesNetLearner.fit`: whole ones are frequencies, others importances.
            Rows of weight 0 are left out.

        Raises
        ------
        GomeaBnError
            For a single class, for missing classes, for dates, and as `BayesNetLearner.fit`.
        ValueError
            As scikit-learn for arrays of a wrong shape, and for classes that are real numbers.
        """
        frame = self._features(X, y=y, reset=True)
        labels = _target_values(y, len(frame))
        counts, weights = _counted(sample_weight, len(frame))
        # an array of a list of texts has NaN as the text "nan"
        missing = np.flatnonzero(pd.isna(np.asarray(y, dtype=object)) & counts)
        if missing.size:
            raise GomeaBnError(
                f"y must not hold missing values, got some in {row_list(missing)}.",
                ["drop these rows of X and y"],
            )
        frame, labels = frame[counts], labels[counts]
        if labels.dtype.kind in "mM" or isinstance(labels[0], (date, time, timedelta)):
            raise GomeaBnError(
                f"y must hold classes: text, whole numbers or bools. It holds dates or times, such as {labels[0]}.",
                ["write few of them as text", "learn a network with them as a column and ask its predict"],
            )
        check_classification_targets(labels)
        classes = np.unique(labels)
        if len(classes) < 2:
            raise GomeaBnError(
                f"y must have at least two classes, got the single class {classes.tolist()[0]!r}."
            )
        codes = np.searchsorted(classes, labels)
        column = pd.Categorical.from_codes(codes, pd.Index(classes.tolist(), dtype=object))
        self._learn(frame, column, _target_name(y, frame), weights, len(classes))
        self.classes_ = classes
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return P(class | features), float64 (n_rows, n_classes), with the classes in the order of `classes_`.

        Rows are as of `fit`; cells may be missing.
        """
        return self._probabilities(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of every row, (n_rows,), of the type of `classes_`."""
        codes = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[codes])

    def _answer(self, density: DiscretizedBayesNet, frame: pd.DataFrame) -> NDArray[np.float64]:
        # a structure without edges of the class has the frequencies of the classes
        return answers.predict_proba(engine_for(density), frame, self.target_, "error").to_numpy()


class BayesNetRegressor(RegressorMixin, _Predictor):  # type: ignore[misc]
    """Predict a number by a discretized Bayesian network over the features and the number.

    The prediction for a row is the mean of the distribution of the target given the features. The distribution itself
    gives quantiles. Features may be of any kind; missing cells are summed out.

    Parameters
    ----------
    learner : BayesNetLearner, optional
        Learner of the network, with all its options: limits, knowledge, discretizer, shapes; never changed. Its
        `max_seconds` is for the whole fit, and its `random_state` is ignored. By default a learner with
        default options and the limits of `BayesNetClassifier`.
    structure : {"auto", "free", "root", "augmented", "tree", "naive", "leaf"}
        Rules about the edges of the target, as of `BayesNetClassifier`.
    n_networks, random_state, unknown
        As of `BayesNetClassifier`.

    Attributes
    ----------
    network_, densities_, structure_, target_, table_, seed_
        As of `BayesNetClassifier`.
    n_features_in_, feature_names_in_
        As of `BayesNetClassifier`.
    cells_ : Cells
        Values of the target that quantiles are taken from: those of the training rows, at most 200 of them.

    Examples
    --------
    >>> import numpy as np
    >>> from gomea_bn import BayesNetLearner, BayesNetRegressor
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> y = X[:, 0] + np.random.default_rng(1).normal(scale=0.3, size=300)
    >>> learner = BayesNetLearner(max_seconds=None, max_evaluations=2000)
    >>> regressor = BayesNetRegressor(learner, structure="free", random_state=1).fit(X, y)
    >>> regressor.score(X, y) > 0.85
    True
    """

    _kind = "continuous"
    _curves = "auto"
    # the target may follow one
    _times_of_mixtures = 0.0

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the network.

        Parameters
        ----------
        X, y, sample_weight
            As of `BayesNetClassifier.fit`, but `y` has numbers.

        Raises
        ------
        GomeaBnError
            For a target that is constant, missing or infinite, for dates and text, and as `BayesNetLearner.fit`.
        ValueError
            As scikit-learn for arrays of a wrong shape.
        """
        frame = self._features(X, y=y, reset=True)
        values = _target_values(y, len(frame))
        counts, weights = _counted(sample_weight, len(frame))
        frame, values = frame[counts], _numbers(values[counts])
        if not np.isfinite(values).all():
            raise GomeaBnError("y must not hold missing or infinite values.")
        if values.min() == values.max():
            raise GomeaBnError(f"y must have at least two different values, got {values[0]:g} in all rows.")
        self.cells_ = Cells.of(values)
        self._learn(frame, values, _target_name(y, frame), weights)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the mean of the target given the features of every row, float64 (n_rows,).

        Rows are as of `fit`; cells may be missing.
        """
        return np.asarray(self._probabilities(X) @ self.cells_.values)

    def predict_interval(self, X: Any, quantiles: Sequence[float] = (0.05, 0.95)) -> pd.DataFrame:
        """Return mean, median and quantiles of the target for every row, by probabilities from 0 to 1.

        Rows are as of `fit`; cells may be missing. The columns, float64, are "mean", "median", and "5%" and so on for
        the quantiles. Median and quantiles are values of `cells_`.
        """
        levels = check_probabilities("quantiles", quantiles)
        probabilities = self._probabilities(X)
        columns = {
            "mean": probabilities @ self.cells_.values,
            "median": self.cells_.quantiles(probabilities, 0.5),
            **{f"{100 * level:g}%": self.cells_.quantiles(probabilities, level) for level in levels},
        }
        return pd.DataFrame(columns, index=getattr(X, "index", None))

    def _answer(self, density: DiscretizedBayesNet, frame: pd.DataFrame) -> NDArray[np.float64]:
        return cell_probabilities(density, frame, self.target_, self.cells_)


def _target_values(y: Any, n_rows: int) -> NDArray[Any]:
    """Return the target as an array (n_rows,)."""
    values = column_or_1d(y, warn=True)
    if len(values) != n_rows:
        raise GomeaBnError(f"X and y must have the same number of rows, got {n_rows} and {len(values)}.")
    return np.asarray(values)


def _counted(
    sample_weight: ArrayLike | None, n_rows: int
) -> tuple[NDArray[np.bool_], NDArray[np.float64] | None]:
    """Return which rows have a weight above 0, bool (n_rows,), and the weights of these, None without weights."""
    if sample_weight is None:
        return np.ones(n_rows, np.bool_), None
    weights = checked_weights(sample_weight, n_rows)
    return weights > 0, weights[weights > 0]


def _numbers(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return the values of a target as float64; raises for dates, which NumPy converts to nanoseconds, and for text."""
    wrong: Any = values[0] if values.dtype.kind not in "biufO" else None
    if values.dtype.kind == "O":
        wrong = next((value for value in values if isinstance(value, _NO_NUMBERS)), None)
    if wrong is None:
        try:
            return np.asarray(values, np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise GomeaBnError(f"y must hold numbers: {error}.") from error
    if isinstance(wrong, (str, bytes)):
        raise GomeaBnError(
            f"y must hold numbers, got the text '{wrong!s:.40}'.", ["convert it by pandas.to_numeric(y)"]
        )
    raise GomeaBnError(
        f"y must hold numbers. It holds dates or times, such as {wrong}.",
        [
            "predict a number, such as days since a date",
            "learn a network with them as a column and ask its predict",
        ],
    )


def _target_name(y: Any, features: pd.DataFrame) -> str:
    """Return the name of the target: that of a Series or of the only column of a frame.

    A target without a name is "target", or "target_2" and so on where features have that name.
    """
    columns = getattr(y, "columns", None)
    name = getattr(y, "name", None) if columns is None else columns[0]
    if name is not None and str(name).strip():
        return str(name)
    names = set(map(str, features.columns))
    numbered = (f"{_DEFAULT_TARGET}_{number}" for number in count(2))
    return next(free for free in chain([_DEFAULT_TARGET], numbered) if free not in names)
