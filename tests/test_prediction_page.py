"""The blocks of docs/prediction.md run, and so do the cells of the notebook."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).resolve().parent.parent / "docs"
TEXT = (DOCS / "prediction.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", TEXT, flags=re.MULTILINE | re.DOTALL)
NOTEBOOK = json.loads((DOCS / "notebook.ipynb").read_text(encoding="utf-8"))


def test_the_blocks_run_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    for block in BLOCKS:
        exec(block, names)
    printed = capsys.readouterr().out
    assert "5%" in printed
    assert re.search(r"age +int64", printed)
    assert re.search(r"visit +datetime64", printed)
    assert names["classifier"].score(*names["load_iris"](return_X_y=True, as_frame=True)) > 0.9
    assert not names["regressor"].network_.children("target")


def test_the_cells_of_the_notebook_run_and_show_html() -> None:
    names: dict[str, Any] = {}
    shown = 0
    for cell in NOTEBOOK["cells"]:
        if cell["cell_type"] != "code":
            continue
        *lines, last = "".join(cell["source"]).rstrip().splitlines()
        exec("\n".join(lines), names)
        value = eval(last, names)
        (output,) = cell["outputs"]
        kept = "".join(output["data"]["text/html"])
        assert kept.startswith("<div")
        assert value._repr_html_().count("<rect") == kept.count("<rect")
        shown += 1
    assert shown == 5
