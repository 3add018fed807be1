"""A table with gaps, tails and repeated values, and networks whose variables have the shapes of its columns."""

import numpy as np
import pandas as pd
from network_examples import network_with, small_network, with_parts
from shape_oracles import random_shape

from gomea_bn import DiscretizedBayesNet, Shape, fit_shape, read_table
from gomea_bn.data import Table


def shaped_table(n_rows: int = 400, seed: int = 0) -> Table:
    """Return rows of "cause" (two modes), "rain" (0 in about half of the rows), "tail" and "flat"."""
    rng = np.random.default_rng(seed)
    cause = np.where(rng.random(n_rows) < 0.5, 0.0, 6.0) + rng.normal(size=n_rows)
    wet = rng.random(n_rows) < np.where(cause > 3, 0.8, 0.2)
    frame = pd.DataFrame(
        {
            "cause": cause,
            "rain": np.where(wet, rng.gamma(2.0, 3.0, n_rows), 0.0),
            "tail": np.exp(2 * rng.normal(size=n_rows)),
            "flat": rng.random(n_rows),
        }
    )
    return read_table(frame, kinds=dict.fromkeys(frame.columns, "continuous"))


def point_at_a_cut(lower: float = 0.3) -> DiscretizedBayesNet:
    """Return a network of "x" on [0, 10] with a point mass at its cut 4, and of its child "y".

    `lower` is the probability of the lower bin of "x"; "y" is in its lower bin whenever "x" is.
    """
    shape = Shape([0.0, 10.0], [0.5], [0.7], {4.0: 0.4})
    return network_with(
        ["x", "y"], [("x", "y")], cut_points={"x": [4.0], "y": [0.25]},
        support={"x": (0.0, 10.0), "y": (0.0, 1.0)},
        tables={"x": [lower, 1 - lower], "y": [[1.0, 0.0], [0.0, 1.0]]}, shapes={"x": shape},
    )  # fmt: skip


def shaped_network(
    table: Table, n_bins: int = 4, *, metadata: dict[str, object] | None = None
) -> DiscretizedBayesNet:
    """Return a network with quantile bins in which every variable but "flat" has the shape of its column."""
    cuts = {}
    for column in table.columns:
        inner = np.unique(np.quantile(column.values, np.arange(1, n_bins) / n_bins))
        cuts[column.name] = inner[(inner > column.values.min()) & (inner < column.values.max())]
    return DiscretizedBayesNet.from_table(
        table,
        [("cause", "rain"), ("rain", "flat"), ("cause", "tail")],
        cuts,
        pseudo_count=1.0,
        shapes={c.name: fit_shape(c.values).shape for c in table.columns if c.name != "flat"},
        metadata=metadata,
    )


def random_network(seed: int, n_variables: int = 4) -> DiscretizedBayesNet:
    """A random network in which about half of the continuous variables have a random shape."""
    rng = np.random.default_rng(seed)
    plain = small_network(seed, n_variables)
    support, cut_points, shapes = plain.support, plain.cut_points, {}
    for name in support:
        if rng.random() < 0.5:
            shape = random_shape(int(rng.integers(1000)))
            shapes[name], support[name] = shape, (shape.low, shape.high)
            # some cuts at points
            candidates = np.concatenate((shape.point_values, rng.uniform(shape.low, shape.high, 6)))
            candidates = np.unique(candidates[(candidates > shape.low) & (candidates < shape.high)])
            inner = rng.choice(candidates, len(cut_points[name]), replace=False)
            cut_points[name] = np.sort(inner)
    return with_parts(plain, cut_points=cut_points, support=support, shapes=shapes, metadata={"seed": seed})
