"""Rows drawn from a network, parents before children."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import check_choice, check_integer
from gomea_bn.network.checks import random_generator
from gomea_bn.network.conditionals.family import Columns
from gomea_bn.network.graph import topological_order
from gomea_bn.network.rows import column_name, column_values, level_column
from gomea_bn.network.value_kinds import VALUES

if TYPE_CHECKING:
    import pandas as pd

    from gomea_bn.network.protocol import NetworkLike


def sampled_rows(
    network: NetworkLike,
    n: int,
    random_state: int | np.random.SeedSequence | np.random.Generator | None,
    values: str,
) -> pd.DataFrame:
    """Return `n` rows for `DiscretizedBayesNet.sample`, which describes the parameters."""
    check_integer("n", n, 0)
    check_choice("values", values, VALUES)
    return frame_of_draws(network, drawn_values(network, n, random_generator(random_state)), values)


def drawn_values(
    network: NetworkLike,
    n: int,
    generator: np.random.Generator,
    given: Mapping[str, NDArray[Any]] | None = None,
) -> dict[str, NDArray[Any]]:
    """Return draws of all variables: numbers, or codes of levels, each of shape (n,), by name.

    `given` has numbers or codes (n,) of variables that are not drawn; NaN, or a code below 0, for a value that is.
    Values are drawn given their parents alone, so that a draw has a weight: the density of the given values given their
    parents.
    """
    drawn: dict[str, NDArray[Any]] = {}
    columns = Columns(drawn)
    position = {name: v for v, name in enumerate(network.names)}
    parents = [[position[parent] for parent in network.parents(name)] for name in network.names]
    for v in topological_order(parents, network.names):
        name = network.names[v]
        known = given[name] if given and name in given else None
        is_unknown = (
            None if known is None else np.isnan(known) | (known < 0 if name in network.levels else False)
        )
        if known is None or is_unknown is None:
            drawn[name] = network.families[name].draw(columns, n, generator)
        elif is_unknown.any():
            drawn[name] = np.where(is_unknown, network.families[name].draw(columns, n, generator), known)
        else:
            drawn[name] = known
    return drawn


def frame_of_draws(network: NetworkLike, drawn: Mapping[str, NDArray[Any]], values: str) -> pd.DataFrame:
    """Return drawn numbers and level codes as columns of the kinds of their variables, in column order."""
    import pandas as pd

    levels = network.levels
    return pd.DataFrame(
        {
            column_name(network, name, values): level_column(network, name, drawn[name])
            if name in levels
            else column_values(network, name, drawn[name], values)
            for name in network.names
        }
    )
