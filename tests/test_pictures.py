"""The pictures of the guides."""

from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_pictures_of_the_architecture_name_files_that_exist(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import pictures

    files = {str(path.relative_to(ROOT)) for path in (ROOT / "gomea_bn").rglob("*.py")}
    files |= {f"gomea_bn/{path.relative_to(ROOT)}" for path in (ROOT / "problems").rglob("*.py")}
    for boxes, arrows in (pictures._SEARCH, pictures._CONDITIONAL, pictures._ANSWER):
        named = [file for *_, file in boxes.values()]
        assert all(any(path.endswith(f"/{file}") for path in files) for file in named), named
        assert {end for arrow in arrows for end in arrow.split()} == set(boxes)
