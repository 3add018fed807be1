"""The part of a page about one column: how well networks predict it on rows that their tables leave out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.front.front import Front
from gomea_bn.front.judged_rows import COVERAGES, SCALE, groups_of_equal_size, is_prediction_summary
from gomea_bn.front.objectives import TARGET, target_of
from gomea_bn.front.predictions import prediction_summary
from gomea_bn.network.bayes_net import DiscretizedBayesNet

Floats = NDArray[np.float64]

# quantile of the normal distribution that leaves 2.5 % above
_TWO_SIDED = 1.959963984540054
_N_GROUPS = 10
# of the rows without a level, at which a characteristic has points
_FALSE_ALARMS = np.arange(101) / 100


def question_data(front: Front, ids: Sequence[int]) -> dict[str, Any] | None:
    """Return the page's data of the question of a front, None for a front without one.

    "target" is the position of the column, and "note" why there are no predictions, None if there are some. Then
    "n_rows", "prior" and "naive_bayes" are those of `prediction_summary`; "networks" has the curves of every network of
    the page, by its position, None for one without predictions; and "plausible" the positions of those whose loss
    exceeds the least one by at most its standard error.
    """
    target = target_of(front.record) if TARGET.name in front.names else None
    network = front.network(0)
    if target is None or target not in network.names:
        return None
    data: dict[str, Any] = {"target": network.names.index(target), "note": None}
    stored = prediction_summary(front) if front.table is not None else front.record.get("predictions")
    if stored is None:
        reason = "the page was made without the rows"
        if front.table is not None:
            reason = "too few rows have all values that it takes, or the tables do not count these rows"
        return {**data, "note": f"There are no left-out predictions: {reason}."}
    if not is_prediction_summary(stored) or not _fits(stored, network, target):
        return {**data, "note": "The left-out predictions of the front are damaged; write the front again."}
    by_id = {entry["id"]: entry for entry in stored["networks"]}
    entries = [by_id.get(front.original_index[position]) for position in ids]
    if not any(entries):
        return {**data, "note": "The left-out predictions are of networks that this page does not show."}
    losses = front.values[list(ids), front.names.index(TARGET.name)]
    judged = [position for position, entry in enumerate(entries) if entry is not None]
    best = min(judged, key=lambda position: float(losses[position]))
    error = by_id[front.original_index[ids[best]]]["loss_error"]
    return {
        **data,
        **{key: stored[key] for key in ("n_rows", "prior", "naive_bayes")},
        "coverages": list(COVERAGES),
        "networks": [None if entry is None else _curves(entry) for entry in entries],
        "plausible": [position for position in judged if losses[position] <= losses[best] + error],
    }


def _fits(stored: Mapping[str, Any], network: DiscretizedBayesNet, target: str) -> bool:
    """Return whether a summary of predictions is about a target and has its levels."""
    levels = network.levels.get(target)
    sizes = {len(entry["levels"]) if "levels" in entry else None for entry in stored["networks"]}
    return stored["target"] == target and sizes == {None if levels is None else len(levels)}


def _curves(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page draws of the predictions of one network."""
    losses = {"loss": entry["loss"], "loss_error": entry["loss_error"]}
    if "levels" not in entry:
        return {**losses, **{key: entry[key] for key in ("rmse", "groups", "coverage")}}
    return {**losses, "levels": [level_curves(parts) for parts in entry["levels"]]}


def level_curves(parts: Sequence[Sequence[Sequence[int]]]) -> dict[str, Any]:
    """Return how the probabilities of one level tell rows with it from rows without it.

    Parameters
    ----------
    parts : sequence of sequences of [probability times 10,000, rows with the level, rows without it]
        By part of the rows and ascending probability; see `gomea_bn.front.predictions.prediction_summary`.

    Returns
    -------
    dict
        "share" of the rows with the level and mean probability "expected". "auc" is the area under the receiver
        operating characteristic, the share of the pairs inside parts that stand in the right order, with its 95 %
        interval on the scale of log odds (LeDell, Petersen & van der Laan, "Computationally efficient confidence
        intervals for cross-validated area under the ROC curve estimates", 2015); None without two rows of either kind.
        "roc" is the mean characteristic of the parts, 101 shares of the rows with the level that are found at 0 % to
        100 % of those without it. "calibration" has groups of about equally many rows of every part: [mean probability,
        share with the level, lower and upper end of its 95 % interval, number of rows] (Wilson, "Probable inference,
        the law of succession, and statistical inference", 1927). "net_benefit" is that of acting on rows whose
        probability is at least 1 % to 99 % (Vickers & Elkin, "Decision curve analysis", 2006).
    """
    tables = [np.asarray(part, np.float64).reshape(-1, 3) for part in parts]
    rows = np.concatenate(tables)
    sizes = rows[:, 1] + rows[:, 2]
    n = float(sizes.sum())
    # a part with rows of one kind has no pairs
    paired = [table for table in tables if table[:, 1].any() and table[:, 2].any()]
    return {
        "share": float(rows[:, 1].sum() / n),
        "expected": float(rows[:, 0] @ sizes / SCALE / n),
        "auc": _auc(paired),
        "roc": _roc(paired),
        "calibration": _calibration(tables),
        "net_benefit": _net_benefit(rows, n),
    }


def _auc(tables: Sequence[Floats]) -> list[float] | None:
    """Return the area under the curve and its interval."""
    n_having, n_lacking = (sum(float(table[:, kind].sum()) for table in tables) for kind in (1, 2))
    if min(n_having, n_lacking) < 2:
        return None
    n_pairs = sum(float(table[:, 1].sum() * table[:, 2].sum()) for table in tables)
    # of every row, the share of the rows of the other kind in its part that it is right about, half of equal ones
    placements = []
    for _, having, lacking in (table.T for table in tables):
        above = (lacking.cumsum() - lacking / 2) / lacking.sum()
        placements.append((having, above, lacking, 1 - (having.cumsum() - having / 2) / having.sum()))
    auc = sum(float(having @ above * lacking.sum()) for having, above, lacking, _ in placements) / n_pairs
    if not 0 < auc < 1:
        return [auc, auc, auc]
    variance = sum(
        float(having @ (above - auc) ** 2) / (n_having - 1) / n_having
        + float(lacking @ (below - auc) ** 2) / (n_lacking - 1) / n_lacking
        for having, above, lacking, below in placements
    )
    half = _TWO_SIDED * sqrt(variance) / (auc * (1 - auc))
    return [auc, *(1 / (1 + exp(-log(auc / (1 - auc)) - sign * half)) for sign in (-1, 1))]


def _roc(tables: Sequence[Floats]) -> list[float]:
    """Return the mean receiver operating characteristic of the parts."""
    found = np.zeros(len(_FALSE_ALARMS))
    n_having = sum(float(table[:, 1].sum()) for table in tables)
    for _, having, lacking in (table[::-1].T for table in tables):
        x, y = (np.concatenate(([0.0], counts.cumsum())) / counts.sum() for counts in (lacking, having))
        # where the curve is vertical, the next number is a little further
        steps = np.arange(len(x)) * 1e-9
        found += having.sum() / n_having * np.interp(_FALSE_ALARMS, x + steps, y)
    # the whole curve ends in the corner
    found[-1] = 1.0
    return found.round(4).tolist()


def _calibration(tables: Sequence[Floats]) -> list[list[float]]:
    """Return groups of rows by ascending probability in their part."""
    sums = np.zeros((_N_GROUPS, 3))
    for table in tables:
        sizes = table[:, 1] + table[:, 2]
        group_of = groups_of_equal_size(table[:, 0], _N_GROUPS, sizes)
        np.add.at(sums, group_of, np.column_stack([table[:, 0] / SCALE * sizes, table[:, 1], sizes]))
    groups = []
    for predicted, n_having, n in sums[sums[:, 2] > 0].tolist():
        shares = predicted / n, n_having / n, *_wilson(n_having, n)
        groups.append([*(round(share, 4) for share in shares), int(n)])
    return groups


def _wilson(n_having: float, n: float) -> tuple[float, float]:
    """Return the 95 % interval of a share of rows."""
    square = _TWO_SIDED**2
    middle = (n_having + square / 2) / (n + square)
    half = _TWO_SIDED / (n + square) * sqrt(n_having * (n - n_having) / n + square / 4)
    return middle - half, middle + half


def _net_benefit(rows: Floats, n: float) -> list[float]:
    """Return the net benefit per row of acting on rows with a probability of at least 1 % to 99 %."""
    scaled, having, lacking = rows.T
    benefits = []
    for percentage in range(1, 100):
        acts = scaled >= percentage * SCALE / 100
        cost = percentage / (100 - percentage)
        benefits.append(round(float(having[acts].sum() - cost * lacking[acts].sum()) / n, 5))
    return benefits
