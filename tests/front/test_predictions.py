"""Left-out predictions of a front about one column, held against networks that are counted without the rows."""

import copy
import json

import numpy as np
import pytest
from review_examples import example_front, question_front

from gomea_bn import DiscretizedBayesNet, Front, GomeaBnError, read_front, write_front
from gomea_bn.front.judged_rows import COVERAGES, SCALE, groups_of_equal_size
from gomea_bn.front.predictions import prediction_summary


def parts_of(values):
    """The rows by part: in the order of the target, and drawn with a fixed seed among equal ones."""
    rows = np.random.default_rng(0).permutation(len(values))
    ordered = rows[np.argsort(values[rows], kind="stable")]
    return [np.sort(ordered[part::10]) for part in range(10)]


def counted_without(front, network, part):
    """The network of the same graph and cuts, counted from all rows but those of a part."""
    rest = front.table.take(np.setdiff1d(np.arange(front.table.n_rows), part))
    return DiscretizedBayesNet.from_table(
        rest, network.edges, network.cut_points, pseudo_count=network.pseudo_count, metadata=network.metadata
    )


def answers(front, network, part):
    """The probabilities of the target by a network that does not count the rows, which lie in its ranges."""
    refitted = counted_without(front, network, part)
    frame = front.table.to_frame().iloc[part]
    for name, (low, high) in refitted.support.items():
        frame[name] = frame[name].clip(low, high)
    target = front.record["parameters"]["target"]
    return refitted.predict_proba(frame.drop(columns=target), target).to_numpy()


@pytest.mark.parametrize(
    ("pseudo_count", "metadata"), [(1.0, {}), ("auto", {}), ("auto", {"equivalent": True})]
)
def test_rows_are_counted_by_the_probability_of_a_network_that_does_not_count_their_part(
    pseudo_count, metadata
):
    front = question_front(n_rows=90, pseudo_count=pseudo_count, metadata=metadata)
    summary = prediction_summary(front)
    assert (summary["target"], summary["n_rows"]) == ("died", 90)
    column = next(column for column in front.table.columns if column.name == "died")
    for entry in summary["networks"][1::3]:
        losses = []
        for number, part in enumerate(parts_of(column.values)):
            shares = answers(front, front.network(entry["id"]), part)
            codes = column.values[part]
            losses += (-np.log(shares[np.arange(len(part)), codes])).tolist()
            for code in range(2):
                rows = {}
                for share, own in zip(shares[:, code], codes):
                    rows.setdefault(round(share * SCALE), [0, 0])[int(own != code)] += 1
                assert entry["levels"][code][number] == [[scaled, *rows[scaled]] for scaled in sorted(rows)]
        assert entry["loss"] == pytest.approx(np.mean(losses), abs=1e-12)
        assert entry["loss_error"] == pytest.approx(np.std(losses) / np.sqrt(90), abs=1e-12)


def test_the_prior_is_the_loss_of_the_shares_of_the_other_rows():
    front = question_front(n_rows=90)
    values = next(column for column in front.table.columns if column.name == "died").values
    losses = []
    for part in parts_of(values):
        counts = np.bincount(np.delete(values, part), minlength=2) + 0.5
        losses += (-np.log(counts / counts.sum())[values[part]]).tolist()
    assert prediction_summary(front)["prior"] == pytest.approx(np.mean(losses), abs=1e-12)


def test_the_networks_have_roles_and_spread_over_the_complexities():
    front = question_front()
    summary = prediction_summary(front)
    ids = [entry["id"] for entry in summary["networks"]]
    assert {front.recommended().candidate.index, front.knee().index, front.best("target").index} <= set(ids)
    assert len(set(ids)) == len(ids) <= 12
    sizes = [front.values[position, 1] for position in ids]
    assert sizes == sorted(sizes)
    assert 0 < summary["naive_bayes"] < summary["prior"] - 0.05


def test_a_continuous_target_has_groups_of_predictions_the_error_and_coverage():
    front = question_front(target="cost", n_rows=70)
    summary = prediction_summary(front)
    assert summary["naive_bayes"] is None
    values = front.table.to_frame()["cost"].to_numpy()
    for entry in summary["networks"]:
        network = front.network(entry["id"])
        bins = network.discretize(front.table.to_frame())["cost"].to_numpy()
        means, losses, below, asked = [], [], [], []
        for part in parts_of(values):
            # every value of the other parts with its share of the probability of its bin
            others = np.setdiff1d(np.arange(70), part)
            x, sizes = values[others], np.bincount(bins[others])
            for row, shares in zip(part, answers(front, network, part)):
                weights = (shares / sizes)[bins[others]]
                means.append(weights @ x)
                losses.append(weights @ abs(x - values[row]) - weights @ abs(x[:, None] - x) @ weights / 2)
                below.append(weights @ ((x < values[row]) + 0.5 * (x == values[row])))
                asked.append(values[row])
        assert entry["loss"] == pytest.approx(np.mean(losses), rel=1e-9)
        assert entry["rmse"] == pytest.approx(np.sqrt(np.mean(np.subtract(asked, means) ** 2)), rel=1e-9)
        covered = [np.mean(abs(2 * np.array(below) - 1) <= level + 1e-9) for level in COVERAGES]
        np.testing.assert_allclose(entry["coverage"], covered, rtol=0, atol=1e-12)
        counts, seen = zip(*((group[0], group[2]) for group in entry["groups"]))
        assert sum(counts) == 70
        assert np.average(seen, weights=counts) == pytest.approx(values.mean())
    # without predictors all rows of a part have one prediction, and stand together
    alone = [front.network(entry["id"]).edges for entry in summary["networks"]].index([])
    assert len(summary["networks"][alone]["groups"]) == 1


def test_equal_predictions_stay_in_one_group():
    predictions = np.array([0.3, 0.1, 0.3, 0.2, 0.3, 0.9])
    assert groups_of_equal_size(predictions, 3).tolist() == [1, 0, 1, 0, 1, 2]
    assert groups_of_equal_size(np.array([1.0, 2.0]), 2, np.array([9.0, 1.0])).tolist() == [0, 1]


def test_a_bin_without_other_values_predicts_its_middle():
    front = question_front(target="cost", n_rows=40)
    values = np.sort(front.table.to_frame()["cost"].to_numpy())
    cut = (values[-1] + values[-2]) / 2
    cuts = {"age": [], "creatinine": [], "noise": [], "cost": [cut]}
    network = DiscretizedBayesNet.from_table(front.table, [], cuts, pseudo_count=1.0)
    alone = Front(front.objectives, [[1.0, 2.0]], [network], table=front.table, record=front.record)
    [entry] = prediction_summary(alone)["networks"]
    misses = 0.0
    for part in parts_of(front.table.to_frame()["cost"].to_numpy()):
        rest = np.delete(front.table.to_frame()["cost"].to_numpy(), part)
        above = rest[rest > cut]
        n = len(rest) + 1.0
        mean_above = above.mean() if len(above) else (cut + values[-1]) / 2
        mean = (
            (len(rest) - len(above) + 0.5) * rest[rest <= cut].mean() + (len(above) + 0.5) * mean_above
        ) / n
        misses += ((front.table.to_frame()["cost"].to_numpy()[part] - mean) ** 2).sum()
    assert entry["rmse"] == pytest.approx(np.sqrt(misses / 40), rel=1e-9)


def test_only_rows_with_values_where_the_networks_look_are_judged():
    front = question_front(missing=0.2, n_rows=200)
    n_complete = 200 - front.table.to_frame()["age"].isna().sum()
    assert 100 < n_complete < 190
    assert prediction_summary(front)["n_rows"] == n_complete
    assert prediction_summary(front)["naive_bayes"] > 0


def test_without_a_question_or_its_rows_there_is_none():
    assert prediction_summary(example_front()) is None
    front = question_front(n_rows=60)
    other = question_front(n_rows=60, seed=8)
    assert prediction_summary(front.with_origin(table=other.table)) is None
    assert prediction_summary(question_front(n_rows=29)) is None


def test_the_folder_keeps_the_predictions_and_refuses_damaged_ones(tmp_path):
    front = question_front(n_rows=60)
    write_front(tmp_path, front)
    content = json.loads((tmp_path / "front.json").read_text())
    assert read_front(tmp_path).record["predictions"] == prediction_summary(front)
    damages = {
        "a level with more rows": lambda entry: entry["networks"][0]["levels"][0][0][0].__setitem__(1, 99),
        "a probability above 1": lambda entry: entry["networks"][0]["levels"][0][0][-1].__setitem__(
            0, SCALE + 1
        ),
        "no loss": lambda entry: entry["networks"][0].pop("loss"),
        "no networks": lambda entry: entry["networks"].clear(),
        "no number of rows": lambda entry: entry.pop("n_rows"),
        "a loss in words": lambda entry: entry.__setitem__("prior", "<b>"),
    }
    for damage in damages.values():
        broken = copy.deepcopy(content)
        damage(broken["record"]["predictions"])
        (tmp_path / "front.json").write_text(json.dumps(broken))
        with pytest.raises(GomeaBnError, match="predictions must have a target"):
            read_front(tmp_path)
