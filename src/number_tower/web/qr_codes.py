"""QR codes of links, as pictures in a page."""

from __future__ import annotations

from functools import lru_cache

import segno
from markupsafe import Markup


@lru_cache(maxsize=256)
def draw_qr_code(link: str) -> Markup:
    """Return the QR code of a link as an SVG element: dark on light in every theme, so that all cameras read it."""
    picture = segno.make(link, error="m", micro=False).svg_inline(
        border=4, dark="#000", light="#fff", svgclass="qr", lineclass=None, omitsize=True
    )
    return Markup(picture)  # noqa: S704 - it consists of numbers alone
