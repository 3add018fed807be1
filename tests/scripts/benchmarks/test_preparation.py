"""Times before the search, printed per number of rows."""

from __future__ import annotations

import re

import preparation
import pytest


def test_a_line_per_number_of_rows(capsys: pytest.CaptureFixture[str]) -> None:
    preparation.main(["--rows", "60", "120", "--variables", "3"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["60 rows", "120 rows"]
    for line in lines:
        assert re.search(r"shapes \d+ ms, the rest \d+ ms a column$", line)


def test_both_parts_take_time() -> None:
    assert min(preparation.milliseconds(3, 60)) > 0


def test_ratios_of_evaluations_are_relative_to_uniform_bins(capsys: pytest.CaptureFixture[str]) -> None:
    seconds = {"uniform": [1e-5, 2e-5, 4e-5], "auto": [2e-5, 2e-5, 2e-5]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(preparation, "seconds_of_evaluations", lambda *_: seconds)
        preparation.main(["--rows", "60", "--variables", "3", "--evaluations", "10"])
    lines = capsys.readouterr().out.splitlines()[1:]
    assert [line.split(":")[0] for line in lines] == ["nonlinear, 2,000 rows", "bells, 10,000 rows"]
    assert all(line.endswith("uniform 20 us an evaluation; ratios uniform 1.00, auto 1.00") for line in lines)


def test_every_shape_is_searched_once_per_seed() -> None:
    seconds = preparation.seconds_of_evaluations("bells", 60, 60)
    assert set(seconds) == {"uniform", "marginal", "auto"}
    assert all(len(of_shape) == 5 and min(of_shape) > 0 for of_shape in seconds.values())
