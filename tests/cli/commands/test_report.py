"""Tests of the command `report`, and of the pictures of `show`."""

import re
import shutil

import numpy as np
import pandas as pd
import pytest
from command_line import invoke, ok, refused

from gomea_bn import DiscretizedBayesNet, GomeaBnError, read_table
from gomea_bn.review import report as module
from gomea_bn.review import run_report


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


def test_a_report_has_its_parts_in_order_and_escapes_names(network):
    text = run_report(network, target="y", title="A & B")
    headings = re.findall(r"<h[12]>(.*?)</h[12]>", text)
    assert headings == [
        "A &amp; B", "What was learned", "What drives y", "From which rows", "How the values are distributed",
        "How sure", "Limits",
    ]  # fmt: skip
    assert "<k>" not in text.replace("&lt;k&gt;", "")
    assert text.count("<svg") == text.count("</svg>") == 5
    # no other file is needed
    assert not re.search(r'(src|href)="http', text)


def test_a_report_names_the_column_with_most_relations(network):
    assert "'y' has the most direct relations: with x, &lt;k&gt;." in run_report(network).replace(
        "&#x27;", "'"
    )


def test_a_report_says_which_rows(network):
    record = {
        "data": {"path": "/data/a.csv", "dropped_rows": [1, 2]},
        "score": -12.34,
        "counts": {"n_eval": 2_000},
    }
    text = run_report(network, record=record)
    for part in ("/data/a.csv", "300", "-12.3 nats", "2,000 networks compared"):
        assert part in text
    assert "What drives" not in text


def test_an_unknown_target_is_an_error(network):
    with pytest.raises(GomeaBnError, match="z"):
        run_report(network, target="z")


def test_the_command_writes_a_page(folder):
    ok(
        "report", folder / "network.json", "--target", "y", "--data", folder / "data.csv", "-o",
        folder / "r.html",
    )  # fmt: skip
    assert "What drives y" in (folder / "r.html").read_text()
    assert invoke("report", folder / "network.json", "-o", folder / "r.txt").exit_code == 2
    assert invoke("report", folder / "network.json", "--target", "z", "-o", folder / "r.html").exit_code == 2


def test_a_pdf_without_a_browser_says_what_to_do(folder, monkeypatch):
    monkeypatch.setattr(module.shutil, "which", lambda _name: None)
    assert "write .html, and print it in any browser" in refused(
        1, "report", folder / "network.json", "-o", folder / "r.pdf"
    )
    assert not (folder / "r.pdf").exists()


@pytest.mark.long
@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs a browser")
def test_a_browser_prints_a_pdf(network, tmp_path):
    run_report(network, tmp_path / "r.pdf", target="y")
    content = (tmp_path / "r.pdf").read_bytes()
    assert content.startswith(b"%PDF")
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", content)) <= 3


@pytest.mark.sample(1)
@pytest.mark.parametrize("ending", [".svg", ".png", ".pdf"])
def test_pictures_of_networks_and_densities_are_written(folder, ending):
    for column in ([], ["--column", "y", "--data", folder / "data.csv"], ["--column", "<k>"]):
        target = folder / f"picture{len(column)}{ending}"
        ok("show", folder / "network.json", *column, "-o", target)
        assert target.read_bytes()[:5] in (b"<?xml", b"\x89PNG\r", b"%PDF-")


def test_pictures_name_wrong_use(folder):
    network, picture = folder / "network.json", folder / "p.svg"
    assert "--column is for --out" in refused(2, "show", network, "--column", "y")
    assert "--out draws, and --d-separated prints" in refused(
        2, "show", network, "-o", picture, "--d-separated", "x", "y"
    )
    assert "--out draws, and --reversible prints" in refused(
        2, "show", network, "-o", picture, "--reversible"
    )
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
    ok("report", tmp_path / "dates.json", "--target", "day", "-o", tmp_path / "report.html")
    report = (tmp_path / "report.html").read_text()
    assert "<h2>What drives day</h2>" in report
    assert re.search("The mean of day is 2020-02-1[0-9]", report)
    assert re.search("2020-0[1-3]-[0-9]+ to 2020-0[1-3]-[0-9]+", report)
