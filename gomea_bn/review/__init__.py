"""The review page, an HTML file for comparing networks and choosing one, and a report to print."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.lazy import lazy_names

if TYPE_CHECKING:
    from gomea_bn.review.page import network_report, review_page
    from gomea_bn.review.report import run_report

__all__ = [
    "network_report",
    "review_page",
    "run_report",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "network_report": "gomea_bn.review.page",
        "review_page": "gomea_bn.review.page",
        "run_report": "gomea_bn.review.report",
    },
)
