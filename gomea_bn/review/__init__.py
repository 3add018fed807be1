"""The review page, an HTML file for comparing networks and choosing one, and a report to print."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.lazy import public_names

if TYPE_CHECKING:
    from gomea_bn.review.page import network_report as network_report
    from gomea_bn.review.page import review_page as review_page
    from gomea_bn.review.report import run_report as run_report

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
