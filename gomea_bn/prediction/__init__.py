"""Classifier and regressor by scikit-learn's conventions, whose model is a discretized Bayesian network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.lazy import lazy_names

if TYPE_CHECKING:
    from gomea_bn.prediction.estimators import BayesNetClassifier, BayesNetRegressor

__all__ = ["BayesNetClassifier", "BayesNetRegressor"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "BayesNetClassifier": "gomea_bn.prediction.estimators",
        "BayesNetRegressor": "gomea_bn.prediction.estimators",
    },
)
