"""What must hold of every table and network, whatever the input was."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from gomea_bn import DiscretizedBayesNet, GomeaBnError
from gomea_bn.data import Table
from gomea_bn.data.columns import MISSING_CODE

__all__ = ["USUAL", "check_message", "check_network", "check_table", "digests", "seeds"]

USUAL = {"tables": 3_000, "files": 3_000, "calls": 3_000, "signals": 100, "runs": 300}
"""Number of seeds of every attack in a long run; "signals" and "runs" have several cases each."""


def seeds(attack: str) -> Iterator[int]:
    """Yield the seeds of a long run of an attack, which the environment may set.

    Every seed is noted in the file that GOMEA_BN_FUZZ_LOG names, before its case is run.
    """
    first = int(os.environ.get("GOMEA_BN_FUZZ_SEED", "0"))
    log = os.environ.get("GOMEA_BN_FUZZ_LOG")
    for seed in range(first, first + int(os.environ.get("GOMEA_BN_FUZZ_CASES", USUAL[attack]))):
        if log is not None:
            with open(log, "a", encoding="utf-8") as file:
                file.write(f"{attack} {seed}\n")
        yield seed


def check_table(table: Table, missing: str) -> None:
    """Assert that a table that was read is what its documentation promises."""
    assert len(set(table.names)) == len(table.names)
    for column in table.columns:
        assert column.values.shape == (table.n_rows,)
        assert not column.values.flags.writeable
        if column.levels is None:
            assert column.values.dtype == np.float64
            assert not np.isinf(column.values).any()
        else:
            assert len({(type(level), level) for level in column.levels}) == len(column.levels)
            present = column.values[column.values != MISSING_CODE]
            assert ((present >= 0) & (present < len(column.levels))).all()
    assert missing == "keep" or table.n_missing == 0


def check_network(network: DiscretizedBayesNet, table: Table | None = None) -> None:
    """Assert that tables sum to 1, that the graph has no cycle, and that cuts lie inside the support and the data."""
    done: set[str] = set()
    while remaining := [name for name in network.names if name not in done]:
        roots = [name for name in remaining if set(network.parents(name)) <= done]
        assert roots, "the graph has a cycle"
        done.update(roots)
    for name in network.names:
        values = network.tables[name]
        assert np.isfinite(values).all()
        assert (values >= 0).all()
        np.testing.assert_allclose(values.sum(axis=-1), 1, atol=1e-6)
    for name, cuts in network.cut_points.items():
        low, high = network.support[name]
        edges = [low, *cuts.tolist(), high]
        assert np.isfinite(edges).all()
        assert (np.diff(edges) > 0).all(), f"{name}: {edges}"
    for column in table.columns if table is not None else ():
        if column.is_continuous:
            low, high = network.support[column.name]
            assert low <= column.observed.min()
            assert column.observed.max() <= high


def check_message(error: GomeaBnError) -> None:
    """Assert that an error says something, in a text that can be printed."""
    text = str(error)
    assert text.strip()
    assert "Traceback" not in text


def digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file in a folder, by its path in it."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
