"""Searches of tall columns among many cuts against NumPy's: cells, codes of libraries, missing values, odd scales."""

import numpy as np
import pytest

from gomea_bn.problems.cuts.guided_cuts import cut_guide, fill_library_codes, read_only
from gomea_bn.problems.cuts.quantile_cells import quantile_cells
from gomea_bn.problems.kernels.available_cases import MISSING
from gomea_bn.problems.kernels.cut_guide import fill_functions

RNG = np.random.default_rng(3)
NORMAL = RNG.normal(size=5_000)
COLUMNS = {
    "normal": NORMAL,
    "long tails": RNG.standard_cauchy(5_000),
    "rounded": NORMAL.round(1),
    "two far groups": np.where(NORMAL > 0.5, 1 + 1e-9 * NORMAL, 1e-9 * NORMAL),
    "mostly equal": np.where(NORMAL > 1, NORMAL, 0.0),
    "huge": NORMAL * 4e306,
    "tiny": np.abs(NORMAL) * 1e-320,
    "two values": np.where(NORMAL > 0, 1.0, -5.0),
    # 1 + d rounds up and down in turn here, d being the distance from the centre in units of the spread
    "neighbours at 2**53 spreads": np.where(
        NORMAL > 1, 2.0**53 + 2 * np.arange(5_000), np.arange(5_000) % 3 - 1.0
    ),
    "neighbours at -2**53 spreads": np.where(
        NORMAL > 1, -(2.0**53) - 2 * np.arange(5_000), np.arange(5_000) % 3 - 1.0
    ),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_rows_have_the_functions_of_their_cell(name):
    values = COLUMNS[name]
    cells = quantile_cells(np.sort(values))
    numbers = np.arange(len(cells.middles), dtype=np.float32)
    block = np.full((3, len(values) + 7), -1, np.float32)
    fill_functions(
        read_only(values),
        cut_guide(cells.cuts, cells),
        np.stack((numbers, -2 * numbers)),
        np.empty(600, np.uint32),
        block,
    )
    expected = np.searchsorted(cells.cuts, values, side="left")
    assert block[0, : len(values)].tolist() == expected.tolist()
    assert block[1, : len(values)].tolist() == (-2 * expected).tolist()
    assert (block[2] == -1).all()
    assert (block[:2, len(values) :] == -1).all()


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("has_missing", [False, True])
def test_codes_of_a_library_are_those_of_every_vector_of_cuts(name, has_missing):
    values = COLUMNS[name].copy()
    if has_missing:
        values[::7] = np.nan
    observed = values[~np.isnan(values)]
    cells = quantile_cells(np.sort(observed))
    distinct = np.unique(observed)
    library = [
        np.unique(np.quantile(distinct[:-1], shares, method="lower")) for shares in ([0.5], [0.1, 0.5, 0.9])
    ]
    library.append(np.empty(0))
    codes = np.full((3, len(values)), 77, np.uint8)
    below = fill_library_codes(values, cells, library, codes)
    for cuts, of_cuts, rows in zip(library, codes, below, strict=True):
        expected = np.where(np.isnan(values), MISSING, np.searchsorted(cuts, values, side="left"))
        assert of_cuts.tolist() == expected.tolist()
        assert rows.tolist() == [(observed <= cut).sum() for cut in cuts]
