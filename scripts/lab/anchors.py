"""Print the table of anchors of `docs/benchmarks.md`, or write it into the page.

    python scripts/lab/anchors.py            # print the table
    python scripts/lab/anchors.py --write    # replace the table between the markers of the page

An anchor is a figure of ours next to that of a published method or of another library. `anchors.json` lists them with
the command, the date and the versions. An anchor with a `claim` has its figures from the stored results of a published
experiment, `results/NAME/claims.json`. Its `not repeatable` says what the command does not repeat.
"""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path

__all__ = ["BEGIN", "END", "figures", "table", "with_table"]

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "benchmarks.md"
BEGIN = "<!-- anchors: begin, written by scripts/lab/anchors.py --write -->"
END = "<!-- anchors: end -->"


def figures(anchor: Mapping[str, str], results: Path) -> tuple[str, str]:
    """Return our figure and the peer's, as text, of the anchor itself or of the stored claim that it names."""
    if "claim" not in anchor:
        return anchor["ours"], anchor["theirs"]
    claims = json.loads((results / anchor["results"] / "claims.json").read_text(encoding="utf-8"))
    found = [
        claim
        for claim in claims
        if claim["published number"] == anchor["claim"] and claim["setting"].startswith(anchor["setting"])
    ]
    if len(found) != 1:
        raise ValueError(
            f"results/{anchor['results']}/claims.json has {len(found)} claims {anchor['claim']!r}, not 1"
        )
    return found[0]["ours"], found[0]["paper"]


def table(anchors: list[dict[str, str]], results: Path) -> str:
    """Return the anchors as a Markdown table, one row each."""
    rows = [
        "| measure | ours | theirs | peer | command, and what nobody can repeat | measured |",
        "|---|---|---|---|---|---|",
    ]
    for anchor in anchors:
        ours, theirs = figures(anchor, results)
        again = f"`{anchor['command']}` {anchor.get('not repeatable', '')}".rstrip()
        cells = (
            anchor["measure"],
            f"**{ours}**",
            theirs,
            anchor["peer"],
            again,
            f"{anchor['date']}, {anchor['machine']}",
        )
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def with_table(page: str, text: str) -> str:
    """Return a page with the text between its two markers."""
    before, _, rest = page.partition(BEGIN)
    _, marker, after = rest.partition(END)
    if not marker:
        raise ValueError(f"the page lacks {BEGIN!r} or {END!r}")
    return f"{before}{BEGIN}\n\n{text}\n\n{END}{after}"


def main() -> None:
    """Print the table, or write it into the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="replace the table of docs/benchmarks.md")
    is_written = parser.parse_args().write
    anchors = json.loads((Path(__file__).parent / "anchors.json").read_text(encoding="utf-8"))
    text = table(anchors, ROOT / "results")
    if is_written:
        PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), text), encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
