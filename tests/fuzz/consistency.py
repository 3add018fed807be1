"""What must hold of every table and network, whatever the input was."""

import hashlib
import os
from pathlib import Path

import numpy as np

from gomea_bn import DiscretizedBayesNet, GomeaBnError
from gomea_bn.data.columns import MISSING_CODE
from gomea_bn.data.table import Table

__all__ = ["FIRST", "check_message", "check_network", "check_table", "digests", "n_long"]

# seeds of long runs start here, so that they differ between machines on request
FIRST = int(os.environ.get("GOMEA_BN_FUZZ_SEED", "0"))


def n_long(usual: int) -> int:
    """Return the number of cases of a long run."""
    return int(os.environ.get("GOMEA_BN_FUZZ_CASES", usual))


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
