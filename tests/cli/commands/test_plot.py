"""Pictures of the command `show`."""

import re

import numpy as np
import pandas as pd
import pytest
from command_line import invoke, ok, refused

from gomea_bn import DiscretizedBayesNet, read_table


@pytest.fixture(scope="module")
def network():
    generator = np.random.default_rng(0)
    x = generator.normal(size=300)
    y = x + 0.5 * generator.normal(size=300)
    frame = pd.DataFrame({"x": x, "y": y, "<k>": np.where(y > 0, "a&b", "c")})
    edges = [("x", "y"), ("y", "<k>")]
    return DiscretizedBayesNet.from_table(
        frame, edges, {"x": [0.0], "y": [-0.5, 0.5]}, metadata={"n_rows": 300}
    )


@pytest.fixture
def folder(tmp_path, network):
    network.to_json(tmp_path / "network.json")
    network.sample(50, 1).to_csv(tmp_path / "data.csv", index=False)
    return tmp_path


@pytest.mark.sample(1)
@pytest.mark.parametrize("ending", [".svg", ".png", ".pdf"])
def test_pictures_of_networks_and_densities_are_written(folder, ending):
    for column in ([], ["--column", "y", "--data", folder / "data.csv"], ["--column", "<k>"]):
        target = folder / f"picture{len(column)}{ending}"
        ok("show", folder / "network.json", *column, "-o", target)
        assert target.read_bytes()[:5] in (b"<?xml", b"\x89PNG\r", b"%PDF-")


def test_plot_names_wrong_use(folder):
    assert invoke("show", folder / "network.json", "-o", folder / "p.txt").exit_code == 2
    assert "unknown variable 'z'" in refused(
        2, "show", folder / "network.json", "--column", "z", "-o", folder / "p.svg"
    )
    assert (
        invoke(
            "show", folder / "network.json", "--data", folder / "data.csv", "-o", folder / "p.svg"
        ).exit_code
        == 2
    )


def test_dates_are_named_and_written_as_dates(tmp_path):
    days = pd.date_range("2020-01-01", periods=90)
    frame = pd.DataFrame({"day": days, "x": np.linspace(0, 1, 90) ** 2})
    table = read_table(frame)
    DiscretizedBayesNet.from_table(
        table, [(table.names[0], "x")], {table.names[0]: [18_290.0], "x": [0.5]}
    ).to_json(tmp_path / "dates.json")
    # every text of a picture is also a comment
    ok("show", tmp_path / "dates.json", "--column", "day", "-o", tmp_path / "day.svg")
    picture = (tmp_path / "day.svg").read_text()
    assert "<!-- day -->" in picture
    assert re.search("<!-- 2020-0[1-3]-[0-3][0-9] -->", picture)
