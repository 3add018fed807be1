"""The contract of scikit-learn's estimators."""

import warnings

from sklearn.utils.estimator_checks import parametrize_with_checks

from gomea_bn import BayesNetClassifier, BayesNetLearner, BayesNetRegressor


def learner() -> BayesNetLearner:
    """Return a learner that is quick and independent of the clock."""
    return BayesNetLearner(max_seconds=None, max_evaluations=300)


@parametrize_with_checks(
    [
        BayesNetClassifier(learner(), structure="root"),
        BayesNetRegressor(learner(), structure="free"),
        BayesNetClassifier(learner(), structure="augmented"),
    ]
)
def test_contract_of_scikit_learn(estimator, check):
    with warnings.catch_warnings():
        # the rows of the checks are constant, repeated and outside the range of the training rows
        warnings.simplefilter("ignore", UserWarning)
        check(estimator)
