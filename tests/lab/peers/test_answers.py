"""The benchmark of answers prints what it says, from small runs."""

import numpy as np
import pytest

from lab.peers import answers


@pytest.mark.long
def test_predictions_are_compared_by_column(run_lab) -> None:
    lines = run_lab("answers-predict", "--rows", "200", "--seconds", "1").splitlines()
    methods = ("conditional densities", "shown tables", "linear regression", "forest of 100 trees")
    assert all(any(method in line for line in lines) for method in methods)


def test_differences_of_a_network_from_its_own_draws_are_small() -> None:
    network = answers.learned(answers.with_levels(300, 1), 1.0)
    found = np.array(list(answers.differences(network, 40_000, 1)))
    assert len(found) >= 10
    assert found[:, 1].max() < 5


@pytest.mark.long
def test_a_wrong_answer_is_far_from_the_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    network = answers.learned(answers.with_levels(300, 1), 1.0)
    query = type(network).query

    def wrong(self, target, evidence):
        answer = query(self, target, evidence)
        shifted = 0.9 * answer + 0.1 * np.eye(len(answer))[0]
        shifted.attrs = answer.attrs
        return shifted

    monkeypatch.setattr(type(network), "query", wrong)
    assert max(found[1] for found in answers.differences(network, 40_000, 1)) > 10


def test_rows_of_another_law_are_warned_of():
    network = answers.learned(answers.with_levels(300, 1), 60.0)
    rows = network.sample(1_500, 3)
    pages, warned = answers.warnings_of(network.with_rows(rows))
    assert (pages, warned) == (len(network.names), 0)
    turned = rows.assign(answer=rows["answer"].to_numpy()[::-1])
    assert answers.warnings_of(network.with_rows(turned))[1] >= 2
