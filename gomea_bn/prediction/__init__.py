"""Classifier and regressor by scikit-learn's conventions, and cross-validation, of discretized Bayesian networks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.lazy import lazy_names

if TYPE_CHECKING:
    from gomea_bn.prediction.cross_validation import cross_validate
    from gomea_bn.prediction.estimators import BayesNetClassifier, BayesNetRegressor

__all__ = ["BayesNetClassifier", "BayesNetRegressor", "cross_validate"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "BayesNetClassifier": "gomea_bn.prediction.estimators",
        "BayesNetRegressor": "gomea_bn.prediction.estimators",
        "cross_validate": "gomea_bn.prediction.cross_validation",
    },
)
