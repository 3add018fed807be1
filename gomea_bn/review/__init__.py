"""The review page, an HTML file for comparing networks and choosing one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.lazy import public_names

if TYPE_CHECKING:
    from gomea_bn.review.page import network_report as network_report
    from gomea_bn.review.page import review_page as review_page

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
