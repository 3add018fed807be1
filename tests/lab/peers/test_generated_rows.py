"""Generated rows: the measure, the densities of generators, and what is printed."""

import numpy as np
import pandas as pd
import pytest

from lab.methods.generators import (
    adversarial_forest,
    gaussian_copula,
    gaussian_mixture,
    probabilistic_circuit,
)
from lab.peers import generated_rows
from lab.peers.generated_rows import c2st
from lab.samples.real_tables import RealTable


def drawn_table(n, seed):
    """Return rows of a law: two levels, and two columns whose line depends on the level."""
    generator = np.random.default_rng(seed)
    level = generator.random(n) < 0.3
    x = generator.normal(size=n)
    frame = pd.DataFrame({"x": x, "level": pd.Categorical(level.astype(int), [0, 1])})
    frame["y"] = np.where(level, 2.0 - x, x) + 0.5 * generator.normal(size=n)
    kinds = {"x": "continuous", "level": "discrete", "y": "continuous"}
    return RealTable(frame, kinds, None)


def true_log_density(frame):
    level = frame["level"].astype(int) == 1
    noise = frame["y"] - np.where(level, 2.0 - frame["x"], frame["x"])
    share = np.where(level, 0.3, 0.7)
    return np.log(share / (2 * np.pi * 0.5)) - 0.5 * frame["x"] ** 2 - 2.0 * noise**2


@pytest.mark.long
@pytest.mark.parametrize("classifier", generated_rows.CLASSIFIERS)
def test_rows_of_the_same_law_cannot_be_told_and_others_can(classifier):
    if classifier == "xgboost":
        pytest.importorskip("xgboost")
    real = drawn_table(1_500, 0).frame
    assert c2st(real, drawn_table(1_500, 1).frame, classifier) > 0.9
    permuted = real.assign(y=real["y"].sample(frac=1.0, random_state=0).to_numpy())
    assert 0.2 < c2st(real, permuted, classifier) < 0.8
    assert c2st(real, real.assign(x=real["x"] + 9.0), classifier) < 0.01


def test_the_measure_is_twice_what_the_area_lacks(monkeypatch):
    class Constant:
        """Knows a part of the real rows by their value."""

        def fit(self, rows, is_real):
            return self

        def predict_proba(self, rows):
            return np.column_stack((1.0 - rows[:, 0], rows[:, 0]))

    monkeypatch.setitem(generated_rows.CLASSIFIERS, "hist", Constant)
    generated = pd.DataFrame({"known": np.zeros(300)})
    real = pd.DataFrame({"known": np.repeat([1.0, 0.0], [150, 150])})
    # a real row is ahead of a generated one with probability .5 + .5 / 2
    assert c2st(real, generated) == pytest.approx(2 - 2 * 0.75, abs=0.02)
    assert c2st(real, generated.assign(known=1.0)) == 1.0


@pytest.mark.long
@pytest.mark.parametrize(
    "make", [gaussian_mixture, gaussian_copula, probabilistic_circuit, adversarial_forest]
)
def test_generators_have_the_density_of_the_law_and_draw_from_theirs(make):
    modules = {adversarial_forest: "arfpy", gaussian_copula: "copulas", probabilistic_circuit: "spflow"}
    if make in modules:
        pytest.importorskip(modules[make])
    real, new = drawn_table(900, 0), drawn_table(400, 1).frame
    generator = make(real, real.frame, 0)
    drawn = generator.sample(900)
    assert list(drawn) == list(real.frame)
    assert drawn["level"].dtype == real.frame["level"].dtype
    assert c2st(real.frame, drawn) > 0.5
    lost = true_log_density(new).mean() - generator.log_density(new).mean()
    assert -0.02 < lost < (0.1 if make is gaussian_mixture else 0.5)
    # a density: its mean over uniform rows of a box, times the volume of the box
    box = np.random.default_rng(2).uniform(-8.0, 8.0, size=(40_000, 2))
    rows = pd.DataFrame(
        {"x": box[:, 0], "level": new["level"].iloc[[0]].repeat(40_000).to_numpy(), "y": box[:, 1]}
    )
    total = 0.0
    for level in (0, 1):
        rows["level"] = pd.Categorical([level] * len(rows), [0, 1])
        total += np.exp(generator.log_density(rows)).mean() * 16.0**2
    assert total == pytest.approx(1.0, abs=0.08)


@pytest.mark.long
def test_every_method_has_a_row_and_absent_ones_a_reason(monkeypatch, run_lab):
    monkeypatch.setitem(generated_rows.GENERATED_TABLES, "diabetes", lambda: drawn_table(300, 3))
    monkeypatch.setitem(generated_rows.PEERS, "absent", ("module_that_is_absent", gaussian_mixture))
    monkeypatch.delitem(generated_rows.PEERS, "adversarial forest, arfpy")
    command = [
        "generated-rows",
        "--tables",
        "diabetes",
        "--splits",
        "1",
        "--networks",
        "2",
        "--seconds",
        "20",
    ]
    printed = run_lab(*command, "--option", "max_evaluations=300")
    for method in ("one network", "average of networks"):
        (line,) = (line for line in printed.splitlines() if line.startswith(method))
        assert float(line.split(" ± ")[1].split()[1]) > 0.5
    # in a process of its own, which has the real table
    assert "Gaussian mixtures, scikit-learn" in printed
    assert "absent: needs module_that_is_absent" in printed
