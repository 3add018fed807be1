"""Every way of learning a network goes with every question, file and further step, as the guide says."""

import re
import warnings
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gomea_bn import (
    BayesNetEnsemble,
    BayesNetLearner,
    DiscretizedBayesNet,
    ParetoBayesNetLearner,
    average_families,
    compare,
    cut_gains,
    network_report,
    refine_boundaries,
)
from gomea_bn.certainty import edge_probabilities, near_optimal_graphs
from gomea_bn.plots import plot_conditional_density, plot_density

_QUICK: dict[str, Any] = {"max_seconds": None, "max_evaluations": 400, "random_state": 1}


def _rows() -> pd.DataFrame:
    """Return rows with a curve, a level, a point mass and a count."""
    rng = np.random.default_rng(5)
    n = 240
    x = rng.normal(size=n)
    group = np.where(rng.random(n) < 0.4, "a", "b")
    wave = np.sin(1.5 * x) + (group == "a") + 0.3 * rng.normal(size=n)
    rain = np.where(rng.random(n) < 0.4, 0.0, np.exp(0.7 * wave + 0.5 * rng.normal(size=n)))
    visits = rng.poisson(np.exp(0.6 * x) * 6)
    return pd.DataFrame({"x": x, "group": group, "wave": wave, "rain": rain, "visits": visits})


def _with_gaps(rows: pd.DataFrame) -> pd.DataFrame:
    gaps = np.random.default_rng(6).random(rows.shape) < 0.08
    return rows.mask(gaps)


def _learned(rows: pd.DataFrame | Path, **options: Any) -> DiscretizedBayesNet:
    return BayesNetLearner(**_QUICK, **options).fit(rows).network_


def _of_front() -> DiscretizedBayesNet:
    learner = ParetoBayesNetLearner(max_seconds=None, max_evaluations=600, random_state=1)
    return learner.fit(_rows()).front_.knee().network


def _of_folder() -> DiscretizedBayesNet:
    with TemporaryDirectory() as folder:
        _rows().iloc[:150].to_parquet(Path(folder) / "0.parquet")
        _rows().iloc[150:].to_parquet(Path(folder) / "1.parquet")
        return _learned(Path(folder))


def _of_ensemble() -> DiscretizedBayesNet:
    ensemble = BayesNetEnsemble(BayesNetLearner(**_QUICK), n_networks=1, random_state=1)
    return ensemble.fit(_rows()).networks_[0]


_WAYS = {
    "default": lambda: _learned(_rows()),
    "averaged cuts without lines": lambda: _learned(_rows(), line="none"),
    "counted tables": lambda: _learned(_rows(), density="bins"),
    "uniform bins": lambda: _learned(_rows(), shape="uniform", density="bins"),
    "missing values": lambda: _learned(_with_gaps(_rows())),
    "many rows": lambda: _learned(pd.concat([_rows()] * 5, ignore_index=True), sample_rows=1_000),
    "folder of files": _of_folder,
    "front": _of_front,
    "ensemble": _of_ensemble,
    "refined": lambda: refine_boundaries(_learned(_rows()), _rows()).network,
}


@cache
def _network(way: str) -> DiscretizedBayesNet:
    return _WAYS[way]()


def _density(network: DiscretizedBayesNet, tmp_path: Path) -> None:
    assert np.isfinite(network.log_density(_rows().iloc[:9])).all()
    assert np.isfinite(network.score(_rows()))


def _density_of_gaps(network: DiscretizedBayesNet, tmp_path: Path) -> None:
    assert np.isfinite(network.log_density(_with_gaps(_rows()).iloc[:30])).all()
    assert np.isfinite(network.log_density(_rows().iloc[:5], of="wave", given=["x"])).all()


def _query(network: DiscretizedBayesNet, tmp_path: Path) -> None:
    for targets, evidence in (
        ("wave", {"x": 0.3}),
        ("group", {"wave": (0.0, 1.0)}),
        (["x", "rain"], {"visits": 4}),
    ):
        assert network.query(targets, evidence).sum() == pytest.approx(1)
        drawn = network.query(targets, evidence, method="sampling", n_draws=4000, random_state=1)
        assert drawn.sum() == pytest.approx(1)


def _predict(network: DiscretizedBayesNet, tmp_path: Path) -> None:
    rows = _with_gaps(_rows()).iloc[:20]
    assert network.predict(rows, "wave").between(-5, 5).all()
    assert network.predict(rows, "group").isin(["a", "b"]).all()
    intervals = network.predict_interval(rows, "rain")
    assert (intervals["5%"] <= intervals["95%"]).all()
    assert network.predict_proba(rows, "x").sum(axis=1).to_numpy() == pytest.approx(1)


def _impute(network: DiscretizedBayesNet, tmp_path: Path) -> None:
    for how in ("draw", "mode", "mean"):
        assert not network.impute(_with_gaps(_rows()).iloc[:30], how, random_state=1).isna().any().any()


def _sample(network: DiscretizedBayesNet, tmp_path: Path) -> None:
    assert len(network.sample(50, random_state=1)) == 50
    given = network.sample(50, random_state=1, evidence={"group": "a", "x": (0.0, 1.0)})
    assert (given["group"] == "a").all()
    assert given["x"].between(0, 1).all()


def _do(network: DiscretizedBayesNet, tmp_path: Path) -> None:
    after = network.do({"x": 1.0})
    assert after.parents("x") == ()
    assert after.query("wave").sum() == pytest.approx(1)


def _files(network: DiscretizedBayesNet, tmp_path: Path) -> None:
    again = DiscretizedBayesNet.from_json(network.to_json())
    assert again == network
    assert again.score(_rows()) == network.score(_rows())
    edges = set(network.edges)
    for ending in ("bif", "xdsl", "net", "dot"):
        network.export(tmp_path / f"network.{ending}")
    for ending in ("bif", "xdsl", "net"):
        assert set(DiscretizedBayesNet.from_file(tmp_path / f"network.{ending}").edges) == edges


def _page(network: DiscretizedBayesNet, tmp_path: Path) -> None:
    assert "<html" in network_report(network)
    assert "<svg" in network._repr_html_()
    assert "edge" in network.summary()


def _plots(network: DiscretizedBayesNet, tmp_path: Path) -> None:
    from matplotlib import pyplot

    for name in network.names:
        plot_density(network, name)
        plot_conditional_density(network, name)
    pyplot.close("all")


def _further_steps(network: DiscretizedBayesNet, tmp_path: Path) -> None:
    rows = _rows()
    refined = refine_boundaries(network, rows).network
    assert (refined.conditionals is None) == (network.conditionals is None)
    assert average_families(network, rows).conditionals is not None
    assert set(cut_gains(network, rows)) == set(network.cut_points)
    for edge in network.edges[:1]:
        assert network.why(edge, rows).mutual_information >= 0
    assert "edges" in str(compare(network, network))


@pytest.mark.filterwarnings("ignore:The graph was learned with curves")
def _certainty(network: DiscretizedBayesNet, tmp_path: Path) -> None:
    probabilities = edge_probabilities(network, _rows(), random_state=1).to_frame()
    assert probabilities["adjacent"].between(0, 1 + 1e-9).all()
    assert len(near_optimal_graphs(network, _rows())) >= 1


_STEPS = {
    "densities of rows": _density,
    "densities of rows with gaps": _density_of_gaps,
    "`query`, exact and by sampling": _query,
    "`predict`, `predict_proba`, `predict_interval`": _predict,
    "`impute`": _impute,
    "`sample`, also given evidence": _sample,
    "`do`": _do,
    "JSON, BIF, XDSL, NET, DOT": _files,
    "page, notebook, summary": _page,
    "plots of densities": _plots,
    "`refine_boundaries`, `average_families`, `cut_gains`, `why`, `compare`": _further_steps,
    "`edge_probabilities`, `near_optimal_graphs`": _certainty,
}


# all steps of one network in turn, so that few processes learn it
@pytest.mark.sample(1)
@pytest.mark.parametrize("step", _STEPS)
@pytest.mark.parametrize("way", _WAYS)
def test_every_network_goes_with_every_step(way, step, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _STEPS[step](_network(way), tmp_path)


def test_the_table_of_the_guide_lists_them():
    guide = (Path(__file__).parents[2] / "docs" / "conventions.md").read_text()
    section = guide[guide.index("## What goes with what") :]
    lines = [line.split("|")[1].strip() for line in section.splitlines() if re.match(r"\| [^-]", line)]
    assert lines[1 : 1 + len(_STEPS)] == list(_STEPS)
    head = next(line for line in section.splitlines() if line.startswith("| "))
    assert [cell.strip() for cell in head.split("|")[2:-1]] == list(_WAYS)
