"""Slow plain-Python answers of networks, by enumeration of all states, and random evidence to ask for."""

import numpy as np
from network_examples import all_states, joint_probability
from numpy.typing import NDArray

from gomea_bn import DiscretizedBayesNet
from gomea_bn.network.inference.question import Evidence


def row_likelihoods(
    network: DiscretizedBayesNet, evidence: Evidence, row: int
) -> dict[str, NDArray[np.float64]]:
    """Return the likelihood of the evidence of a row by variable."""
    likelihoods = {}
    for v, name in enumerate(network.names):
        code, card = int(evidence.codes[row, v]), network.cardinality(name)
        if code >= 0:
            likelihoods[name] = np.eye(card)[code]
        else:
            likelihoods[name] = evidence.weights[v][row] if v in evidence.weights else np.ones(card)
    return likelihoods


def slow_joint(
    network: DiscretizedBayesNet, likelihoods: dict[str, NDArray[np.float64]], targets: list[str]
) -> NDArray[np.float64]:
    """Return P(targets, evidence), one axis per target, by enumeration."""
    joint = np.zeros([network.cardinality(name) for name in targets])
    for codes in all_states(network):
        weight = joint_probability(network, codes)
        for name, likelihood in likelihoods.items():
            weight *= float(likelihood[codes[name]])
        joint[tuple(codes[name] for name in targets)] += weight
    return joint


def random_evidence(
    network: DiscretizedBayesNet, n_rows: int, seed: int, *, hidden: tuple[int, ...] = ()
) -> Evidence:
    """Return rows of which about half of the cells are observed; one variable has weights in some rows."""
    rng = np.random.default_rng(seed)
    cards = [network.cardinality(name) for name in network.names]
    codes = np.column_stack([rng.integers(card, size=n_rows) for card in cards]).astype(np.int32)
    codes[rng.random(codes.shape) < 0.5] = -1
    codes[:, list(hidden)] = -1
    position = int(rng.integers(len(cards)))
    if position in hidden:
        return Evidence(codes, {})
    weights = rng.random((n_rows, cards[position]))
    weights[rng.random(n_rows) < 0.3] = 1.0
    return Evidence(codes, {position: weights})
