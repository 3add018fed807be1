"""Readers stop at files that unpack to far more than their size, at devices, and at too many columns."""

import gzip
import os

import pandas as pd
import pytest
from command_line import refused

from gomea_bn import DiscretizedBayesNet, GomeaBnError, read_table


@pytest.fixture
def bomb(tmp_path):
    """Return a table of 2 MB in a file of some kilobytes."""
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"0.5,0\n" * 350_000))
    return path


def test_compressed_tables_have_a_limit(bomb, monkeypatch):
    monkeypatch.setenv("GOMEA_BN_MAX_FILE_BYTES", "2000000")
    with pytest.raises(GomeaBnError, match=r"larger than 2,000,000 bytes.*GOMEA_BN_MAX_FILE_BYTES"):
        read_table(bomb)


def test_parquet_files_have_a_limit(tmp_path, monkeypatch):
    path = tmp_path / "bomb.parquet"
    pd.DataFrame({"a": [1.0] * 100_000, "b": [2.0] * 100_000}).to_parquet(path)
    monkeypatch.setenv("GOMEA_BN_MAX_FILE_BYTES", "1000000")
    with pytest.raises(GomeaBnError, match="larger than 1,000,000 bytes"):
        read_table(path)


def test_spreadsheets_have_a_limit(tmp_path, monkeypatch):
    path = tmp_path / "bomb.xlsx"
    pd.DataFrame({"a": [1.0] * 2_000}).to_excel(path, index=False)
    monkeypatch.setenv("GOMEA_BN_MAX_FILE_BYTES", "20000")
    with pytest.raises(GomeaBnError, match="larger than 20,000 bytes"):
        read_table(path)


def test_a_network_may_not_unpack_to_a_thousand_times_its_size(tmp_path, monkeypatch):
    monkeypatch.setattr("gomea_bn.runtime.files.text_files._MOST_UNPACKED", 1000)
    path = tmp_path / "network.json.gz"
    path.write_bytes(packed := gzip.compress(b'{"a": "' + b"0" * 10**6))
    assert 100 * len(packed) < 10**6
    with pytest.raises(GomeaBnError, match=f"larger than {100 * len(packed):,} bytes"):
        DiscretizedBayesNet.from_json(path)


def test_pipes_and_devices_are_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    for name in ("pipe.csv", "zero.csv"):
        assert "is a device or a pipe" in refused(3, "learn", tmp_path / name)
        assert "is a device or a pipe" in refused(3, "show", tmp_path / name)


def test_columns_have_a_limit_that_options_raise(tmp_path, monkeypatch):
    monkeypatch.setenv("GOMEA_BN_MAX_COLUMNS", "2")
    frame = pd.DataFrame({"a": range(12), "b": [0.5, 1.5, 2.5] * 4, "c": [1, 0] * 6})
    frame.to_csv(path := tmp_path / "rows.csv", index=False)
    for source in (frame, path):
        with pytest.raises(GomeaBnError, match=r"3 columns; the limit is 2\..*GOMEA_BN_MAX_COLUMNS"):
            read_table(source)
        assert read_table(source, columns=["b", "c"]).names == ("b", "c")
    monkeypatch.setenv("GOMEA_BN_MAX_COLUMNS", "many")
    with pytest.raises(GomeaBnError, match="must be a positive number of columns, got 'many'"):
        read_table(frame)
