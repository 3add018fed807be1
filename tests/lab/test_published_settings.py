"""The settings of the published method in the package are those of the laboratory."""

from __future__ import annotations

import pytest

from gomea_bn import BayesNetLearner
from gomea_bn.errors import GomeaBnError
from lab.published.algorithms import GOMEA_ALGORITHMS


@pytest.mark.parametrize("name", ["EW", "EF"])
def test_published_learners_have_the_settings_of_the_experiments(name):
    learner = BayesNetLearner.published(name, max_evaluations=500, random_state=1)
    expected = BayesNetLearner(density="bins", **GOMEA_ALGORITHMS[name], max_evaluations=500, random_state=1)
    assert repr(learner) == repr(expected)


def test_options_replace_published_ones_and_other_names_are_refused():
    assert BayesNetLearner.published("EF", max_bins=9).max_bins == 9
    with pytest.raises(GomeaBnError, match="name must be"):
        BayesNetLearner.published("BD")
