"""Networks of every kind of source, and errors of its files."""

import os
import signal
from dataclasses import replace
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from dask import delayed
from learning_inside import of_many_rows
from pyarrow import parquet

from gomea_bn import BayesNetLearner, GomeaBnError, GomeaBnWarning
from gomea_bn.data.cells import Coding
from gomea_bn.data.pieces import ChosenColumns, files_digest, pieces_of
from gomea_bn.data.sources import is_in_pieces
from gomea_bn.learning.cuts.given_cuts import network_from_pieces


def test_files_threads_and_workers_give_one_network(frame, fit, learner, tmp_path) -> None:
    for k, (a, b) in enumerate([(0, 2_500), (2_500, 2_501), (2_501, 6_000)]):
        frame.iloc[a:b].to_parquet(tmp_path / f"part-{k}.parquet", row_group_size=700)
    (tmp_path / "_metadata.parquet").write_bytes(b"left out")
    fitted = replace(learner, n_jobs=3).fit(tmp_path)
    assert fitted.network_ == fit.network_
    assert fitted.score_ == fit.score_
    pattern = replace(learner).fit(str(tmp_path / "part-*.parquet"))
    assert pattern.network_ == fit.network_


def test_texts_of_numbers_in_files_and_frames_are_numbers(frame, fit, learner, tmp_path) -> None:
    texts = frame.assign(X1=[f"{value!r} mg" for value in frame["X1"].tolist()])
    parts = [texts.iloc[:2_500], texts.iloc[2_500:]]
    for k, part in enumerate(parts):
        part.to_parquet(tmp_path / f"{k}.parquet", row_group_size=900)
    for source in (tmp_path, parts):
        fitted = replace(learner).fit(source)
        assert fitted.score_ == fit.score_
        assert fitted.network_.edges == fit.network_.edges
        assert fitted.table_.reading.forms == {"X1": "number in mg"}
    parts[1] = parts[1].assign(X1="3 g")
    with pytest.raises(GomeaBnError, match="'X1' must hold what reads as 'number in mg', got '3 g'"):
        replace(learner).fit(parts)


def test_a_column_that_is_asked_for_as_text_stays_text_in_a_folder(tmp_path) -> None:
    generator = np.random.default_rng(0)
    dose = generator.integers(1, 15, 1_500)
    rows = pd.DataFrame({"dose": [f"{value} mg" for value in dose], "x": dose + generator.normal(size=1_500)})
    rows.to_parquet(tmp_path / "0.parquet", row_group_size=500)
    learner = BayesNetLearner(sample_rows=1_000, max_evaluations=300, random_state=1)
    for form, is_text in (("text", True), ("number in mg", False)):
        fitted = replace(learner).fit(ChosenColumns(str(tmp_path), forms=(("dose", form),)))
        assert fitted.table_.reading.forms == {"dose": form}
        levels = fitted.network_.levels.get("dose")
        assert (levels is not None) == is_text
        if is_text:
            assert set(levels) == set(rows["dose"])


@pytest.mark.parametrize("form", [None, "number"])
def test_limits_of_detection_in_pieces_are_read_with_a_warning(form, tmp_path) -> None:
    generator = np.random.default_rng(0)
    lead = generator.gamma(2, 3, 1_500).round(3)
    texts = ["<0.5" if value < 0.5 else f"{value}" for value in lead.tolist()]
    rows = pd.DataFrame({"lead": texts, "x": lead + generator.normal(size=1_500)})
    rows.to_parquet(tmp_path / "0.parquet", row_group_size=500)
    source = ChosenColumns(str(tmp_path), forms=() if form is None else (("lead", form),))
    learner = BayesNetLearner(sample_rows=1_000, max_evaluations=300, random_state=1)
    with pytest.warns(
        GomeaBnWarning, match="In the first 500 rows: Values below a limit .* 1 column: .*lead"
    ):
        fitted = learner.fit(source)
    assert fitted.network_.support["lead"][0] == 0.25


def test_dates_of_two_readings_in_pieces_are_an_error(tmp_path) -> None:
    days = [f"{day:02}/{month:02}/2020" for day in range(1, 13) for month in range(1, 13)]
    pd.DataFrame({"day": days, "x": np.arange(144.0)}).to_parquet(tmp_path / "0.parquet")
    with pytest.raises(
        GomeaBnError, match=r"'day' holds dates such as .*day and month cannot be distinguished"
    ):
        BayesNetLearner(sample_rows=1_000, max_evaluations=100).fit(tmp_path)


@pytest.mark.parametrize("symbol", ["NA", "?", "-"])
def test_symbols_among_texts_of_numbers_in_pieces_are_missing(symbol, tmp_path) -> None:
    generator = np.random.default_rng(0)
    values = generator.normal(size=1_500)
    is_gap = np.zeros(1_500, bool)
    # some of the first rows, and a piece with nothing else
    is_gap[[5, 50]] = is_gap[1_000:] = True
    texts = np.where(is_gap, symbol, [f"{value!r} mg" for value in values.tolist()])
    rows = pd.DataFrame({"dose": texts, "x": generator.normal(size=1_500)})
    rows.to_parquet(tmp_path / "0.parquet", row_group_size=500)
    learner = BayesNetLearner(sample_rows=1_000, max_evaluations=300, random_state=1)
    fitted = learner.fit(tmp_path)
    assert fitted.network_.support["dose"] == (values[~is_gap].min(), values[~is_gap].max())
    assert fitted.table_.reading.forms == {"dose": "number in mg"}


def test_arrow_files_are_tables_in_pieces(frame, tmp_path) -> None:
    with pa.OSFile(str(tmp_path / "rows.arrow"), "wb") as sink:
        table = pa.Table.from_pandas(frame, preserve_index=False)
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=2_000)
    pieces = pieces_of(tmp_path)
    assert [piece.n_rows() for piece in pieces] == [2_000, 2_000, 2_000]
    read = pd.concat([part for piece in pieces for part in piece.frames()], ignore_index=True)
    assert read["level"].tolist() == frame["level"].tolist()
    np.testing.assert_array_equal(read["X1"], frame["X1"])


def test_the_footer_of_a_file_is_read_once_for_all_its_row_groups(frame, tmp_path, monkeypatch) -> None:
    for k in range(2):
        frame[k * 3_000 : (k + 1) * 3_000].to_parquet(tmp_path / f"{k}.parquet", row_group_size=300)
    n_footers = 0

    class Counted(parquet.ParquetFile):
        def __init__(self, *args: Any, metadata: Any = None, **options: Any) -> None:
            nonlocal n_footers
            n_footers += metadata is None
            super().__init__(*args, metadata=metadata, **options)

    monkeypatch.setattr(parquet, "ParquetFile", Counted)
    pieces = pieces_of(tmp_path)
    assert [piece.n_rows() for piece in pieces] == [300] * 20
    assert sum(len(part) for piece in pieces for part in piece.frames()) == 6_000
    assert n_footers == 2
    frame[:100].to_parquet(tmp_path / "1.parquet")
    assert pieces_of(tmp_path)[-1].n_rows() == 100
    assert n_footers == 3


def test_dask_frames_are_tables_in_pieces(frame, fit, learner) -> None:
    parts = [delayed(frame.iloc[a:b]) for a, b in ((0, 2_500), (2_500, 2_501), (2_501, 6_000))]
    rows = dd.from_delayed(parts, meta=frame.iloc[:0])
    assert is_in_pieces(rows)
    assert replace(learner).fit(rows).network_ == fit.network_


@pytest.mark.long
def test_a_worker_that_dies_is_replaced_and_nothing_is_counted_twice(
    frame, fit, learner, tmp_path, monkeypatch
) -> None:
    from distributed import Client, LocalCluster

    for k in range(12):
        frame.iloc[k * 500 : (k + 1) * 500].to_parquet(tmp_path / f"part-{k:02}.parquet")
    expected = replace(learner).fit(tmp_path)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        victim = next(iter(client.run(os.getpid).values()))
        killed: list[int] = []

        def kill_at_the_first_count(line: str) -> None:
            if "counted" in line and not killed:
                os.kill(victim, signal.SIGKILL)
                killed.append(victim)

        monkeypatch.setattr(of_many_rows, "print_line", kill_at_the_first_count)
        on_cluster = replace(learner, scheduler=cluster.scheduler_address, verbose=True)
        found = replace(on_cluster).fit(tmp_path)
    assert killed
    assert found.network_ == expected.network_
    assert found.score_ == expected.score_


def test_files_of_different_columns_are_named(frame, learner, tmp_path) -> None:
    with pytest.raises(GomeaBnError, match="has no files that end in"):
        learner.fit(tmp_path)
    frame.to_parquet(tmp_path / "a.parquet")
    frame.rename(columns={"X3": "Y3"}).to_parquet(tmp_path / "b.parquet")
    with pytest.raises(GomeaBnError, match=r"lacks the column 'X3' and has 1 further column: 'Y3'"):
        learner.fit(tmp_path)
    frame[frame.columns[::-1]].to_parquet(tmp_path / "b.parquet")
    with pytest.raises(GomeaBnError, match="another order"):
        learner.fit(tmp_path)
    with pytest.raises(GomeaBnError, match=r"frame 1 lacks the column 'X3'"):
        learner.fit([frame, frame.rename(columns={"X3": "Y3"})])
    halves = [frame.iloc[::2], frame.iloc[1::2]]
    turned = [halves[0], halves[1][frame.columns[::-1]]]
    assert replace(learner).fit(turned).network_ == replace(learner).fit(halves).network_
    (tmp_path / "b.parquet").write_bytes(b"no table")
    with pytest.raises(GomeaBnError, match="not a readable Parquet file"):
        learner.fit(tmp_path)


def test_frames_of_different_columns_are_named_before_any_is_read(frame, learner) -> None:
    with pytest.raises(
        GomeaBnError, match=r"^All frames .*: frame 1 lacks the columns 'X1', 'X2', .*with frame 0.$"
    ):
        learner.fit([frame, frame[["level"]]])
    with pytest.raises(GomeaBnError, match=r"frame 2 has 1 further column: 'Y'; compared with frame 0"):
        learner.fit([frame, frame[frame.columns[::-1]], frame.assign(Y=1)])


def test_chosen_columns_of_files_are_read_alone(frame, learner, tmp_path) -> None:
    rows = frame.assign(both=[[1, 2]] * len(frame), row_id=np.arange(len(frame)))
    for year in (2023, 2024):
        (tmp_path / f"year={year}").mkdir()
        half = rows[year - 2023 :: 2]
        half.to_parquet(tmp_path / f"year={year}" / "rows.parquet", row_group_size=1_000)
    names = ["X2", "level", "year"]
    kept = ChosenColumns(str(tmp_path), columns=("year", "level", "X2", "X1"), drop=("X1",))
    without = ChosenColumns(str(tmp_path), drop=("both", *frame.columns.difference(names)))
    found = replace(learner).fit(kept)
    assert found.feature_names_in_.tolist() == names
    assert found.table_.reading.given == {"columns": names, "drop": ["X1"]}
    # an identifier is left out unless it is chosen
    with pytest.warns(GomeaBnWarning, match="Left out 1 column: 'row_id'"):
        assert replace(learner).fit(without).feature_names_in_.tolist() == names
    with_id = [*names, "row_id"]
    numbered = replace(learner).fit(ChosenColumns(str(tmp_path), columns=tuple(with_id)))
    assert sorted(numbered.feature_names_in_) == sorted(with_id)
    of_folders = [
        next(piece.frames()) for piece in pieces_of(ChosenColumns(str(tmp_path), columns=("year",)))
    ]
    assert [list(part) for part in of_folders] == [["year"]] * 6
    assert sum(map(len, of_folders)) == 3_000 * 2
    with pytest.raises(GomeaBnError, match=r"^columns: unknown column 'X22'. Did you mean 'X2'\?"):
        learner.fit(ChosenColumns(str(tmp_path), columns=("X22",)))
    arrow = tmp_path / "arrow"
    arrow.mkdir()
    frame.to_feather(arrow / "rows.arrow")
    (piece, *_) = pieces_of(ChosenColumns(str(arrow), drop=("X1",)))
    assert list(next(piece.frames())) == [name for name in frame if name != "X1"]


def test_values_in_names_of_folders_are_columns(frame, tmp_path) -> None:
    for year, code in ((2023, "01"), (2024, "x%2Fy"), (2025, "__HIVE_DEFAULT_PARTITION__")):
        folder = tmp_path / f"year={year}" / f"code={code}"
        folder.mkdir(parents=True)
        frame.iloc[:20].to_parquet(folder / "rows.parquet")
    read = [next(piece.frames()) for piece in pieces_of(tmp_path)]
    assert [part["year"].unique().tolist() for part in read] == [[2023], [2024], [2025]]
    assert [part["code"].unique().tolist() for part in read[:2]] == [["01"], ["x/y"]]
    assert read[2]["code"].isna().all()
    assert list(next(pieces_of(tmp_path)[0].frames(["X1", "year"]))) == ["X1", "year", "code"]
    matched = next(pieces_of(str(tmp_path / "year=20*" / "*" / "*.parquet"))[0].frames())
    assert list(matched) == [*frame.columns, "year", "code"]
    assert list(next(pieces_of(str(tmp_path / "year=2024" / "*" / "*.parquet"))[0].frames()))[-1] == "code"
    frame.iloc[:20].to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(GomeaBnError, match="'year', 'code'"):
        pieces_of(tmp_path)


def test_links_are_followed_once_and_a_broken_one_is_an_error(frame, tmp_path) -> None:
    (tmp_path / "far").mkdir()
    frame.iloc[:20].to_parquet(tmp_path / "far" / "rows.parquet")
    near = tmp_path / "near"
    near.mkdir()
    (near / "linked").symlink_to(tmp_path / "far")
    (near / "itself").symlink_to(near)
    assert [piece.n_rows() for piece in pieces_of(near)] == [20]
    (near / "gone.parquet").symlink_to(tmp_path / "gone.parquet")
    with pytest.raises(GomeaBnError, match=r"gone.parquet' is not a readable Parquet file"):
        pieces_of(near)
    with pytest.raises(GomeaBnError, match=r"gone.parquet' cannot be read"):
        files_digest(near)


@pytest.mark.parametrize("name", ["z.parquet", "z.arrow"])
def test_a_pipe_among_the_files_is_an_error(frame, tmp_path, name) -> None:
    frame.to_parquet(tmp_path / "a.parquet")
    os.mkfifo(tmp_path / name)
    for source in (tmp_path, str(tmp_path / "*.*")):
        with pytest.raises(GomeaBnError, match=f"{name}' is a device or a pipe, not a file"):
            pieces_of(source)


def test_files_that_change_during_the_run_are_an_error(frame, learner, tmp_path, monkeypatch) -> None:
    frame.to_parquet(tmp_path / "rows.parquet")
    before = of_many_rows.Improvement._draw_sample

    def then_written(self) -> None:
        before(self)
        frame.iloc[:3_000].to_parquet(tmp_path / "rows.parquet")

    monkeypatch.setattr(of_many_rows.Improvement, "_draw_sample", then_written)
    with pytest.raises(GomeaBnError, match="have changed while they were read"):
        learner.fit(tmp_path)


def test_files_that_change_while_tables_are_counted_are_an_error(frame, fit, tmp_path) -> None:
    frame.to_parquet(tmp_path / "rows.parquet")

    def write_at_the_end(line: str) -> None:
        if line.endswith("rows read."):
            frame.iloc[:3_000].to_parquet(tmp_path / "more.parquet")

    network = fit.network_
    with pytest.raises(GomeaBnError, match="have changed while they were read"):
        network_from_pieces(
            tmp_path, network.edges, network.cut_points, sample_rows=1_000, announce=write_at_the_end
        )


def test_a_damaged_file_is_named(frame, learner, tmp_path) -> None:
    frame.to_parquet(tmp_path / "rows.parquet", compression="gzip")
    content = bytearray((tmp_path / "rows.parquet").read_bytes())
    content[100:20_000] = bytes(19_900)
    (tmp_path / "rows.parquet").write_bytes(bytes(content))
    with pytest.raises(GomeaBnError, match=r"rows.parquet' cannot be read"):
        learner.fit(tmp_path)


def test_errors_in_the_sample_name_the_files_of_rows(frame, learner, tmp_path) -> None:
    wrong = frame.copy()
    wrong.loc[[700, 4_321], "X1"] = -np.inf, np.inf
    wrong[:3_000].to_parquet(tmp_path / "a.parquet")
    wrong[3_000:].to_parquet(tmp_path / "b.parquet", row_group_size=1_000)
    where = r"in row 700 of file '\S*a.parquet' and row 1321 of file '\S*b.parquet' \(counted from 0\)"
    with pytest.raises(GomeaBnError, match=rf"^In a sample of .*: Column 'X1' has 2 infinite values {where}"):
        replace(learner).fit(tmp_path)
    with pytest.raises(GomeaBnError, match=rf"^Column 'X1' has 2 infinite values {where}"):
        replace(learner, sample_rows=6_000).fit(tmp_path)
    mixed = frame.astype({"level": object})
    mixed.loc[5_000, "level"] = 1.5
    with pytest.raises(
        GomeaBnError, match=r"float 1\.5 in row 2000 of frame 1 .*; str '\w+' in row \d+ of frame 0"
    ):
        replace(learner, sample_rows=6_000).fit([mixed[:3_000], mixed[3_000:]])


def test_errors_of_a_search_name_no_rows_of_the_sample(frame, learner) -> None:
    gap = frame.copy()
    gap.loc[::100, "X1"] = np.nan
    with pytest.raises(
        GomeaBnError, match=r"(?s)^In a sample of .*'X1' has \d+ missing values in some rows\."
    ):
        replace(learner, discretizer="k-means").fit([gap])


def test_errors_outside_the_sample_name_the_file(frame, tmp_path) -> None:
    frame[:3_000].to_parquet(tmp_path / "a.parquet")
    wrong = frame[3_000:].assign(level=["low", "middle", *frame["level"][3_002:]])
    wrong["level"] = wrong["level"].astype("category")
    wrong.to_parquet(tmp_path / "b.parquet")
    coding = Coding(("level",), {}, {"level": ("high", "low")})
    (_, piece) = pieces_of(tmp_path)
    with pytest.raises(
        GomeaBnError, match=r"^In file '.*b.parquet': Column 'level' has .*row 1 \(counted from 0\)"
    ):
        coding(piece)
    wrong.to_parquet(tmp_path / "b.parquet", row_group_size=1)
    with pytest.raises(GomeaBnError, match=r"in row 1 \(counted from 0\)"):
        coding(pieces_of(tmp_path)[2])
