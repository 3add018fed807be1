"""Rows drawn from a network without evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gomea_bn.errors import check_choice, check_integer
from gomea_bn.network.checks import random_generator
from gomea_bn.network.tables import draw_codes, draw_in_bins, family_index
from gomea_bn.network.value_kinds import VALUES, level_column, own_name, own_values

if TYPE_CHECKING:
    import pandas as pd

    from gomea_bn.network.bayes_net import DiscretizedBayesNet

__all__ = ["sampled_rows"]


def sampled_rows(
    network: DiscretizedBayesNet,
    n: int,
    random_state: int | np.random.SeedSequence | np.random.Generator | None,
    values: str,
) -> pd.DataFrame:
    """Return `n` rows for `DiscretizedBayesNet.sample`, which describes the parameters."""
    import pandas as pd

    check_integer("n", n, 0)
    check_choice("values", values, VALUES)
    generator = random_generator(random_state)
    names = network.names
    position_of = {name: position for position, name in enumerate(names)}
    cards = [network.cardinality(name) for name in names]
    tables, shapes, cut_points, support = network.tables, network.shapes, network.cut_points, network.support
    codes = [np.zeros(n, dtype=np.int32) for _ in names]
    drawn: dict[str, Any] = {}
    for name in network.order:
        position = position_of[name]
        card = cards[position]
        parents = [position_of[parent] for parent in network.table_parents(name)]
        rows = family_index(codes, parents, position, cards) // card
        codes[position] = draw_codes(tables[name].reshape(-1, card), rows, generator)
        if name in shapes:
            drawn[name] = shapes[name].inside(codes[position], cut_points[name], generator.random(n))
        elif name in cut_points:
            drawn[name] = draw_in_bins(codes[position], cut_points[name], support[name], generator)
        else:
            drawn[name] = level_column(network, name, codes[position])
            continue
        drawn[name] = own_values(network, name, drawn[name], values)
    return pd.DataFrame({own_name(network, name, values): drawn[name] for name in names})
