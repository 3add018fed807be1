"""Networks do not depend on the order of the columns of a table nor on their names, bit for bit."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table_examples import curved_rows

from gomea_bn import BayesNetEnsemble, BayesNetLearner, ParetoBayesNetLearner

WITHOUT_CLOCK: dict[str, Any] = {"max_seconds": None, "random_state": 1}
COLUMNS = ("a", "b", "c", "d", "e")


def rows(has_gaps, n_rows=150):
    """Return three continuous columns that follow each other, of which two have no ties, and two discrete ones."""
    rng = np.random.default_rng(9)
    frame = curved_rows(8, n_rows).assign(e=rng.integers(0, 3, n_rows).astype(str))
    return frame.mask(rng.random(frame.shape) < 0.1) if has_gaps else frame


def of_learner(frame):
    return [BayesNetLearner(max_evaluations=200, **WITHOUT_CLOCK).fit(frame).network_]


def of_many_rows(source):
    return [BayesNetLearner(max_evaluations=60, sample_rows=1_000, **WITHOUT_CLOCK).fit(source).network_]


def of_pieces(frame):
    return of_many_rows([frame.iloc[:700], frame.iloc[700:]])


def of_ensemble(frame):
    learner = BayesNetLearner(max_seconds=None, max_evaluations=50)
    return BayesNetEnsemble(learner, n_networks=2, random_state=1).fit(frame).networks_


def of_front(frame):
    front = ParetoBayesNetLearner(max_evaluations=200, **WITHOUT_CLOCK).fit(frame).front_
    return [front.network(k) for k in range(len(front))]


N_ROWS = {of_learner: 150, of_many_rows: 1_100, of_pieces: 1_100, of_ensemble: 150, of_front: 150}
KNOWN: dict[Any, Any] = {}


def networks_of(learned, has_gaps):
    """Return what is learned from the columns in the order of their names, which is learned once."""
    if (learned, has_gaps) not in KNOWN:
        KNOWN[learned, has_gaps] = learned(rows(has_gaps, N_ROWS[learned]))
    return KNOWN[learned, has_gaps]


@pytest.mark.sample(1)
@pytest.mark.parametrize("learned", [of_learner, of_many_rows, of_pieces, of_ensemble, of_front])
@pytest.mark.parametrize("has_gaps", [False, True])
@settings(max_examples=2, deadline=None)
@given(order=st.permutations(COLUMNS).filter(lambda order: order != list(COLUMNS)))
def test_networks_of_permuted_columns_are_equal(learned, has_gaps, order):
    networks = learned(rows(has_gaps, N_ROWS[learned])[order])
    assert all(network.names == tuple(order) for network in networks)
    assert [network.in_order(COLUMNS) for network in networks] == networks_of(learned, has_gaps)


@pytest.mark.parametrize("learned", [of_learner, of_front])
def test_names_change_nothing(learned):
    names = dict(zip(COLUMNS, "zxyvw", strict=True))
    frame = rows(has_gaps=False)
    for network, other in zip(
        networks_of(learned, has_gaps=False), learned(frame.rename(columns=names)), strict=True
    ):
        assert [(names[parent], names[child]) for parent, child in network.edges] == other.edges
        for name, cuts in network.cut_points.items():
            np.testing.assert_array_equal(other.cut_points[names[name]], cuts)
        for name, table in network.tables.items():
            np.testing.assert_array_equal(other.tables[names[name]], table)
