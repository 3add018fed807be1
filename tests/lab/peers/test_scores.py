"""The experiment `scores`."""

import numpy as np
import pytest

from lab.peers.scores import ranked_alike


def test_pairs_of_networks_are_ranked_by_new_rows_that_tell_them_apart():
    rng = np.random.default_rng(4)
    rows = rng.normal(size=2_000)
    # the first two differ by chance alone, the third is worse in nearly every row
    logs = np.array([rows, rows + 0.01 * rng.normal(size=2_000), rows - 1 + 0.01 * rng.normal(size=2_000)])
    logs[1] -= (logs[1] - logs[0]).mean()
    assert ranked_alike(np.array([5.0, 4.0, 1.0]), logs) == (2, 2)
    assert ranked_alike(np.array([5.0, 0.0, 1.0]), logs) == (2, 1)


@pytest.mark.long
def test_promises_of_scores_are_printed_next_to_what_new_rows_get(run_lab, tmp_path):
    (tmp_path / "cases.py").write_text(
        "import numpy as np, pandas as pd\n"
        "def clinic(seed, n):\n"
        "    r = np.random.default_rng(seed)\n"
        "    a = r.normal(size=n)\n"
        "    b = a + r.normal(size=n)\n"
        "    return pd.DataFrame(dict(a=a, b=b, c=b + r.normal(size=n))), a\n"
    )
    options = ["--clinic", str(tmp_path / "cases.py"), "--tables", "1", "--rows", "300", "--new", "1000"]
    printed = run_lab("scores", *options, "--seconds", "2")
    assert "1 tables of 300 rows, 1,000 new ones; nats a row" in printed
    assert "are ranked alike" in printed
