"""The names that users import from `gomea_bn`."""

import importlib
import sys

import pytest

import gomea_bn
from gomea_bn.simulation import random_network


@pytest.mark.parametrize("name", gomea_bn.__all__)
def test_every_public_name_can_be_imported(name):
    assert getattr(gomea_bn, name).__module__.startswith("gomea_bn.")
    assert name in dir(gomea_bn)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'Learner'"):
        _ = gomea_bn.Learner


def test_the_former_name_of_simulation_warns():
    sys.modules.pop("gomea_bn.ground_truth", None)
    with pytest.warns(FutureWarning, match="gomea_bn.ground_truth is now called gomea_bn.simulation"):
        former = importlib.import_module("gomea_bn.ground_truth")
    assert former.random_network is random_network
