"""What users of a front's learner meet beside the search itself."""

import pickle

import numpy as np
import pandas as pd
import pytest

from gomea_bn.errors import GomeaBnError
from gomea_bn.learning.pareto_learner import OwnObjective, ParetoBayesNetLearner


def test_a_fitted_learner_and_its_front_can_be_pickled():
    frame = pd.DataFrame({"a": np.arange(40.0) % 7, "b": np.arange(40.0) ** 2})
    learner = ParetoBayesNetLearner(max_evaluations=300, random_state=1).fit(frame)
    copied = pickle.loads(pickle.dumps(learner))
    assert copied.front_.run_hash == learner.front_.run_hash
    assert copied.front_.knee().network == learner.front_.knee().network


def test_without_an_expert_a_wide_table_leaves_room_for_edges():
    generator = np.random.default_rng(0)
    x = generator.normal(size=(30, 1))
    frame = pd.DataFrame(x + 0.1 * generator.normal(size=(30, 12)))
    learner = ParetoBayesNetLearner(max_evaluations=4000, random_state=1).fit(frame)
    assert learner.front_.record["parameters"]["max_complexity"] == 120
    assert learner.front_.best("misfit").network.edges


@pytest.mark.parametrize("answer", ["much", None, [1.0]])
def test_an_own_objective_that_is_no_number_is_refused(answer):
    frame = pd.DataFrame({"a": np.arange(40.0) % 7, "b": np.arange(40.0) ** 2})
    own = OwnObjective("odd", lambda _edges, _cuts: answer)
    with pytest.raises(GomeaBnError, match="'odd' must return a number, got"):
        ParetoBayesNetLearner(objectives=["misfit", own], max_evaluations=50, random_state=1).fit(frame)


def test_an_own_objective_cannot_take_the_name_of_a_column_of_the_front():
    frame = pd.DataFrame({"a": np.arange(40.0) % 7, "b": np.arange(40.0) ** 2})
    own = OwnObjective("n_edges", lambda edges, _cuts: float(len(edges)))
    with pytest.raises(GomeaBnError, match="must not have the name 'n_edges'"):
        ParetoBayesNetLearner(objectives=["misfit", own], max_evaluations=50, random_state=1).fit(frame)
