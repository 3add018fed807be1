"""Shapes of text files: lines above the table, two lines of names, totals, saved indexes, separators, encodings."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ugly_files import N_ROWS, clean_table

from gomea_bn import GomeaBnError, read_table

TEXT = clean_table().to_csv(index=False, lineterminator="\n")
LINES = TEXT.splitlines()
ROWS = "\n".join(LINES[1:]) + "\n"
TOTAL = int(clean_table()["income"].sum())


def _with_index(index: list[int]) -> bytes:
    return clean_table().set_axis(index, axis=0).to_csv().encode()


FILES = {
    "a separator in the first line": ("sep=;\n" + clean_table().to_csv(sep=";", index=False)).encode(),
    "blanks after commas": TEXT.replace(",", ", ").encode(),
    "several blanks": TEXT.replace(",", "   ").encode(),
    "comments": ("# made by x\n# 2021, a, b\n" + TEXT).encode(),
    "comments in the table": "\n".join(
        [*LINES[:9], "# batch 2", *LINES[9:30], "#, 3", *LINES[30:], "# end"]
    ).encode(),
    "joined files": (TEXT + TEXT.replace(ROWS, "")).encode(),
    "names in a comment": ("#" + TEXT).encode(),
    "titles": ("Report of 2021\n\nsource: me, you\n" + TEXT).encode(),
    "a title of a sheet": ("Report of 2021,,\n,,\n" + TEXT).encode(),
    "a total": (TEXT + f"Total,{TOTAL},\n").encode(),
    "a total in the last column": (TEXT + f",{TOTAL},Gesamt:\n").encode(),
    "little-endian UTF-16 without a mark": TEXT.encode("utf-16-le"),
    "big-endian UTF-16 without a mark": TEXT.encode("utf-16-be"),
    "a saved index with gaps": _with_index([3 * k + k % 2 for k in range(N_ROWS)]),
    "a saved index in another order": _with_index(list(np.random.default_rng(0).permutation(N_ROWS))),
    "an index that starts again": _with_index([k % 20 for k in range(N_ROWS)]),
}


def read(content: bytes, folder: Path, **options: Any) -> tuple[pd.DataFrame, list[str]]:
    (folder / "a.csv").write_bytes(content)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table = read_table(folder / "a.csv", **options)
    frame = pd.DataFrame(table.to_frame())
    return frame, [str(warning.message) for warning in caught]


@pytest.mark.parametrize("what", FILES)
def test_the_table_is_found(what, tmp_path):
    frame, _ = read(FILES[what], tmp_path)
    expected = clean_table()
    assert list(frame) == list(expected)
    for name in ("Größe", "income"):
        assert frame[name].tolist() == expected[name].tolist()
    assert frame["town"].tolist() == expected["town"].tolist()


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("comments", "Left out 2 lines above the table in '"),
        ("comments in the table", "Left out 3 comments (#) in the table."),
        ("joined files", "Left out 1 line in the table with the names of its columns."),
        ("titles", "'Report of 2021', 'source: me, you'"),
        ("a total", "Left out the last row, 'Total', which has the sum of the others."),
        ("a saved index with gaps", "column 0 (different whole numbers)"),
        ("an index that starts again", "column 0 (a running number that starts again)"),
    ],
)
def test_what_is_left_out_is_warned_of(what, words, tmp_path):
    assert words in " ".join(read(FILES[what], tmp_path)[1])


@pytest.mark.parametrize(
    ("row", "count"),
    [
        ("170.5,1200,Bonn,see note", "4 fields"),
        ("170,5,1200,Bonn", "4 fields"),
        ("170.5,1200", "2 fields"),
        ("n/a", "1 field"),
    ],
)
def test_rows_above_a_ragged_one_are_no_titles(row, count, tmp_path):
    with pytest.raises(GomeaBnError, match=rf"line 17 has {count}, but most have 3: '{row}'"):
        read("\n".join([*LINES[:16], row, *LINES[16:]]).encode(), tmp_path)


def test_comments_far_below_are_left_out_and_codes_and_quoted_lines_stay(tmp_path):
    rows = [f'{k / 8},"a\n#{k % 3}"' for k in range(300)]
    frame, said = read("\n".join(["n,t", *rows, "# end of file"]).encode(), tmp_path)
    assert (len(frame), said) == (300, ["Left out 1 comment (#) in the table."])
    rows = [f"#{k % 5},{k / 7}" for k in range(300)]
    frame, said = read("\n".join(["code,x", *rows]).encode(), tmp_path)
    assert (len(frame), said, set(frame["code"])) == (300, [], {f"#{k}" for k in range(5)})
    rows[40] = "# batch 2"
    frame, said = read("\n".join(["code,x", *rows]).encode(), tmp_path)
    assert (len(frame), said) == (299, ["Left out 1 comment (#) in the table."])


def test_a_last_row_that_sums_the_rows_since_the_total_before_is_reported_so(tmp_path):
    groups = [(name, [k * k % 11 + m for k in range(5)]) for m, name in enumerate(["a", "b", "c"])]
    lines = ["region,n"]
    for name, numbers in groups:
        lines += [f"{name},{n}" for n in numbers] + [f"Total,{sum(numbers)}"]
    frame, said = read("\n".join(lines).encode(), tmp_path)
    assert len(frame) == 15
    assert said == ["Left out 3 rows, 'Total', which have sums of rows next to them."]
    lines.append(f"Grand total,{sum(sum(numbers) for _, numbers in groups)}")
    frame, said = read("\n".join(lines).encode(), tmp_path)
    assert len(frame) == 15
    assert said == [
        "Left out the last row, 'Grand total', which has the sum of the others.",
        "Left out 3 rows, 'Total', which have sums of rows next to them.",
    ]


@pytest.mark.parametrize(
    "name",
    [
        *("Grand Total", "subtotals", "TOTAL: 12 rows", "Total général", "Summe", "Gesamtsumme", "insgesamt"),
        *(
            "Somme",
            "suma",
            "Totaal",
            "All",
            "Northern totals",
            "total of north",
            "gesamt nord",
            "totaal noord",
        ),
    ],
)
def test_names_of_totals_are_known(name, tmp_path):
    frame, said = read((TEXT + f",{TOTAL},{name}\n").encode(), tmp_path)
    assert len(frame) == N_ROWS
    assert any(name in text for text in said)


def test_a_last_row_that_is_no_total_stays(tmp_path):
    frame, said = read((TEXT + f"170.5,{TOTAL - 7},Total\n").encode(), tmp_path)
    assert len(frame) == N_ROWS + 1
    assert said == [
        "The last row is called 'Total', but has no sums of the others, and counts like these. Remove from the file "
        "what is no row."
    ]


PRICES = [f"w{k % 3};{k * k % 37};€{1000 + 3.25 * k:,.2f};{k / 8}" for k in range(30)]
SUM_OF_N = sum(k * k % 37 for k in range(30))
SUM_OF_PRICES = f"€{sum(1000 + 3.25 * k for k in range(30)):,.2f}"


@pytest.mark.parametrize(
    ("below", "words"),
    [
        ([f"Total;{SUM_OF_N};{SUM_OF_PRICES};"], ["'Total', which has the sum"]),
        ([f"Sum:;{SUM_OF_N};;", f"Mean;{SUM_OF_N / 30};;"], ["'Sum:', 'Mean', which have sums or means"]),
        ([f"Gesamt;{SUM_OF_N};;1.5"], ["'Gesamt', which has the sum"]),
        (["", "Source: clinic, 2021"], ["1 line below the table: 'Source: clinic, 2021'"]),
        (
            [f"Total;{SUM_OF_N};;", ";;;", "Quelle: a; b"],
            ["'Total', which", "1 line below the table: 'Quelle: a"],
        ),
        (["*) estimated by hand;;;"], ["1 line below the table: '*) estimated by hand'"]),
        ([f"Total;{SUM_OF_N + 1};;"], ["called 'Total', but has no sums"]),
    ],
)
@pytest.mark.parametrize("n_times", [1, 10])
def test_totals_and_notes_below_a_table_are_no_rows(below, words, n_times, tmp_path):
    rows = PRICES * n_times
    if n_times > 1:
        below = [text.replace(str(SUM_OF_N), str(SUM_OF_N * n_times)) for text in below]
        below = [text.replace(str(SUM_OF_N + 1), str(SUM_OF_N * n_times + 1)) for text in below]
        below = [text.replace(SUM_OF_PRICES, "") for text in below]
        if "Mean" in below[-1]:
            below[-1] = f"Mean;{SUM_OF_N / 30};;"
    frame, said = read("\n".join(["ward;n;cost;x", *rows, *below, ""]).encode(), tmp_path, missing="keep")
    assert len(frame) == len(rows) + ("no sums" in words[0])
    for text in words:
        assert text in " ".join(said)
    assert frame["cost"].tolist()[:30] == [1000 + 3.25 * k for k in range(30)]


@pytest.mark.parametrize(
    ("below", "n_stay", "words"),
    [
        # two rows of one name
        (["Total;;8555;60", ";Total;999;888"], 2, ["called 'Total', but has no sums"]),
        (
            ["Total;;99;77", ";Total;8555;60"],
            1,
            ["called 'Total', but has no sums", "'Total', which has the sum"],
        ),
        # numbers of other names
        (["All;;210.5;2"], 1, ["called 'All', but has no sums"]),
        (["mean;;8555;60"], 1, ["called 'mean', but has no means"]),
        (["mean;;285.1666667;2"], 0, ["'mean', which has the mean of"]),
        (["median;;210.5;2"], 0, ["'median', which has the median of"]),
        (["Sum;;8555;60", "mean;;285.1666667;2"], 0, ["'Sum', 'mean', which have sums or means of"]),
        # without numbers nothing is doubtful
        (["Total;q1;;"], 1, []),
    ],
)
def test_a_total_is_what_its_name_says(below, n_stay, words, tmp_path):
    rows = [f"w{k % 3};q{k % 2};{k * k};{k % 2 * 4}" for k in range(30)]
    frame, said = read("\n".join(["ward;part;n;x", *rows, *below, ""]).encode(), tmp_path, missing="keep")
    assert len(frame) == 30 + n_stay
    assert len(said) == len(words)
    for text, of_row in zip(words, said, strict=True):
        assert text in of_row


def test_sums_of_zeros_say_nothing(tmp_path):
    rows = [f"w{k % 3};{k};0;0;0" for k in range(30)]
    for last, n_rows in (("Total;435;0;0;0", 30), ("Total;9;0;0;0", 31), ("Total;9;1;0;435", 31)):
        frame, _ = read("\n".join(["ward;n;a;b;c", *rows, last, ""]).encode(), tmp_path, missing="keep")
        assert len(frame) == n_rows


def test_totals_and_notes_below_a_sheet_are_no_rows(tmp_path):
    pytest.importorskip("openpyxl")
    rows = pd.DataFrame(
        {"age": [20 + k % 40 for k in range(60)], "n": np.arange(60) // 2, "x": np.arange(60) / 7}
    )
    below = pd.DataFrame({"age": [None, "Total", None, "Printed by A. B."], "n": [None, 870, None, None]})
    pd.concat([rows.astype(object), below]).to_excel(tmp_path / "a.xlsx", index=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table = read_table(tmp_path / "a.xlsx")
    assert table.columns[0].values.tolist() == rows["age"].tolist()
    assert table.columns[1].values.tolist() == rows["n"].tolist()
    said = " ".join(str(warning.message) for warning in caught)
    assert "'Total', which has the sum" in said
    assert "'Printed by A. B.'" in said


@pytest.mark.parametrize(
    ("text", "is_row"),
    [
        ("York County", True),
        ("Page County", True),
        ("Stand", True),
        ("Page 3", False),
        ("Stand: June", False),
        ("Created by hand;;;;", False),
        ("Source of all", False),
    ],
)
def test_names_that_begin_like_notes_are_rows(text, is_row, tmp_path):
    rows = [f"C{k} County;u{k % 2};{k};{k / 7};{k * k}" for k in range(40)]
    last = text if ";" in text else f"{text};u1;;;"
    frame, said = read("\n".join(["where;u;n;x;y", *rows, last, ""]).encode(), tmp_path, missing="keep")
    assert len(frame) == 40 + is_row
    assert any("below the table" in words for words in said) != is_row


def test_titles_above_a_blank_line_are_left_out_above_two_columns(tmp_path):
    rows = [f"{k / 7:.3f},{'ab'[k % 2]}" for k in range(30)]
    for titles in (["Results of trial 7", ""], ["Trial 7", "Results", "", ""]):
        frame, said = read("\n".join([*titles, "x,g", *rows]).encode(), tmp_path)
        assert (list(frame), len(frame)) == (["x", "g"], 30)
        assert "above the table" in said[0]
    # one column with a gap
    frame, _ = read(("x\n\n" + "\n".join(str(k / 7) for k in range(30))).encode(), tmp_path, missing="keep")
    assert (list(frame), len(frame)) == (["x"], 31)


def of_regions(last: str, *, first: bool = False) -> list[str]:
    """Rows of three regions, each with its total before or after them, and the sum of all at the end."""
    lines, n_all = [], 0
    for region, n_rows in (("north", 5), ("south", 1), ("west", 6)):
        rows = [f"{region},{k},{k * k}.5" for k in range(1, n_rows + 1)]
        n = n_rows * (n_rows + 1) // 2
        total = f"{last.format(region)},{n},{sum(k * k + 0.5 for k in range(1, n_rows + 1))}"
        lines += [total, *rows] if first else [*rows, total]
        n_all += n
    return ["region,n,x", *lines, f"Grand total,{n_all},"]


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("last", ["Subtotal", "{} total", "Total {}"])
@pytest.mark.parametrize("ending", [".csv", ".xlsx"])
def test_totals_within_a_table_are_no_rows(last, first, ending, tmp_path):
    lines = of_regions(last, first=first)
    if ending == ".csv":
        frame, said = read("\n".join(lines).encode(), tmp_path)
    else:
        pytest.importorskip("openpyxl")
        cells = [line.split(",") for line in lines]
        rows = [[name, int(n), float(x) if x else None] for name, n, x in cells[1:]]
        pd.DataFrame(rows, columns=cells[0]).to_excel(tmp_path / "a.xlsx", index=False)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            table = read_table(tmp_path / "a.xlsx")
        frame, said = table.to_frame(), [str(each.message) for each in caught]
    assert frame["n"].astype(int).tolist() == [1, 2, 3, 4, 5, 1, 1, 2, 3, 4, 5, 6]
    assert set(frame["region"]) == {"north", "south", "west"}
    assert any("Left out 3 rows, " in text and "sums of rows next to them" in text for text in said)
    assert any("'Grand total', which ha" in text and "of the others" in text for text in said)


def test_rows_within_a_table_that_are_only_called_totals_stay(tmp_path):
    lines = of_regions("total")
    changed = [line.replace("total,15,", "total,14,1") for line in lines]
    # those below all rows of the table are judged on their own
    assert len(read("\n".join(changed).encode(), tmp_path)[0]) == 14
    # a level with figures of its own
    rows = [f"{('all', 'men', 'women')[k % 3]},{2000 + k // 3},{(7 * k) % 11}" for k in range(30)]
    assert len(read("\n".join(["sex,year,n", *rows]).encode(), tmp_path)[0]) == 30
    # what most rows are called
    rows = ["total,1", "total,1", "total,2", "some,4"] * 5
    assert len(read("\n".join(["what,n", *rows]).encode(), tmp_path)[0]) == 20


def test_short_last_rows_are_rows_where_others_are_short(tmp_path):
    rows = [f"note {k % 3},{k if k % 2 else ''},{k / 7 if k % 2 else ''}" for k in range(40)]
    frame, _ = read("\n".join(["what,n,x", *rows, "note 0,,"]).encode(), tmp_path, missing="keep")
    assert len(frame) == 41


@pytest.mark.parametrize("last", ["all,0,1.5", "Total,0,1.5", "all,12,30", "Total,4e-10,1.5"])
def test_a_last_row_of_a_level_or_without_a_sum_stays(last, tmp_path):
    counts = "1e-10" if "e" in last else str(int("12" in last))
    rows = [f"{'all' if k % 2 else 'some'},{counts},{k - 3}" for k in range(12)]
    frame, _ = read("\n".join(["group,n,x", *rows, last]).encode(), tmp_path)
    assert len(frame) == 13


def test_blanks_before_quotes_that_hold_separators_are_skipped(tmp_path):
    rows = [f'{k}.5, "1,{k}0", "a, {k % 3}"' for k in range(10, 40)]
    frame, _ = read("\n".join(["x, y, z", *rows]).encode(), tmp_path)
    assert (frame["y"].tolist(), set(frame["z"])) == (
        [1000 + 10 * k for k in range(10, 40)],
        {"a, 0", "a, 1", "a, 2"},
    )


@pytest.mark.parametrize("separator", [",", ", "])
def test_a_first_line_of_values_is_a_row(separator, tmp_path):
    frame, said = read(ROWS.replace(",", separator).encode(), tmp_path)
    assert (len(frame), list(frame)) == (N_ROWS, ["x0", "x1", "x2"])
    assert "3 of 3 column names look like data" in said[0]
    numbers = "\n".join(line.rpartition(",")[0] for line in LINES[1:]) + "\n"
    assert "2 of 2 column names look like data" in read(numbers.encode(), tmp_path)[1][0]
    frame, _ = read(ROWS.encode(), tmp_path, header="first-line")
    assert len(frame) == N_ROWS - 1


def test_a_first_line_of_numbers_and_gaps_is_a_row(tmp_path):
    frame, _ = read(
        ("1.0,1.0,NaN,0.5\n" + "1.0,2.0,3.25,0.25\n" * 6 + "2.0,1.0,3.5,0.75\n" * 6).encode(),
        tmp_path,
        missing="keep",
    )
    assert (len(frame), list(frame)) == (13, ["x0", "x1", "x2", "x3"])
    frame, _ = read(("na,year,1990\n" + "1,2,3\n" * 6 + "2,1,4\n" * 6).encode(), tmp_path)
    assert (len(frame), list(frame)) == (12, ["na", "year", "1990"])


def test_years_are_names(tmp_path):
    rows = pd.DataFrame(
        np.random.default_rng(0).normal(size=(20, 8)), columns=[str(year) for year in range(1960, 1968)]
    )
    frame, said = read(
        rows.assign(country=[f"c{k % 3}" for k in range(20)]).to_csv(index=False).encode(), tmp_path
    )
    assert (list(frame)[:2], said) == (["1960", "1961"], [])


def test_two_lines_of_names_are_joined(tmp_path):
    second = "(cm),(EUR),name\n"
    frame, _ = read((LINES[0] + "\n" + second + ROWS).encode(), tmp_path)
    assert (len(frame), list(frame)) == (N_ROWS, ["Größe (cm)", "income (EUR)", "town name"])
    # as pandas writes columns of two levels
    levels = clean_table()[["Größe", "income"]].set_axis([["a", "a"], ["x", "y"]], axis=1)
    assert list(read(levels.to_csv(index=False).encode(), tmp_path)[0]) == ["a x", "a y"]


@pytest.mark.parametrize(
    ("second", "names"),
    [
        ("cm,,", ["Größe cm", "income", "town"]),
        (",EUR,-", ["Größe", "income EUR", "town"]),
        ("-,EUR,name", ["Größe", "income EUR", "town name"]),
    ],
)
def test_a_second_line_may_have_units_of_some_columns(second, names, tmp_path):
    frame, _ = read("\n".join([LINES[0], second, *LINES[1:]]).encode(), tmp_path)
    assert (len(frame), list(frame)) == (N_ROWS, names)


@pytest.mark.parametrize(
    ("second", "options"), [("unknown,,Köln", {}), ("-,,Köln", {}), ("refused,,", {"na_values": "refused"})]
)
def test_a_second_line_of_values_is_a_row(second, options, tmp_path):
    frame, _ = read("\n".join([LINES[0], second, *LINES[1:]]).encode(), tmp_path, missing="keep", **options)
    # a column of a text and different numbers is left out
    assert (len(frame), list(frame)[-2:]) == (N_ROWS + 1, ["income", "town"])


def test_a_column_without_a_name_that_is_no_index_is_called_by_its_position(tmp_path):
    values = np.random.default_rng(0).integers(0, 5, N_ROWS)
    frame, said = read(_with_index(values.tolist()), tmp_path)
    assert frame.columns[0] == "column 0"
    assert "no name for column 0" in said[0]


@pytest.mark.parametrize("encoding", ["gbk", "latin-1", "cp1252", "utf-16"])
def test_encodings_are_taken_by_name(encoding, tmp_path):
    text = TEXT.replace("ö", "中" if encoding == "gbk" else "ö").replace("ß", "s").replace("Gröse", "x")
    frame, _ = read(text.encode(encoding), tmp_path, encoding=encoding)
    assert ("K中ln" if encoding == "gbk" else "Köln") in set(frame["town"])


@pytest.mark.parametrize(
    ("town", "encoding", "advice"),
    [
        ("中国", "gbk", ["town 1000,中国", 'encoding="gb18030"', 'encoding="cp1251"']),
        (
            "Köln",
            "cp1252",
            ["town 1000,Köln", 'Save it as UTF-8, or pass encoding="cp1252".'],
        ),
    ],
)
def test_encodings_are_shown_by_what_they_make_of_the_text(town, encoding, advice, tmp_path):
    text = "income,town\n" + "".join(f"{1000 + k},{town}\n" for k in range(30))
    with pytest.raises(GomeaBnError) as error:
        read(text.encode(encoding), tmp_path)
    for words in advice:
        assert words in str(error.value)


def test_rising_numbers_and_names_next_to_a_saved_index_are_names(tmp_path):
    rows = pd.DataFrame(
        np.random.default_rng(0).normal(size=(20, 3)) * 9 + 150, columns=["142", "144", "147"]
    )
    assert list(read(rows.to_csv(index=False).encode(), tmp_path)[0]) == ["142", "144", "147"]
    rows = rows.set_axis(["7", "3", "5"], axis=1)
    assert list(read(rows.to_csv().encode(), tmp_path)[0]) == ["7", "3", "5"]
