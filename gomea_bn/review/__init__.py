"""The review page: a self-contained HTML file for comparing networks and choosing one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.lazy import lazy_names

if TYPE_CHECKING:
    from gomea_bn.review.page import network_report, review_page

__all__ = [
    "network_report",
    "review_page",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "network_report": "gomea_bn.review.page",
        "review_page": "gomea_bn.review.page",
    },
)
