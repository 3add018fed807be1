from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from checkpoint_examples import killed_and_resumed

from gomea_bn import Checkpoint, DiscretizedBayesNet, GomeaBnError
from gomea_bn.certainty import EdgeProbabilities, edge_posterior, edge_probabilities
from gomea_bn.data.table import read_table


def rows() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    a = rng.integers(2, size=80)
    b = np.where(rng.random(80) < 0.8, a, 1 - a)
    return pd.DataFrame(
        {"a": a, "b": b, "c": rng.integers(3, size=80), "d": b ^ (rng.random(80) < 0.2)}
    ).astype(str)


def probabilities(data: pd.DataFrame | None = None, **options: Any) -> EdgeProbabilities:
    network = DiscretizedBayesNet.from_table(read_table(rows()), [("a", "b")], {})
    sampled = {"method": "sampled", "n_sweeps": 12, "n_chains": 2, "max_seconds": None, "random_state": 4}
    data = rows() if data is None else data
    return edge_probabilities(network, data, scoring_method="bdeu", **{**sampled, **options})


@pytest.mark.filterwarnings("ignore:The chains have not mixed")
def test_killed_and_resumed_chains_give_the_same_probabilities(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(edge_posterior, "_SETS_PER_TURN", 1)
    resumed, n_kills = killed_and_resumed(
        monkeypatch, lambda checkpoint: probabilities(checkpoint=checkpoint), tmp_path / "c", 3
    )
    whole = probabilities()
    assert n_kills > 2
    assert resumed.n_sweeps == whole.n_sweeps == 12
    assert np.array_equal(resumed.arcs, whole.arcs)
    assert resumed.chain_difference == whole.chain_difference
    again = Checkpoint(tmp_path / "c", resume=True)
    assert np.array_equal(probabilities(checkpoint=again).arcs, whole.arcs)
    with pytest.raises(GomeaBnError, match="option n_sweeps was 12, and is now 13"):
        probabilities(n_sweeps=13, checkpoint=again)


@pytest.mark.filterwarnings("ignore:The chains have not mixed")
def test_chains_that_the_clock_ended_stay_ended(tmp_path: Path) -> None:
    options: dict[str, Any] = {"n_sweeps": 10**6, "tolerance": 0.0, "max_seconds": 0.05}
    first = probabilities(checkpoint=tmp_path, **options)
    again = probabilities(checkpoint=Checkpoint(tmp_path, resume=True), **options)
    assert (again.stopped_by, again.n_sweeps) == ("max_seconds", first.n_sweeps)
    assert np.array_equal(again.arcs, first.arcs)


@pytest.mark.filterwarnings("ignore:The chains have not mixed")
def test_means_over_several_tables_go_on_with_the_next_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(edge_posterior, "_SETS_PER_TURN", 1)
    frame = rows().mask(np.random.default_rng(1).random((80, 4)) < 0.1)
    options: dict[str, Any] = {"n_completions": 2, "n_sweeps": 5, "data": frame}
    resumed, n_kills = killed_and_resumed(
        monkeypatch, lambda checkpoint: probabilities(checkpoint=checkpoint, **options), tmp_path / "c", 3
    )
    assert n_kills > 2
    assert np.array_equal(resumed.arcs, probabilities(**options).arcs)
    again = Checkpoint(tmp_path / "c", resume=True)
    monkeypatch.setattr(edge_posterior, "_run_chains", lambda *_: pytest.fail("sampled again"))
    assert np.array_equal(probabilities(checkpoint=again, **options).arcs, resumed.arcs)
