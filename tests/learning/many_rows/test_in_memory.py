"""Tables of more than `sample_rows` rows: a sample is searched, and the network improved over all rows."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from averaged_examples import conditionals_of
from learning_inside import Climb, Improvement, of_families, of_improvement, sampled_table, why_unrepeatable
from pieces_examples import score_in_memory

from gomea_bn import (
    BayesNetEnsemble,
    BayesNetLearner,
    Checkpoint,
    DiscretizedBayesNet,
    GomeaBnError,
    GomeaBnWarning,
    ParetoBayesNetLearner,
    fit_shape,
    read_table,
)
from gomea_bn.data.cells import Coding
from gomea_bn.network.conditionals import FamilyTable
from gomea_bn.network.recorded import counted_parents
from gomea_bn.network.tables import PseudoCount
from gomea_bn.problems.cuts import shape_fit
from gomea_bn.runtime.fit_clock import NO_LIMIT, FitClock
from gomea_bn.simulation import random_network

N_ROWS = 6_000


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rows = random_network(4, kind="random", random_state=5).sample(N_ROWS, random_state=1)
    rows["level"] = np.where(rows["X2"] > rows["X2"].median(), "high", "low")
    rows.loc[17, "level"] = "once"
    return rows


@pytest.fixture(scope="module")
def smooth() -> pd.DataFrame:
    """Columns that follow curves on a sample of 1,000 rows."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, N_ROWS))
    return pd.DataFrame({"a": a, "b": b, "c": a + b + rng.normal(scale=0.5, size=N_ROWS)})


@pytest.fixture(scope="module")
def learner() -> BayesNetLearner:
    return BayesNetLearner(max_seconds=None, max_evaluations=800, sample_rows=1_000, random_state=2)


def counted(
    network: DiscretizedBayesNet, frame: pd.DataFrame, pseudo_count: PseudoCount = "auto"
) -> DiscretizedBayesNet:
    return DiscretizedBayesNet.from_table(
        read_table(frame), network.edges, network.cut_points, pseudo_count=pseudo_count
    )


@pytest.mark.long
def test_a_frame_has_tables_and_the_score_of_all_rows(frame, learner):
    fitted = replace(learner, density="bins", curves="none").fit(frame)
    network, record = fitted.network_, fitted.network_.metadata["all_rows"]
    assert fitted.table_.n_rows == record["n_rows"] == network.metadata["n_rows"] == N_ROWS
    assert 1_000 <= record["sample_rows"] < 1_020
    assert fitted.score_ == pytest.approx(score_in_memory(frame, network, learner), abs=1e-6)
    for name, table in counted(network, frame).tables.items():
        np.testing.assert_allclose(network.tables[name], table, rtol=0, atol=1e-12)
    assert "once" in network.levels["level"]
    assert "all_rows" not in replace(learner, sample_rows=N_ROWS).fit(frame).network_.metadata


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "options",
    [
        {"discretizer": "equal-frequency", "shape": "uniform"},
        {"discretizer": "equal-width", "scoring_method": "density-bd", "prior": "bdeu"},
        {"scoring_method": "density-bic"},
        {"discretizer": "k-means", "max_evaluations": 300},
    ],
)
def test_where_cuts_have_other_rules_edges_alone_are_improved(frame, learner, options):
    fitted = replace(learner, **options).fit(frame)
    record = fitted.network_.metadata["all_rows"]
    assert record["n_rows"] == N_ROWS
    assert {move["kind"] for move in record["moves"]} <= {"add", "remove", "reverse", "replace"}
    if options.get("shape") == "uniform":
        in_memory = score_in_memory(frame, fitted.network_, replace(learner, **options))
        assert fitted.score_ == pytest.approx(in_memory, abs=1e-6)


def test_columns_that_follow_curves_keep_their_parents(smooth, learner):
    fitted = learner.fit(smooth)
    network = fitted.network_
    sample = sampled_table(learner, read_table(smooth), learner.random_state)
    of_sample = replace(learner, sample_rows=N_ROWS).fit(sample).network_
    assert network.metadata["curves"] == of_sample.metadata["curves"]
    for name in network.metadata["curves"]:
        assert network.parents(name) == of_sample.parents(name)
        for member in (name, *network.parents(name)):
            np.testing.assert_array_equal(network.cut_points[member], of_sample.cut_points[member])
    parents = dict(zip(network.names, counted_parents(network), strict=True))
    tables = {
        name: one
        for name, stack in conditionals_of(network).stacks.items()
        for _, fitted in stack.members
        if isinstance(fitted, FamilyTable)
        for one in fitted.tables
    }
    # others follow effects alone
    assert set(network.names) - set(network.metadata["curves"]) <= set(tables)
    by_tables = DiscretizedBayesNet.from_table(
        read_table(smooth),
        [(parent, name) for name, of_name in parents.items() for parent in of_name],
        network.cut_points,
        pseudo_count="auto",
    )
    for name, one in tables.items():
        assert one.parents == parents[name]
        if one.table.size == 1:
            # its shape alone
            continue
        np.testing.assert_allclose(one.table, by_tables.tables[name], rtol=0, atol=1e-12)


def test_the_clock_ends_the_improvement_of_a_frame(frame, learner, monkeypatch):
    monkeypatch.setattr(Improvement, "_seconds", property(lambda self: 61.0))
    with pytest.warns(GomeaBnWarning, match="densities are those of the tables, without lines"):
        fitted = replace(learner, max_seconds=60.0, curves="none").fit(frame)
    assert fitted.network_.conditionals is None
    assert fitted.network_.metadata["all_rows"]["stopped_by"] == "max_seconds"
    assert fitted.network_.metadata["all_rows"]["moves"] == []
    assert fitted.network_.metadata["n_rows"] == N_ROWS
    assert "ended the improvement" in why_unrepeatable(fitted)


def test_lines_are_learned_from_fewer_rows_near_the_limit(smooth, learner):
    network = replace(learner, sample_rows=5_000).fit(smooth).network_
    assert of_families.rows_of_lines(network, 4_000, NO_LIMIT) == 4_000
    assert of_families.rows_of_lines(network, 10**6, NO_LIMIT) == 20_000
    numbers = []
    for seconds in (0.0, 0.2, 0.4, 3600.0):
        clock = FitClock(seconds)
        numbers.append(of_families.rows_of_lines(network, 20_000, clock))
        assert clock.cut_short == (["rows of effects"] if seconds < 1.0 else [])
    assert numbers[0] == 1_000 < numbers[1] < numbers[2] < numbers[3] == 20_000


@pytest.mark.parametrize(("seconds", "of_cell"), [(61.0, 0.0), (1.0, 1.0)])
def test_without_time_for_a_move_the_cells_of_all_rows_are_their_bins(
    frame, learner, monkeypatch, seconds, of_cell
):
    # the first fit of a process compiles kernels by fits of its own
    replace(learner).fit(frame)
    coded = []

    cells_of = Coding.__call__

    def noted(coding, piece):
        coded.append(coding)
        return cells_of(coding, piece)

    monkeypatch.setattr(Coding, "__call__", noted)
    monkeypatch.setattr(of_improvement, "_SECONDS_OF_CELL", of_cell)
    monkeypatch.setattr(Improvement, "_seconds", property(lambda self: seconds))
    network = replace(learner, max_seconds=60.0, density="bins").fit(frame).network_
    assert coded
    for coding in coded:
        for name, cuts in network.cut_points.items():
            np.testing.assert_array_equal(coding.boundaries[name], cuts)
    for name, table in counted(network, frame).tables.items():
        np.testing.assert_allclose(network.tables[name], table, rtol=0, atol=1e-12)


def test_shapes_of_the_search_are_those_of_all_rows(frame, learner, monkeypatch):
    # the first fit of a process compiles kernels by fits of its own
    replace(learner).fit(frame)
    fitted_columns = []

    def noted(values, *arguments, **options):
        fitted_columns.append(len(values))
        return fit_shape(values, *arguments, **options)

    monkeypatch.setattr(shape_fit, "fit_shape", noted)
    network = replace(learner, density="bins").fit(frame).network_
    assert len(fitted_columns) == len(network.cut_points)


@pytest.mark.long
def test_a_graph_that_is_searched_under_the_cuts_of_all_rows_is_taken_if_it_is_better(learner):
    frame = random_network(8, kind="random", random_state=11).sample(N_ROWS, random_state=1)
    learner = replace(learner, density="bins", max_evaluations=100, curves="none", sample_rows=3_000)
    fitted = replace(learner).fit(frame)
    record = fitted.network_.metadata["all_rows"]
    (move,) = (move for move in record["moves"] if move["kind"] == "graph")
    assert move["nats"] > 0
    assert fitted.score_ == pytest.approx(score_in_memory(frame, fitted.network_, learner), abs=1e-6)
    again = replace(learner).fit(frame)
    assert again.network_ == fitted.network_


def test_a_frame_of_many_rows_goes_on_from_a_checkpoint(frame, learner, tmp_path, monkeypatch):
    whole = learner.fit(frame, checkpoint=tmp_path / "whole")
    expected = whole.network_.metadata["all_rows"]
    before, n_passes = Climb._pass, []

    def killed(self, **options):
        n_passes.append(1)
        if len(n_passes) == 3:
            raise RuntimeError("killed")
        return before(self, **options)

    with monkeypatch.context() as patched:
        patched.setattr(Climb, "_pass", killed)
        with pytest.raises(RuntimeError, match="killed"):
            replace(learner).fit(frame, checkpoint=Checkpoint(tmp_path / "run", every=0))
    resumed = replace(learner).fit(frame, checkpoint=Checkpoint(tmp_path / "run", resume=True))
    assert resumed.network_.metadata["all_rows"]["moves"] == expected["moves"]
    assert resumed.network_ == whole.network_
    other = frame.assign(X2=frame["X2"] + 1)
    with pytest.raises(GomeaBnError, match="has other values"):
        replace(learner).fit(other, checkpoint=Checkpoint(tmp_path / "run", resume=True))


def test_a_sample_has_the_extremes_and_all_levels(frame, learner):
    table = read_table(frame.mask(np.random.default_rng(1).random(frame.shape) < 0.1), missing="keep")
    sample = sampled_table(learner, table, 3)
    assert 1_000 <= sample.n_rows < 1_020
    for part, column in zip(sample.columns, table.columns, strict=True):
        if column.levels is None:
            assert (part.observed.min(), part.observed.max()) == (
                column.observed.min(),
                column.observed.max(),
            )
        else:
            assert set(part.observed) == set(column.observed)
    assert sampled_table(replace(learner, sample_rows=N_ROWS), table, 3) is table


def test_few_seconds_give_a_wide_table_a_small_sample(learner):
    table = read_table(pd.DataFrame(np.random.default_rng(0).normal(size=(5_000, 200))))
    learner = replace(learner, sample_rows=4_000)
    for seconds in (20.0, 40.0):
        with pytest.warns(GomeaBnWarning, match=r"for 200 columns: a sample of [13],[05]00 of 5,000 rows"):
            sample = sampled_table(replace(learner, max_seconds=seconds), table, 1)
        assert 75 * seconds <= sample.n_rows <= 75 * seconds + 400
    assert sampled_table(replace(learner, max_seconds=60.0), table, 1).n_rows >= 4_000


def test_few_seconds_give_a_table_with_gaps_a_smaller_sample(learner):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(5_000, 20)))
    gaps = frame.mask(rng.random(frame.shape) < 0.1)
    learner = replace(learner, sample_rows=4_000, max_seconds=2.0, curves="none")
    assert sampled_table(learner, read_table(frame), 1).n_rows >= 4_000
    with pytest.warns(GomeaBnWarning, match=r"a sample of 1,500 of 5,000 rows"):
        sample = sampled_table(learner, read_table(gaps, missing="keep"), 1)
    # the ends of 20 columns, and the first gap of each
    assert 1_500 <= sample.n_rows <= 1_560


def test_few_seconds_leave_published_settings_and_targets_all_rows():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(5_000, 20)))
    table = read_table(frame.assign(y=np.where(frame[0] > 0, "a", "b")))
    default = BayesNetLearner(max_seconds=1.0)
    for learner in (
        BayesNetLearner.published("EF"),
        BayesNetLearner.published("BD"),
        BayesNetLearner(target="y"),
    ):
        assert sampled_table(replace(learner, max_seconds=1.0), table, 1) is table
    with pytest.warns(GomeaBnWarning, match="a sample of 1,000 of 5,000 rows"):
        assert sampled_table(default, table, 1).n_rows < 1_060
    # all of hardly more rows are searched
    few = table.take(np.arange(1_400))
    assert sampled_table(default, few, 1) is few
    # tables that follow a search with curves leave it more of the seconds
    for learner in (
        BayesNetLearner(line="none", max_seconds=1.0),
        BayesNetLearner(density="bins", max_seconds=1.0),
    ):
        with pytest.warns(GomeaBnWarning, match="a sample of 2,380 of 5,000 rows"):
            assert sampled_table(learner, table, 1).n_rows < 2_440


@pytest.mark.parametrize(("n_rows", "is_sampled"), [(1_500, False), (N_ROWS, True)])
def test_a_limit_chooses_among_rows_without_their_copies(smooth, learner, n_rows, is_sampled):
    copied = pd.concat([smooth[:n_rows]] * 3, ignore_index=True)
    with pytest.warns(GomeaBnWarning, match="repeat an earlier one") as warned:
        fitted = replace(learner, sample_rows=50_000, max_seconds=0.3).fit(copied)
    assert fitted.network_.metadata["copies"] == {"rows": 3 * n_rows, "evidence": n_rows}
    assert fitted.network_.metadata["n_rows"] == fitted.table_.n_rows == 3 * n_rows
    samples = [w for w in warned if "a sample of 1,500 of 6,000 rows is searched" in str(w.message)]
    assert len(samples) == ("all_rows" in fitted.network_.metadata) == is_sampled
    counts = counted(fitted.network_, copied).counts
    for name, of_name in fitted.network_.counts.items():
        if of_name.shape == counts[name].shape:
            np.testing.assert_allclose(of_name, counts[name])


def test_the_networks_of_a_front_count_all_rows(frame):
    learner = ParetoBayesNetLearner(
        sample_rows=1_000, max_seconds=None, max_evaluations=600, random_state=1, pseudo_count=1.0
    )
    fitted = learner.fit(frame)
    assert fitted.table_.n_rows == N_ROWS
    network = fitted.front_.network_parts(fitted.front_.knee().index).network()
    again = counted(network, frame, 1.0)
    assert again.tables.keys() == network.tables.keys()
    for name, table in again.tables.items():
        np.testing.assert_array_equal(network.tables[name], table)


def test_members_of_an_ensemble_count_all_rows(frame, learner):
    fitted = BayesNetEnsemble(replace(learner, density="bins"), n_networks=2, random_state=1).fit(frame)
    for network in fitted.networks_:
        assert "all_rows" not in network.metadata
        for name, table in counted(network, frame).tables.items():
            np.testing.assert_allclose(network.tables[name], table, rtol=0, atol=1e-12)


@pytest.mark.parametrize("value", [10, "many", None, 1e5])
def test_an_ensemble_names_a_wrong_number_of_rows_of_the_sample(frame, value):
    with pytest.raises(GomeaBnError, match="sample_rows must be an integer of at least"):
        BayesNetEnsemble(BayesNetLearner(sample_rows=value)).fit(frame)


def test_a_table_of_few_values_and_gaps_gives_the_network_of_its_pieces(learner):
    generator = np.random.default_rng(3)
    a = generator.normal(size=4_000)
    frame = pd.DataFrame({"a": a, "count": generator.poisson(np.exp(a / 2)), "i": np.round(30 * a)})
    frame.loc[3_900, "a"] = np.nan
    few = replace(learner, max_evaluations=500, missing="available")
    in_memory, in_pieces = (replace(few).fit(source) for source in (frame, [frame[:1_000], frame[1_000:]]))
    assert in_memory.network_.edges == in_pieces.network_.edges
    assert in_memory.network_.cut_points.keys() == in_pieces.network_.cut_points.keys()
    for name, cuts in in_memory.network_.cut_points.items():
        np.testing.assert_array_equal(cuts, in_pieces.network_.cut_points[name])
    assert in_memory.score_ == pytest.approx(in_pieces.score_, rel=1e-9)
