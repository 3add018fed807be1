"""Networks and histories for the tests of plots."""

import numpy as np

from gomea_bn import DiscretizedBayesNet, read_table
from gomea_bn.runtime import HistoryEntry


def binned_network(frame, edges, n_bins):
    """Return a network whose numeric columns have bins of equal frequency."""
    continuous = frame.select_dtypes("number").columns
    cuts = {name: np.quantile(frame[name], np.linspace(0, 1, n_bins + 1))[1:-1] for name in continuous}
    return DiscretizedBayesNet.from_table(read_table(frame), edges, cuts)


def entries(*steps):
    """Return the history of a run: seconds, evaluations and objective of every improvement."""
    return [HistoryEntry(seconds, n_eval, objective, 8) for seconds, n_eval, objective in steps]


FIRST = entries((0.1, 10, 50.0), (0.2, 30, 40.0))
SECOND = entries((0.3, 20, 45.0))
