"""Rows drawn from a network without evidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import check_choice, check_integer
from gomea_bn.network.checks import random_generator
from gomea_bn.network.tables import draw_codes, draw_in_bins, family_index
from gomea_bn.network.value_kinds import VALUES, column_name, column_values, level_column

if TYPE_CHECKING:
    import pandas as pd

    from gomea_bn.network.bayes_net import DiscretizedBayesNet
    from gomea_bn.network.protocol import NetworkLike

__all__ = ["frame_of_draws", "sampled_rows", "values_in_bins"]


def sampled_rows(
    network: DiscretizedBayesNet,
    n: int,
    random_state: int | np.random.SeedSequence | np.random.Generator | None,
    values: str,
) -> pd.DataFrame:
    """Return `n` rows for `DiscretizedBayesNet.sample`, which describes the parameters."""
    check_integer("n", n, 0)
    check_choice("values", values, VALUES)
    generator = random_generator(random_state)
    names = network.names
    position_of = {name: position for position, name in enumerate(names)}
    cards = [network.cardinality(name) for name in names]
    tables, cut_points = network.tables, network.cut_points
    codes = [np.zeros(n, dtype=np.int32) for _ in names]
    drawn: dict[str, NDArray[Any]] = {}
    for name in network.order:
        position = position_of[name]
        card = cards[position]
        parents = [position_of[parent] for parent in network.table_parents(name)]
        rows = family_index(codes, parents, position, cards) // card
        codes[position] = draw_codes(tables[name].reshape(-1, card), rows, generator)
        drawn[name] = (
            values_in_bins(network, name, codes[position], generator)
            if name in cut_points
            else codes[position]
        )
    return frame_of_draws(network, drawn, values)


def values_in_bins(
    network: NetworkLike, name: str, codes: NDArray[np.int32], generator: np.random.Generator
) -> NDArray[np.float64]:
    """Return one drawn value of a continuous variable for each of some bins, float64 (n,)."""
    cuts = network.cut_points[name]
    if name in network.shapes:
        return network.shapes[name].inside(codes, cuts, generator.random(len(codes)))
    return draw_in_bins(codes, cuts, network.support[name], generator)


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
