"""Classifier and regressor by scikit-learn's conventions, and cross-validation, of discretized Bayesian networks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.lazy import public_names

if TYPE_CHECKING:
    from gomea_bn.prediction.cross_validation import cross_validate as cross_validate
    from gomea_bn.prediction.estimators import BayesNetClassifier as BayesNetClassifier
    from gomea_bn.prediction.estimators import BayesNetRegressor as BayesNetRegressor

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
