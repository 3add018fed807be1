"""Names and mappings of a wrong type are refused by methods of networks, with the name of the option."""

import numpy as np
import pandas as pd
import pytest
from wrong_input import untyped

from gomea_bn import DiscretizedBayesNet, ExpertNetwork, GomeaBnError, discretization, refine_boundaries
from gomea_bn.certainty import edge_probabilities
from gomea_bn.metrics import held_out_log_density
from gomea_bn.simulation import random_network

NO_MAPPINGS = [3, "X1", ["X1"], {"X1"}, True, np.array([1.0, 2.0]), pd.Series([1.0]), float("nan")]
NO_NAMES = [3, 1.5, True, b"X1", object(), {"X1": 1}.__len__, float("nan")]


@pytest.fixture(scope="module")
def network():
    return random_network(4, random_state=1)


@pytest.mark.parametrize("wrong", NO_MAPPINGS)
@pytest.mark.parametrize(
    ("option", "call"),
    [
        ("evidence", lambda network, wrong: network.most_probable(wrong)),
        ("evidence", lambda network, wrong: network.explain("X1", wrong)),
        ("evidence", lambda network, wrong: network.sample(3, evidence=wrong)),
        ("values", lambda network, wrong: network.do(wrong)),
        ("given", lambda network, wrong: network.conditional_density("X1", wrong)),
        ("given", lambda network, wrong: network.conditional_probabilities("X2", wrong)),
        ("cut_gains", lambda network, wrong: network.summary(wrong)),
        ("shapes", lambda network, wrong: network.changed(shapes=wrong)),
    ],
)
def test_an_option_that_maps_names_is_a_mapping(network, option, call, wrong):
    with pytest.raises(GomeaBnError, match=f"^{option} must map variable names to values, got "):
        call(network, untyped(wrong))


@pytest.mark.parametrize("wrong", NO_NAMES)
@pytest.mark.parametrize(
    ("option", "call"),
    [
        ("targets", lambda network, wrong: network.query(wrong)),
        ("targets", lambda network, wrong: network.most_probable(targets=wrong)),
        ("of", lambda network, wrong: network.log_density(network.sample(2), of=wrong)),
        ("given", lambda network, wrong: network.log_density(network.sample(2), given=wrong)),
        ("of", lambda network, wrong: network.log_density_terms(network.sample(2), of=wrong)),
        ("names", lambda network, wrong: network.in_order(wrong)),
        ("edge", lambda network, wrong: network.why(wrong)),
    ],
)
def test_an_option_that_holds_names_is_a_sequence(network, option, call, wrong):
    with pytest.raises(GomeaBnError, match=f"^{option} must be a name or a sequence of names, got "):
        call(network, untyped(wrong))


@pytest.mark.parametrize("wrong", [np.array([1, 2]), pd.Series([1.0, 2.0]), ["X1"], None])
def test_a_name_is_text(network, wrong):
    for method in (network.parents, network.ancestors, network.cardinality, network.bin_labels):
        with pytest.raises(GomeaBnError, match=r"^Unknown variable "):
            method(untyped(wrong))


def test_terms_of_one_name_are_those_of_this_name_alone():
    longer = random_network(11, random_state=1)
    terms = longer.log_density_terms(longer.sample(2, random_state=1), of="X10")
    assert list(terms) == ["X10"]
    with pytest.raises(GomeaBnError, match=r"^Unknown variable 'y'"):
        longer.log_density_terms(longer.sample(2, random_state=1), of=["y"])


@pytest.mark.parametrize("wrong", [3, None, "X1", ["X1"], [("X1", 2)], {"X1": "X2"}, [["X1", "X2", "X3"]]])
def test_edges_are_pairs_of_names(network, wrong):
    with pytest.raises(GomeaBnError, match=r"dges? must be (a pair|\(parent, child\) pairs) of names"):
        DiscretizedBayesNet.from_table(network.sample(50, random_state=1), untyped(wrong), network.cut_points)
    with pytest.raises(GomeaBnError, match=r"dges? must be (a pair|\(parent, child\) pairs) of names"):
        ExpertNetwork(["X1", "X2"], untyped(wrong))


def test_what_refines_and_judges_takes_the_right_types(network):
    rows = network.sample(50, random_state=1)
    for options, words in (
        ({"variables": 3}, "variables must be a name or a sequence of names"),
        ({"variables": [["X1"]]}, "variables: no continuous variable"),
        ({"callback": 3}, "callback must be a callable"),
        ({"scoring_method": np.array([1, 2])}, "scoring_method must be one of"),
    ):
        with pytest.raises(GomeaBnError, match=words):
            refine_boundaries(network, rows, **untyped(options))
    for name in ("MDLDiscretizer", "BayesianDiscretizer"):
        with pytest.raises(GomeaBnError, match="order must"):
            getattr(discretization, name)(order=untyped({"X1": None})).fit(rows)
    with pytest.raises(GomeaBnError, match="aggregate_levels"):
        discretization.MDLDiscretizer(aggregate_levels=untyped(np.array([1, 2]))).fit(rows)
    for call in (
        held_out_log_density,
        edge_probabilities,
        lambda wrong, _: ExpertNetwork(["X1"], [], network=wrong),
    ):
        with pytest.raises(GomeaBnError, match="network must be a DiscretizedBayesNet"):
            call(untyped("X1"), rows)
    with pytest.raises(GomeaBnError, match="metadata must map names to values"):
        network.changed(metadata=untyped([1]))
