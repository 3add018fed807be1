"""The names that users import from `gomea_bn`."""

import pytest

import gomea_bn


@pytest.mark.parametrize("name", gomea_bn.__all__)
def test_every_public_name_can_be_imported(name):
    assert getattr(gomea_bn, name).__module__.startswith("gomea_bn.")
    assert name in dir(gomea_bn)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'Learner'"):
        _ = gomea_bn.Learner
