"""Forms of texts: numbers with units and limits, dates and their order; what is asked, and what is said."""

import datetime
import json
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gomea_bn import GomeaBnError, read_table
from gomea_bn.data import Table, read_frame
from gomea_bn.data.dates import calendar_texts, clock_texts, compact_days
from gomea_bn.data.number_texts import number_texts
from gomea_bn.data.pieces import ChosenColumns, pieces_of

N = 40
EPOCH = datetime.date(1970, 1, 1)
DAYS = [EPOCH + datetime.timedelta(days=18_600 + 5 * k) for k in range(N)]


def warned(rows: pd.DataFrame | Path, **options: Any) -> tuple[Table, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table = read_table(rows, **options)
    return table, [str(warning.message) for warning in caught]


def base(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"y": np.random.default_rng(0).normal(size=N), **columns})


@pytest.mark.parametrize(
    ("texts", "numbers", "unit"),
    [
        (["12 mg", "13.5mg", "1,200 mg"], [12, 13.5, 1200], "mg"),
        (["12%", "5.5 %"], [12, 5.5], "%"),
        (["$1,234.50", "-$3", "$ 7"], [1234.5, -3, 7], "$"),
        (["€ 12", "12 €"], [12, 12], "€"),
        (["USD 12", "USD 13.5"], [12, 13.5], "USD"),
        (["53'110.00", "1\u2019000"], [53110, 1000], ""),
        (["1 234", "12\u00a0345", "1\u202f234 567".replace(" ", "\u202f")], [1234, 12345, 1234567], ""),
        (["\u221212.5", "3"], [-12.5, 3], ""),
        (["1 year", "2 years"], [1, 2], "year"),
        (["37 °C", "38.5 °C"], [37, 38.5], "°C"),
        (["12.5 mg/dL", "3 mg/dL"], [12.5, 3], "mg/dL"),
        (["1e5 kg", "3 kg"], [1e5, 3], "kg"),
        (["12 mg", "12mg", "13 MG"], [12, 12, 13], "mg"),
        (["12 Kg", "12 kg", "13 Kg"], [12, 12, 13], "Kg"),
        (["5 mg/dL", "6 mg/dl"], [5, 6], "mg/dL"),
    ],
)  # fmt: skip
def test_numbers_have_one_unit(texts, numbers, unit):
    found = number_texts(texts)
    assert found is not None
    assert (found.numbers, found.unit, found.limits) == (numbers, unit, {})


@pytest.mark.parametrize(
    "texts",
    [
        ["12 mg", "12 g"], ["12 mg", "12"], ["A12", "A13"], ["1-2", "3-4"], ["192.168.1.1", "10.0.0.1"],
        ["20190426T134500", "20190427T134500"], ["1001-01", "1002-01"], ["1/4", "3/4"],
        ["5 ft 3 in", "5 ft 4 in"], ["1/2", "3/4"], ["1 mW", "2 MW"], ["1 m", "2 M"],
        ["1 mw", "2 mW", "3 MW"], ["1 mg", "2 MG", "3 Mg"],
        ["2 x 3", "3 x 4"], ["$5 mg", "$6 mg"], ["<5", "<6", "7"], ["mg"],
    ],
)  # fmt: skip
def test_other_texts_are_no_numbers(texts):
    assert number_texts(texts) is None


@given(
    st.lists(st.integers(-(10**9), 10**9), min_size=1), st.sampled_from(["{} kg", "{}%", "€{}", "{:,} EUR"])
)
def test_numbers_come_back_from_next_to_a_unit(numbers, form):
    found = number_texts([form.format(number) for number in numbers])
    assert found is not None
    assert found.numbers == numbers


VALUES = [1000 + 37.25 * k for k in range(N)]


@pytest.mark.parametrize(
    ("form", "unit"),
    [
        (lambda value: f"{value}%", "%"),
        (lambda value: f"{value} %", "%"),
        (lambda value: f"${value:,}", "$"),
        (lambda value: f"€ {value}", "€"),
        (lambda value: f"{value} EUR", "EUR"),
        (lambda value: f"{value:,}".replace(",", "'"), ""),
        (lambda value: f"{value:,}".replace(",", "\u00a0"), ""),
        (lambda value: f"{value:,}".replace(",", "\u202f").replace(".", ","), ""),
        (lambda value: f"\u2212{value}", ""),
        (lambda value: f"{value} mg", "mg"),
        (lambda value: f"{value:,} mg/dL".translate(str.maketrans(",.", ".,")), "mg/dL"),
    ],
)
@pytest.mark.parametrize("sep", [";", "\t"])
def test_files_of_every_form_of_numbers_hold_the_numbers(form, unit, sep, tmp_path):
    texts = [form(value) for value in VALUES]
    # one file has one decimal mark
    decimal = "," if re.search(r",\d{1,2}\b(?!,)", texts[1]) else "."
    base(amount=texts).to_csv(tmp_path / "a.csv", sep=sep, decimal=decimal, index=False)
    table, _ = warned(tmp_path / "a.csv", sep=sep)
    sign = -1 if texts[0].startswith("\u2212") else 1
    assert table.columns[1].values.tolist() == [sign * value for value in VALUES]
    assert any("amount" in note.text() and unit in note.text() for note in table.notes) or not unit


@pytest.mark.parametrize(
    ("texts", "numbers", "unit", "flags"),
    [
        (
            ["5.1", "5.1 H", "12 L*", "3.0*", "13**", "6", "7", "8"],
            [5.1, 5.1, 12, 3, 13, 6, 7, 8],
            "",
            ("H", "L*", "*", "**"),
        ),
        (["5 mg/dL", "8 mg/dL", "6 mg/dL H", "7 mg/dL (L)"], [5, 8, 6, 7], "mg/dL", ("H", "(L)")),
        (["1", "2", "3", "4", "5 H", "6LL", "7 High", "8 ↑"], [*range(1, 9)], "", ("H", "LL", "High", "↑")),
        # units of all numbers
        (["5 L", "6 L", "7.5 L"], [5, 6, 7.5], "L", ()),
        (["5 h", "6 h"], [5, 6], "h", ()),
    ],
)
def test_flags_of_laboratories_are_no_part_of_numbers(texts, numbers, unit, flags):
    found = number_texts(texts)
    assert found is not None
    assert (list(found.numbers), found.unit, found.flags) == (numbers, unit, flags)
    assert number_texts([*texts, "5 mL"]) is None


def test_codes_keep_their_letters():
    codes = [f"{k}{'HL'[k % 2]}" for k in range(80)]
    assert number_texts(codes) is None
    # flags are of values beyond the normal range
    assert number_texts([*codes, *map(str, range(79))]) is None
    found = number_texts([*codes, *map(str, range(80))])
    assert found is not None
    assert list(found.numbers) == [*range(80)] * 2
    # texts that are known to be numbers
    assert number_texts(codes, is_given=True) is not None
    table = read_table(pd.DataFrame({"flat": codes * 2, "x": np.arange(160.0)}), max_levels=100)
    assert table.columns[0].levels == tuple(sorted(codes))


def test_flags_stand_after_limits_and_decimal_commas_too():
    found = number_texts(["<0,5 L", "1,5", "2,5 H", "3"], ",")
    assert found is not None
    assert (list(found.numbers), found.limits) == ([0.25, 1.5, 2.5, 3.0], {"<0,5 L": 0.25})


def test_a_column_with_flags_is_one_of_numbers(tmp_path):
    cells = [f"{k / 4}{(' H', '', '', ' L*')[k % 4]}" for k in range(1, 41)]
    path = tmp_path / "lab.csv"
    path.write_text("\n".join(["potassium,n", *(f"{cell},{k % 3}" for k, cell in enumerate(cells))]))
    table = read_table(path)
    assert table.columns[0].values.tolist() == [k / 4 for k in range(1, 41)]
    (note,) = [str(note) for note in table.notes if "potassium" in str(note)]
    assert "without the flags 'L*', 'H'" in note
    few = tmp_path / "few.csv"
    few.write_text("potassium,n\n" + "".join(f"{cell},1\n" for cell in ("4.1", "5 H") * 5))
    again = read_table(few, reading={"forms": table.reading.forms})
    assert again.columns[0].values.tolist() == [4.1, 5.0] * 5


def test_limits_are_read_as_half_or_as_themselves():
    found = number_texts(["<0.006", "0.01", "0.02", ">90", "trace", "5", "≤ 2", "8", "9"])
    assert found is not None
    assert found.limits == {"<0.006": 0.003, ">90": 90, "trace": 0.003, "≤ 2": 1}
    assert found.numbers == [0.003, 0.01, 0.02, 90, 0.003, 5, 1, 8, 9]
    ages = number_texts(["88", "89", "90+"])
    assert ages is not None
    assert ages.numbers == [88, 89, 90]
    words = number_texts(["n.d.", "4", "0", "2"])
    assert words is not None
    assert words.limits == {"n.d.": None}
    assert words.numbers == [None, 4, 0, 2]
    # half of a limit that is not positive is above it
    negative = number_texts(["<-5", "-3", "-1", "<0", "trace", "3"])
    assert negative is not None
    assert negative.limits == {"<-5": -5, "<0": 0, "trace": -5}


def test_words_below_a_limit_that_nothing_states_are_missing():
    rows = base(x=[*("tr." for _ in range(5)), *(f"{k}.5" for k in range(N - 5))])
    table, said = warned(rows, missing="keep")
    assert table.columns[1].n_missing == 5
    assert "(5 'tr.' as missing)" in said[0]


def test_columns_of_few_numbers_and_many_limits_are_warned_of():
    rows = base(x=["<5" if k % 10 else f"{k + 6}.5" for k in range(N)])
    table, said = warned(rows)
    assert table.columns[1].levels is not None
    assert (
        "All but 36 cells of 'x' are numbers (36 '<5' are not). To read limits as numbers: pass kinds="
        in said[0]
    )
    assert warned(rows, kinds={"x": "continuous"})[0].columns[1].values[1] == 2.5
    assert warned(base(x=["<=50K", ">50K"] * (N // 2)))[1] == []


def test_the_rule_of_the_learned_table_reads_new_rows(tmp_path):
    low = ["<4 mg" if k % 5 == 0 else "trace" if k % 5 == 1 else f"{k} mg" for k in range(N)]
    paid = [f"{k + 7}.576,37 €" for k in range(N)]
    table, _ = warned(base(low=low, paid=paid))
    assert table.reading.given == {
        "decimal": ",", "forms": {"low": "number in mg with limit 4", "paid": "number in €"},
    }  # fmt: skip
    frame = pd.DataFrame({"low": ["trace", "<2 mg"], "paid": ["12.576 €", "9 €"]})
    frame.to_csv(tmp_path / "a.csv", sep=";", index=False)
    read = read_frame(tmp_path / "a.csv", decimal=",", forms=table.reading.forms)
    assert read["low"].tolist() == [2, 1]
    assert read["paid"].tolist() == [12_576, 9]
    frame[:1].to_csv(tmp_path / "b.csv", sep=";", index=False)
    assert read_frame(tmp_path / "b.csv", decimal=",", forms=table.reading.forms)["low"].tolist() == [2]
    with pytest.raises(
        GomeaBnError, match=r"'12\.576 €', whose mark may be that of decimals or of thousands"
    ):
        read_frame(tmp_path / "a.csv", forms={"paid": "number in €"})


def test_minus_signs_may_stand_elsewhere():
    for texts in (["15.29", "(21.5)"], ["15.29", "21.5-"], ["15.29", "\u201321.5"], ["$15.29", "($21.5)"]):
        found = number_texts(texts)
        assert found is not None
        assert found.numbers == [15.29, -21.5]
    # without another number they are footnotes or codes
    for texts in (["(1)", "(2)"], ["1-", "2-"], ["5", "(030)"], ["5", "(a)"]):
        assert number_texts(texts) is None
    table, _ = warned(base(x=[f"({k}.5)" if k % 3 else f"{k}.5" for k in range(N)]))
    assert table.columns[1].values[1:4].tolist() == [-1.5, -2.5, 3.5]
    assert "'x' (such as '(1.5)' for -1.5)" in table.describe()


def test_texts_with_digits_are_no_symbols_of_missing_values():
    _, said = warned(
        base(x=["bad" if k % 9 == 0 else f"{k}.5#" if k % 5 == 0 else f"{k}.5" for k in range(N)])
    )
    assert "If those without digits stand for missing values: pass na_values=['usual', 'bad']." in said[0]
    _, said = warned(base(x=[f"{k}.5#" if k % 5 == 0 else f"{k}.5" for k in range(N)]))
    assert said[0].endswith("Such columns are read as texts.")


def test_columns_with_limits_are_warned_of_at_once(tmp_path):
    values = np.round(np.random.default_rng(1).exponential(0.02, N), 3)
    low = ["<0.006" if value < 0.006 else f"{value:.3f}" for value in values]
    high = ["trace" if value < 0.003 else "<0.006" if value < 0.006 else f"{value:.3f}" for value in values]
    table, said = warned(base(low=low, high=high))
    assert len(said) == 1
    n_low, n_high = low.count("<0.006"), high.count("trace")
    assert f"in 2 columns: 'low' ({n_low} '<0.006' as 0.003), 'high' (" in said[0]
    assert f"{n_high} 'trace' as 0.003" in said[0]
    assert "na_values=['usual', '<0.006', 'trace']" in said[0]
    assert table.columns[1].values.tolist() == [0.003 if v < 0.006 else v for v in values]
    # the advice keeps the usual symbols
    rows = base(low=["NA", *low[1:]], high=high)
    missing = read_table(rows, na_values=["usual", "<0.006", "trace"], missing="keep")
    assert missing.columns[1].n_missing == low[1:].count("<0.006") + 1
    # a column of a file that is read again so is warned of again
    base(low=low).to_csv(tmp_path / "a.csv", index=False)
    assert "'<0.006' as 0.003" in warned(tmp_path / "a.csv", forms={"low": "number"})[1][0]


@pytest.mark.parametrize(
    ("form", "order"),
    [
        ("%d-%m-%Y", "day-month"), ("%d/%m/%Y", "day-month"), ("%m/%d/%Y", "month-day"), ("%m-%d-%Y", "month-day"),
        ("%m/%d/%y", "month-day"), ("%d-%b-%y", ""), ("%d%b%Y", ""), ("%d.%m.%y", ""), ("%d.%m.%Y", ""),
        ("%b %d, %Y", ""), ("%B %d, %Y", ""), ("%d %B %Y", ""), ("%Y%m%d", ""), ("%Y/%m/%d", ""), ("%Y-%m-%d", ""),
        ("%Y-%b-%d", ""), ("%m/%d/%Y %H:%M", "month-day"), ("%d/%m/%Y %H:%M:%S", "day-month"),
        ("%Y-%m-%dT%H:%M:%SZ", ""),
        ("%m/%d/%Y %I:%M %p", "month-day"), ("%d%b%Y:%H:%M:%S", ""), ("%G-W%V-%u", ""),
    ],
)  # fmt: skip
def test_forms_of_dates(form, order):
    texts = [datetime.datetime.combine(day, datetime.time()).strftime(form) for day in DAYS]
    found = calendar_texts(texts)
    assert found is not None
    assert found.values.tolist() == [(day - EPOCH).days for day in DAYS]
    assert found.order == order


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("13. März 2020", (2020, 3, 13)), ("1 février 2021", (2021, 2, 1)), ("3 de enero de 2020", (2020, 1, 3)),
        ("1 maart 2020", (2020, 3, 1)), ("17-Okt-84", (1984, 10, 17)), ("2 août 1999", (1999, 8, 2)),
        ("2021-10", (2021, 10, 1)), ("Aug-84", (1984, 8, 1)), ("2021Q3", (2021, 7, 1)), ("10/2021", (2021, 10, 1)),
        ("1st May 2021", (2021, 5, 1)), ("17AUG1684", (1684, 8, 17)), ("Q2 2019", (2019, 4, 1)),
        ("2019/Q4", (2019, 10, 1)), ("2019-W17", (2019, 4, 22)), ("2020W53", (2020, 12, 28)),
    ],
)  # fmt: skip
def test_months_have_names_in_five_languages(text, day):
    found = calendar_texts([text])
    assert found is not None
    assert found.values.tolist() == [(datetime.date(*day) - EPOCH).days]


@pytest.mark.parametrize(
    "texts",
    [
        ["1001-01", "1001-02"], ["1001-01-01"], ["10010101"], ["20190426T250000"],
        ["31-31-2020"], ["2010-11", "2011-12"], ["1.2.10"], ["5 bananas 2020"], ["20191301"], ["30 Feb 2020"],
        ["2019-W54"], ["Q5 2019"],
        ["12-31"],
    ],
)  # fmt: skip
def test_other_texts_are_no_dates(texts):
    assert calendar_texts(texts) is None


@pytest.mark.parametrize("form", ["%Y%m%dT%H%M%S", "%Y%m%dT%H%M", "%Y%m%dT%H%M%SZ"])
def test_time_stamps_have_no_marks(form):
    moments = [datetime.datetime(2019, 4, 26, 13, 45), datetime.datetime(2100, 12, 31, 6)]
    found = calendar_texts([moment.strftime(form) for moment in moments])
    assert found is not None
    assert found.values.tolist() == [
        (moment - datetime.datetime(1970, 1, 1)) / datetime.timedelta(days=1) for moment in moments
    ]


def test_times_of_day_are_below_24_hours():
    assert (hours := clock_texts(["0:05", "23:59:59", "13:30"])) is not None
    assert hours.tolist() == pytest.approx([1 / 12, 24 - 1 / 3600, 13.5])
    assert clock_texts(["86:54", "13:30"]) is None
    assert clock_texts(["54:60"]) is None
    assert clock_texts(["24:00"]) is None


@given(st.lists(st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2200, 1, 1)), min_size=1))
def test_dates_are_those_of_pandas(moments):
    texts = [moment.strftime("%Y/%m/%d %H:%M:%S.%f") for moment in moments]
    found = calendar_texts(texts)
    expected = (
        pd.to_datetime(pd.Series(moments)).astype("datetime64[us]") - pd.Timestamp("1970-01-01")
    ) / pd.Timedelta(days=1)
    assert found is not None
    assert found.values.tolist() == expected.tolist()


def test_the_whole_column_decides_the_order_of_day_and_month():
    early = [day for day in DAYS if day.day <= 12]
    texts = [day.strftime("%d/%m/%Y") for day in early]
    assert (found := calendar_texts(texts)) is not None
    assert found.order == "?"
    assert (found := calendar_texts([*texts, "13/01/2021"])) is not None
    assert found.order == "day-month"
    assert calendar_texts([*texts, "13/01/2021", "01/13/2021"]) is None
    monthly = [f"{month}/1/{year}" for year in (85, 86) for month in range(1, 13)]
    assert (found := calendar_texts(monthly)) is not None
    assert found.order == "month-day"
    assert found.values[1] == (datetime.date(1985, 2, 1) - EPOCH).days


def test_words_among_dates_are_missing_values(tmp_path):
    texts = [day.strftime("%d/%m/%Y") for day in DAYS]
    texts[3] = texts[9] = "unbekannt"
    texts[4] = "n. bek."
    table, said = warned(base(day=texts), missing="keep")
    days = table.columns[1]
    assert (days.name, days.n_missing) == ("day [days since 1970-01-01]", 3)
    assert days.observed[:4].tolist() == [(day - EPOCH).days for day in [*DAYS[:3], DAYS[5]]]
    assert "in 1 column: 'day' (2 'unbekannt', 1 'n. bek.')" in said[0]
    assert "forms={'day': 'text'}" in said[0]
    # few new rows are read by the same rule, also with another word
    new = base(day=["never", *texts[1:]])[:6]
    again, said = warned(new, forms=table.reading.forms, missing="keep", min_rows=1)
    assert again.columns[1].n_missing == 3
    assert "1 'never'" in said[0]
    iso, _ = warned(base(day=["offen", *map(str, DAYS[1:])]), missing="keep")
    assert iso.reading.forms == {"day": "date"}
    # texts that are words in part are texts
    words = [f"{word} {k}" for k, word in enumerate("abcd" * 3)] + [*map(str, DAYS[12:])]
    assert "day" in warned(base(day=words))[0].left_out


def test_given_dates_of_two_orders_are_asked_about():
    days = [f"{1 + k % 12:02}/{1 + k % 11:02}/2021" for k in range(N)]
    with pytest.raises(GomeaBnError, match="day and month cannot be distinguished"):
        read_table(base(day=days), forms={"day": "date"})


def test_all_ambiguous_columns_are_asked_about_at_once(tmp_path):
    rows = base(
        one=[f"{1 + i % 12:02}/{1 + i % 11:02}/2021" for i in range(N)],
        two=[f"{1 + i % 12:02}-{1 + i % 11:02}-2021" for i in range(N)],
        gap=[None, *range(N - 1)],
        many=[f"level {i // 2}" for i in range(N)],
    )
    with pytest.raises(GomeaBnError) as caught:
        read_table(rows, kinds={"many": "discrete"}, max_levels=10)
    lines = str(caught.value).splitlines()
    assert lines[0] == "3 problems:"
    assert lines[1].startswith("1. Columns 'one', 'two' hold dates such as '01/01/2021'")
    assert "forms={'one': 'date day-month'}" in lines[1]
    assert "kinds={'one': 'discrete'}" in lines[1]
    assert lines[2].startswith("2. Column 'gap' has 1 missing or infinite value in row 0")
    assert lines[3].startswith("3. Column 'many' must have at most 10 levels, got 20")
    forms = {"one": "date day-month", "two": "date month-day"}
    table = read_table(rows[["y", "one", "two"]], forms=forms)
    assert table.names[1:] == ("one [days since 1970-01-01]", "two [days since 1970-01-01]")
    assert table.columns[1].values[1] == (datetime.date(2021, 2, 2) - EPOCH).days
    assert table.columns[1].values[11] == (datetime.date(2021, 1, 12) - EPOCH).days
    assert table.columns[2].values[11] == (datetime.date(2021, 12, 1) - EPOCH).days


def test_what_was_read_in_which_form_is_said_and_repeats(tmp_path):
    rows = base(
        dose=[f"{k / 4} mg" for k in range(N)],
        paid=[f"€{1000 * k:,}.50" for k in range(N)],
        visit=[day.strftime("%d-%m-%Y") for day in DAYS],
        stamp=[int(day.strftime("%Y%m%d")) for day in DAYS],
    )
    rows.to_csv(tmp_path / "a.csv", index=False)
    table, said = warned(tmp_path / "a.csv")
    assert said == []
    described = table.describe()
    assert "'dose' in mg (such as '0.0 mg')" in described
    assert "'visit [days since 1970-01-01]', from day/month/year such as '04-12-2020'" in described
    assert table.reading.given["forms"] == {
        "dose": "number in mg", "paid": "number in €", "visit": "date day-month", "stamp": "date",
    }  # fmt: skip
    again = read_table(tmp_path / "a.csv", **table.reading.given)
    of_frame = read_table(rows)
    for column, other, third in zip(table.columns, again.columns, of_frame.columns, strict=True):
        assert column.values.tolist() == other.values.tolist() == third.values.tolist()
    # rows with few values are read in the same form
    rows.head(3).to_csv(tmp_path / "b.csv", index=False)
    frame = read_frame(tmp_path / "b.csv", forms=table.reading.given["forms"])
    assert frame["dose"].tolist() == [0, 0.25, 0.5]
    assert frame["visit"].dt.day.tolist() == [4, 9, 14]
    assert frame["stamp"].tolist() == frame["visit"].tolist()
    wrong = rows.assign(dose="3 g")
    with pytest.raises(
        GomeaBnError,
        match=r"forms: column 'dose' must hold what reads as 'number in mg', got '3 g' in rows 0",
    ):
        read_table(wrong, forms={"dose": "number in mg"})


def test_columns_of_few_texts_and_given_kinds_stay_text():
    texts = [f"{k % 10} mg" for k in range(N)]
    assert read_table(base(dose=texts)).columns[1].levels is not None
    assert read_table(base(dose=texts), kinds={"dose": "continuous"}).columns[1].is_continuous
    many = [f"{k % 20} mg" for k in range(N)]
    assert read_table(base(dose=many)).columns[1].is_continuous
    assert read_table(base(dose=many), kinds={"dose": "discrete"}).columns[1].levels is not None
    assert read_table(base(dose=many), forms={"dose": "text"}).columns[1].levels is not None
    income = ["<=50K", ">50K"] * (N // 2)
    assert read_table(base(income=income)).columns[1].levels == ("<=50K", ">50K")


def test_whole_numbers_are_dates_where_all_are_days():
    numbers = [int(day.strftime("%Y%m%d")) for day in DAYS]
    assert read_table(base(day=numbers)).names[1] == "day [days since 1970-01-01]"
    assert read_table(base(day=[*numbers[1:], 20211301])).names[1] == "day"
    assert read_table(base(day=numbers), kinds={"day": "continuous"}).names[1] == "day"
    assert compact_days(np.array(numbers)).tolist() == [(day - EPOCH).days for day in DAYS]
    assert compact_days(np.array([20210230])) is None


def test_decimal_marks_of_numbers_with_a_unit(tmp_path):
    rows = base(dose=[f"{k},5 mg" for k in range(N)])
    assert read_table(rows).columns[1].values.tolist() == [k + 0.5 for k in range(N)]
    doubtful = base(dose=[f"{k},500 mg" for k in range(1, N + 1)])
    with pytest.raises(
        GomeaBnError, match=r"'dose' holds numbers such as '1,500 mg'.*decimal=\"\.\", or pass decimal=\",\""
    ):
        read_table(doubtful)
    assert read_table(doubtful, decimal=",").columns[1].values[0] == 1.5
    assert read_table(doubtful, decimal=".").columns[1].values[0] == 1500
    # where commas separate the fields they are no decimal marks, nor points marks of thousands
    doubtful.assign(x=[f"{1 + k / 1000:.3f}" for k in range(N)]).to_csv(tmp_path / "a.csv", index=False)
    table = read_table(tmp_path / "a.csv")
    assert table.columns[1].values[0] == 1500
    assert table.columns[2].values[1] == 1.001


@pytest.mark.parametrize(
    ("forms", "words"),
    [
        ({"z": "number"}, r"forms: unknown column 'z'"),
        ({"y": "numbers"}, r"forms\['y'\] must be one of"),
        ({"y": "number with limit x"}, r"forms\['y'\] must be one of"),
        ({"y": "number in "}, r"forms\['y'\] must be one of"),
        ("y", "forms must map names of columns"),
    ],
)
def test_wrong_forms_are_named(forms, words):
    with pytest.raises(GomeaBnError, match=words):
        read_table(base(), forms=forms)


def test_a_file_of_options_is_that_of_the_arguments(tmp_path):
    rows = base(
        day=[f"{1 + i % 12:02}/{1 + i % 11:02}/2021" for i in range(N)], few=[k % 3 for k in range(N)]
    )
    options = {
        "forms": {"day": "date month-day"},
        "kinds": {"few": "continuous"},
        "missing": "keep",
        "max_levels": 9,
    }
    (tmp_path / "reading.json").write_text(json.dumps(options))
    table = read_table(rows, reading=tmp_path / "reading.json")
    assert table.columns[2].is_continuous
    assert read_table(rows, reading=options).columns[1].values.tolist() == table.columns[1].values.tolist()
    given_kinds = read_table(rows, reading=options, kinds={"few": "discrete"})
    assert given_kinds.columns[2].levels == (0, 1, 2)
    with pytest.raises(GomeaBnError, match="reading has 'from', which is no option"):
        read_table(rows, reading={"from": 3})
    with pytest.raises(GomeaBnError, match="Reading options for reading needs a path, got 5"):
        read_table(rows, reading=5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name",
    [
        "id", "ID", "Id", "pid", "PID", "mrn", "MRN", "SUBJID", "USUBJID", "subject_id", "SubjectID", "subject no",
        "patnr", "pat_no", "patient_id", "PatientID", "patientnr", "patient.id", "patno", "caseno", "CASE_NO",
        "case_id",
        "record", "record_id", "RecordID", "ssn", "SSN", "barcode", "zip", "zip_code", "ZIP", "zipcode", "postcode",
        "PLZ",
        "phone", "Phone", "phone_number", "tel", "hadm_id", "rowid", "row_id", "userid", "user_id", "CustomerID",
        "customer_id", "sample_no", "sample_id", "SampleID", "invoice", "OrderNo", "order_id", "accession", "respid",
        "participant_id", "participantId", "serial", "study_id", "screening_no", "uuid", "key", "index", "nhs",
        "subject", "participant", "case", "Case", "nhs_number", "nhsno", "specimen", "respondent", "account", "enrolid",
        "seq", "Kennung", "Fallnummer", "matricule",
    ],
)  # fmt: skip
def test_names_of_identifiers(name):
    numbers = np.random.default_rng(2).permutation(np.arange(500, 500 + 3 * N))[:N]
    _, said = warned(base(**{name: numbers}))
    assert f"'{name}' (a different number in every row, under the name of an identifier)" in said[0]
    assert read_table(base(new_case=numbers)).names == ("y", "new_case")
    assert read_table(base(**{f"{name}_of_sodium": numbers})).names == ("y", f"{name}_of_sodium")


def test_years_of_two_digits_are_those_of_excel():
    found = calendar_texts(["31-12-29", "31-12-30"])
    assert found is not None
    assert found.values.tolist() == [(datetime.date(year, 12, 31) - EPOCH).days for year in (2029, 1930)]
    assert "30 to 99 of the 1900s" in found.form


NUMERALS = st.text("0123456789.,'-+<>%$€ :/eEmgkQTZ", max_size=16)


@given(st.lists(st.text(max_size=16) | NUMERALS, min_size=1, max_size=4))
def test_any_text_is_a_form_or_none(texts):
    found = number_texts(texts)
    assert found is None or len(found.numbers) == len(texts)
    days = calendar_texts(texts)
    assert days is None or days.values.shape == (len(texts),)
    # one more text never makes a column of other texts one of numbers or dates
    assert found is not None or number_texts([*texts, "abc def"]) is None
    assert calendar_texts([*texts, "abc def"]) is None


def test_rows_of_files_in_pieces_are_read_in_given_forms(tmp_path):
    pytest.importorskip("pyarrow")
    rows = base(share=[f"{k / 4} %" for k in range(N)], day=[day.strftime("%d/%m/%Y") for day in DAYS])
    for part in range(2):
        rows.iloc[20 * part : 20 * part + 20].to_parquet(tmp_path / f"{part}.parquet")
    forms = (("share", "number in %"), ("day", "date day-month"))
    frames = [
        frame for piece in pieces_of(ChosenColumns(str(tmp_path), forms=forms)) for frame in piece.frames()
    ]
    read = pd.concat(frames)
    assert read["share"].tolist() == [k / 4 for k in range(N)]
    assert read["share"].dtype == np.float64
    assert [moment.date() for moment in read["day"]] == DAYS
    with pytest.raises(GomeaBnError, match=r"unknown column 'shares'\. Did you mean 'share'"):
        pieces_of(ChosenColumns(str(tmp_path), forms=(("shares", "number"),)))


@pytest.mark.parametrize(
    "texts",
    [
        [f"{100 + k}/{60 + k}" for k in range(N)],
        [f"{k / 4}±0.5" for k in range(N)],
        [f"{'USD' if k % 2 else 'EUR'} {k / 4}" for k in range(N)],
        [f"{1000 * k:,}.50{'CR' if k % 2 else 'DR'}" for k in range(N)],
        [f"{k / 4}{' of 7' if k > 9 else ''}" for k in range(N)],
    ],
)
def test_numbers_with_different_texts_are_warned_of(texts):
    said = " ".join(warned(base(dose=texts))[1])
    assert (
        "Texts begin with numbers, but not all with those of one unit, and are read as texts: 'dose'" in said
        or ("cells of 'dose' are numbers" in said)
    )


@pytest.mark.parametrize(
    "form", ["2021-{:04}", "{}-A", "S{}", "1.2.3.{}", "{:08}-4", "{} Main Street, Springfield"]
)
def test_codes_and_addresses_are_not_taken_for_numbers(form):
    said = " ".join(warned(base(code=[form.format(k) for k in range(N)]))[1])
    assert "begin with numbers" not in said
