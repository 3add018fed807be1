"""Networks whose families are averages over bins and line regressions: their densities, answers and exports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.lazy import lazy_names

if TYPE_CHECKING:
    from gomea_bn.network.averaged.network import AveragedBayesNet

__all__ = ["AveragedBayesNet"]

__getattr__, __dir__ = lazy_names(__name__, {"AveragedBayesNet": "gomea_bn.network.averaged.network"})
