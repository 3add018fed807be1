"""The blocks of docs/prediction.md run."""

import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[2] / "docs"
TEXT = (DOCS / "prediction.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", TEXT, flags=re.MULTILINE | re.DOTALL)


def test_the_blocks_run_in_order(capsys):
    names: dict[str, Any] = {}
    for block in BLOCKS:
        exec(block, names)
    printed = capsys.readouterr().out
    assert "5%" in printed
    assert re.search(r"age +int64", printed)
    assert re.search(r"visit +datetime64", printed)
    assert names["classifier"].score(*names["load_iris"](return_X_y=True, as_frame=True)) > 0.9
    assert not names["regressor"].network_.children("target")
