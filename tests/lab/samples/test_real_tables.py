"""The real tables of the benchmarks."""

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
