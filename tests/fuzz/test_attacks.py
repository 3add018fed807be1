"""The page about hostile input counts what the ledger holds, and the ledger what was run."""

import json
import re

import attacks
import pytest
from attacks import LEDGER, PAGE, TESTS, main, next_seed, rows_of, run_cases, table_of
from consistency import USUAL, seeds

import gomea_bn
from gomea_bn.runtime import source_digest


def test_the_page_has_the_table_of_the_ledger():
    page = PAGE.read_text(encoding="utf-8")
    assert table_of(rows_of(LEDGER)) in page
    usual = {attack: f"{number:,}" for attack, number in USUAL.items()}
    assert usual["tables"] == usual["files"] == usual["calls"]
    sentence = (
        f"`make test-all` runs {usual['tables']} seeds of tables, files and calls each, {usual['runs']} of runs and "
        f"{usual['signals']} of each signal"
    )
    assert sentence in " ".join(page.split())


def test_every_attack_from_seeds_notes_its_cases():
    assert set(TESTS) == set(USUAL)
    for attack, module in TESTS.items():
        text = (attacks.FOLDER / module).read_text(encoding="utf-8")
        assert re.findall(r'seeds\("(\w+)"\)', text) == [attack]


def test_seeds_are_those_of_the_environment_and_are_noted_one_by_one(monkeypatch, tmp_path):
    assert list(seeds("signals")) == list(range(USUAL["signals"]))
    monkeypatch.setenv("GOMEA_BN_FUZZ_SEED", "40")
    monkeypatch.setenv("GOMEA_BN_FUZZ_CASES", "3")
    monkeypatch.setenv("GOMEA_BN_FUZZ_LOG", str(tmp_path / "cases"))
    for seed in seeds("files"):
        # a case that fails is noted too
        if seed == 41:
            break
    assert (tmp_path / "cases").read_text().splitlines() == ["files 40", "files 41"]


def test_sums_count_cases_since_the_last_error():
    rows = [
        {"attack": "a", "cases": 1_000, "errors": 0, "committed": "2020-01-01"},
        {
            "attack": "a",
            "cases": 20,
            "errors": 1,
            "version": "1",
            "sources": "ab",
            "finished": "2020-02-03T04:05",
        },
        {"attack": "b", "cases": 7, "errors": 0, "committed": "2020-01-01"},
        {
            "attack": "a",
            "cases": 300,
            "errors": 0,
            "version": "2",
            "sources": "cd",
            "finished": "2020-02-04T04:05",
        },
    ]
    assert table_of(rows).splitlines()[2:] == [
        "| a | 1,320 | 1 | 300 | 2 (sources cd), 2020-02-04 |",
        "| b | 7 | 0 | 7 | version and day not recorded, committed on 2020-01-01 |",
        "| all | 1,327 | 1 | | |",
    ]


@pytest.fixture
def copies(tmp_path, monkeypatch):
    """Copies of the ledger and the page, to which the command writes."""
    for name, path in (("LEDGER", LEDGER), ("PAGE", PAGE)):
        (tmp_path / path.name).write_bytes(path.read_bytes())
        monkeypatch.setattr(attacks, name, tmp_path / path.name)
    return tmp_path / LEDGER.name, tmp_path / PAGE.name


def test_new_cases_enter_the_ledger_and_the_page(copies, monkeypatch, capsys):
    ledger, page = copies
    calls = []

    def run(attack: str, first_seed: int, n_cases: int) -> tuple[int, int]:
        calls.append((attack, first_seed, n_cases))
        return 12, 1

    monkeypatch.setattr(attacks, "run_cases", run)
    before = rows_of(ledger)
    assert main(["tables", "--cases", "50"]) == 1
    assert main(["by hand", "--cases", "40", "--errors", "2"]) == 0
    assert calls == [("tables", next_seed(before, "tables"), 50)]
    first, second = (json.loads(line) for line in ledger.read_text().splitlines()[len(before) :])
    code = {"version": gomea_bn.__version__, "sources": source_digest()}
    assert (
        first.items()
        >= {"attack": "tables", "cases": 12, "errors": 1, "first_seed": calls[0][1], **code}.items()
    )
    assert second.items() >= {"attack": "by hand", "cases": 40, "errors": 2, **code}.items()
    assert next_seed(rows_of(ledger), "tables") == calls[0][1] + 12
    text = page.read_text()
    assert "| by hand | 40 | 2 | 0 |" in text
    assert table_of(rows_of(ledger)) in text
    assert capsys.readouterr().out.rstrip().endswith(table_of(rows_of(ledger)))
    assert text.partition(attacks._BEGIN)[0] == PAGE.read_text().partition(attacks._BEGIN)[0]
    assert text.partition(attacks._END)[2] == PAGE.read_text().partition(attacks._END)[2]


def test_an_unknown_attack_is_refused(copies, capsys):
    with pytest.raises(SystemExit):
        main(["spam"])
    assert "unknown attack spam; there are tables, files" in capsys.readouterr().err
    assert rows_of(copies[0]) == rows_of(LEDGER)


@pytest.mark.long
def test_cases_are_run_and_counted():
    assert run_cases("tables", 20_000_000, 3) == (3, 0)
