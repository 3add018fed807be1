"""Predictions of the target of a front, of a choice of its networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gomea_bn.front.front import Front
from gomea_bn.front.judged_rows import FEWEST_ROWS, JudgedRows, counts_rows_of, error_of_loss
from gomea_bn.front.objectives import COMPLEXITY, TARGET, target_of
from gomea_bn.network.bayes_net import DiscretizedBayesNet

# networks with predictions, and those of them that are close to the best one or have a role
_MOST_NETWORKS, _MOST_CLOSE = 12, 8


def prediction_summary(front: Front) -> dict[str, Any] | None:
    """Return how well networks of a front predict its target on rows that their tables leave out, as JSON values.

    There are at most 12 networks: the recommended one, the knee, the best prediction, the single network, and others
    with evenly spread complexities, first among those whose loss is within one standard error of the least one. The
    rows are those with values in all columns on which one of them predicts, at most 5,000 drawn with a fixed seed. They
    stand in ten parts with alike distributions of the target, and the tables that predict a part count all other rows.
    The graph and the cuts are those of all rows.

    Returns
    -------
    dict or None
        None without a target or its rows, for tables that do not count these rows, and for fewer than 30 rows.
        Otherwise "target" and "n_rows"; "prior", the mean loss of a network without edges; "naive_bayes", that of the
        edges from the target to all other columns, with cuts of `MDLP`, None for a continuous target, for more than 50
        levels, and if a value of these rows is missing; and "networks" by ascending complexity. Each has its "id" in
        the whole front, its mean "loss", a cross-entropy in nats or a CRPS in units of the target, and its standard
        error "loss_error".

        For a discrete target a network has "levels": by level and part of the rows a list of [probability times 10,000,
        number of rows with the level, number of rows without it], by ascending probability. For a continuous one it has
        "groups": [number of rows, mean prediction, mean value, standard deviation of the values] of groups of rows by
        ascending prediction among those of their part; "rmse", the root of the mean squared error of the predicted
        means; and "coverage": the shares of the rows in the central intervals with the probabilities `COVERAGES`.

    Notes
    -----
    Probabilities are compared inside a part only. Rows of one part with the same values have the same probability.
    Across parts they do not: a part with more rows of a level leaves fewer of them to its tables.
    """
    table, target = front.table, target_of(front.record) if TARGET.name in front.names else None
    if target is None or table is None or target not in table.names:
        return None
    # those that the page names come first
    roles = [front.recommended().candidate, front.knee(), front.best(TARGET.name), front.single]
    named = [role.index for role in roles if role is not None]
    positions = _spread(front, named, error_of_loss(front.best(TARGET.name).network, table, target) or 0.0)
    networks = [front.network(position) for position in positions]
    rows = JudgedRows.of(table, target, networks)
    if rows.n_rows < FEWEST_ROWS or not all(counts_rows_of(one, table, target) for one in networks):
        return None
    pseudo_count = networks[0].pseudo_count or 0.0
    cuts = {target: networks[0].cut_points[target]} if target in networks[0].cut_points else {}
    alone = DiscretizedBayesNet.from_table(table.in_order([target]), [], cuts, pseudo_count=pseudo_count)
    return {
        "target": target,
        "n_rows": rows.n_rows,
        "prior": rows.judged(alone)["loss"],
        "naive_bayes": rows.loss_of_naive_bayes(pseudo_count),
        "networks": [
            {"id": front.original_index[position], **rows.judged(network)}
            for position, network in zip(positions, networks, strict=True)
        ],
    }


def _spread(front: Front, first: Sequence[int], error: float) -> list[int]:
    """Return some positions and others of evenly spread complexity, by ascending complexity.

    Networks whose loss exceeds the least one by at most `error` come before others.
    """
    losses = front.values[:, front.names.index(TARGET.name)]
    sizes = front.values[:, front.names.index(COMPLEXITY.name)] if COMPLEXITY.name in front.names else losses
    order = np.lexsort((losses, sizes))
    chosen = dict.fromkeys(first)
    is_close = losses[order] <= losses.min() + error
    for some, most in ((order[is_close], _MOST_CLOSE), (order, _MOST_NETWORKS)):
        rest = [position for position in some.tolist() if position not in chosen]
        n = min(len(rest), max(0, most - len(chosen)))
        chosen |= dict.fromkeys(rest[k] for k in np.linspace(0, len(rest) - 1, n).round().astype(int))
    return [position for position in order.tolist() if position in chosen]
