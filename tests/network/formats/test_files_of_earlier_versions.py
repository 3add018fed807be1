"""Files that releases 0.1 and 0.2 wrote are read: networks in every format, and the folder of a front."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gomea_bn import DiscretizedBayesNet, read_front, write_front

FOLDER = Path(__file__).parent / "earlier_versions"


@pytest.fixture(scope="module")
def rows():
    """Return the rows that the files were made from."""
    rng = np.random.default_rng(1)
    age = rng.uniform(20, 80, 60).round(1)
    smoker = rng.random(60) < 0.4
    cough = rng.random(60) < 0.1 + 0.4 * smoker + age / 400
    words = {"smoker": np.where(smoker, "yes", "no"), "cough": np.where(cough, "yes", "no")}
    return pd.DataFrame({"age": age, **words, "visits": rng.integers(0, 6, 60)})


@pytest.mark.parametrize("version", ["0.1", "0.2"])
def test_networks_are_those_of_the_same_rows(version, rows):
    network = DiscretizedBayesNet.from_file(FOLDER / version / "network.json")
    again = DiscretizedBayesNet.from_table(
        rows, [("smoker", "cough"), ("age", "cough")], {"age": [40.0, 60.0]}
    )
    assert network == again
    # as both releases printed them
    np.testing.assert_allclose(
        network.log_density(rows.iloc[:3]), [-7.32757713, -7.07770061, -6.80651267], atol=1e-8
    )


@pytest.mark.parametrize("ending", ["bif", "xdsl", "net", "uai"])
def test_files_for_other_programs_have_the_tables(ending):
    network = DiscretizedBayesNet.from_file(FOLDER / "0.2" / "network.json")
    read = DiscretizedBayesNet.from_file(FOLDER / "0.2" / f"network.{ending}")
    assert len(read.names) == len(network.names)
    for name, other in zip(network.names, read.names, strict=True):
        np.testing.assert_allclose(read.tables[other], network.tables[name], rtol=1e-6)


def test_a_front_is_read_and_written_again_in_the_present_form(tmp_path):
    front = read_front(FOLDER / "0.2" / "front")
    printed = pd.read_csv(FOLDER / "0.2" / "front" / "front.csv")
    assert [candidate.objectives["misfit"] for candidate in front] == printed["misfit"].tolist()
    assert [len(candidate.network.edges) for candidate in front] == printed["n_edges"].tolist()
    assert any(candidate.network.edges for candidate in front)
    written = write_front(tmp_path / "front", front)
    assert {path.name for path in written} == {"front.csv", "front.json", "networks.gz"}
    again = read_front(tmp_path / "front")
    assert [candidate.network for candidate in again] == [candidate.network for candidate in front]
