"""Screenshots are small, and show what was there; and those are kept that the documentation shows."""

from __future__ import annotations

from io import BytesIO

from PIL import Image, ImageChops

import app_screenshots
import screenshots
from pictures import KEPT, list_shown, shrink


def test_a_small_picture_shows_the_same() -> None:
    stripes = Image.linear_gradient("L").convert("RGB")
    stripes.putpixel((0, 0), (255, 0, 0))
    png = BytesIO()
    stripes.save(png, "PNG")
    made = Image.open(BytesIO(shrink(png.getvalue())))
    assert made.mode == "P"
    assert max(ImageChops.difference(stripes, made.convert("RGB")).tobytes()) <= 8


def test_a_picture_is_kept_if_the_documentation_shows_it_and_can_be_made() -> None:
    kept = {path.name for path in KEPT.iterdir()}
    assert kept == list_shown()
    assert kept <= {f"{name}.png" for name in (*screenshots.list_names(), *app_screenshots.list_names())}
    assert sum(path.stat().st_size for path in KEPT.iterdir()) < 1_000_000
