"""One slow, plain scorer that judges every learner's graph on discrete rows."""

import math
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import gammaln

Edge: TypeAlias = tuple[str, str]
Codes: TypeAlias = NDArray[np.int64]


def codes_and_cards(frame: pd.DataFrame) -> tuple[Codes, list[int]]:
    """Return the level codes, shape (n_rows, n_variables), and the number of levels of each column."""
    codes = np.column_stack([frame[name].cat.codes.to_numpy() for name in frame.columns])
    return codes.astype(np.int64), [len(frame[name].cat.categories) for name in frame.columns]


def family_score(
    codes: Codes, cards: Sequence[int], child: int, parents: Sequence[int], score: str, ess: float
) -> float:
    """Return BDeu or BIC of one family, in nats, recomputed from level codes of shape (n_rows, n_variables).

    `cards` counts unobserved levels too; q is the product over the parents. BDeu: Heckerman, Geiger, Chickering
    (1995), with the prior count ess / (q r) of each cell. BIC: log likelihood - (ln n / 2) q (r - 1). Cells without
    rows add nothing to either score, so only the observed ones are visited.
    """
    q, r = math.prod(cards[parent] for parent in parents), cards[child]
    if q * r >= 2**62:
        raise OverflowError(
            f"The table of column {child} has {q * r} cells; family_score counts below 2**62."
        )
    joint = np.zeros(len(codes), dtype=np.int64)
    for parent in parents:
        joint = joint * cards[parent] + codes[:, parent]
    cells, cell_counts = np.unique(joint * r + codes[:, child], return_counts=True)
    _, inverse = np.unique(cells // r, return_inverse=True)
    row_counts = np.bincount(inverse, weights=cell_counts)
    if score == "bdeu":
        row_prior, cell_prior = ess / q, ess / (q * r)
        rows = gammaln(row_prior) - gammaln(row_counts + row_prior)
        return float(rows.sum() + (gammaln(cell_counts + cell_prior) - gammaln(cell_prior)).sum())
    if score == "bic":
        log_likelihood = (cell_counts * np.log(cell_counts / row_counts[inverse])).sum()
        return float(log_likelihood - 0.5 * math.log(len(codes)) * q * (r - 1))
    raise ValueError(f'score must be "bdeu" or "bic", got {score!r}.')


def network_score(frame: pd.DataFrame, edges: Iterable[Edge], score: str, ess: float) -> float:
    """Return the sum of the family scores of a network, in nats; ``edges`` are (parent, child) names."""
    codes, cards = codes_and_cards(frame)
    column = {name: i for i, name in enumerate(frame.columns)}
    parents: dict[str, list[int]] = {name: [] for name in frame.columns}
    for parent, child in edges:
        parents[child].append(column[parent])
    return sum(family_score(codes, cards, column[name], parents[name], score, ess) for name in frame.columns)
