"""Former name of `gomea_bn.simulation`, which works until the next version."""

import warnings

from gomea_bn.simulation import random_network

__all__ = ["random_network"]

warnings.warn("gomea_bn.ground_truth is now called gomea_bn.simulation.", FutureWarning, stacklevel=2)
