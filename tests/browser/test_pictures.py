"""Screenshots are small, show what was there, and include all that the documentation shows."""

from __future__ import annotations

from io import BytesIO

from PIL import Image, ImageChops

from pictures import KEPT, list_names, list_shown, shrink


def test_shrunk_picture_shows_the_same() -> None:
    stripes = Image.linear_gradient("L").convert("RGB")
    stripes.putpixel((0, 0), (255, 0, 0))
    png = BytesIO()
    stripes.save(png, "PNG")
    made = Image.open(BytesIO(shrink([png.getvalue()])))
    assert made.format == "WEBP"
    assert len(made.getcolors(64) or []) > 0
    assert max(ImageChops.difference(stripes, made.convert("RGB")).tobytes()) <= 8


def test_several_pictures_make_an_animation() -> None:
    pngs = []
    for colour in ("red", "green", "blue"):
        png = BytesIO()
        Image.new("RGB", (8, 8), colour).save(png, "PNG")
        pngs.append(png.getvalue())
    made = Image.open(BytesIO(shrink(pngs)))
    assert getattr(made, "n_frames") == 3  # noqa: B009 - only pictures that move have it
    made.seek(2)
    assert made.convert("RGB").getpixel((0, 0)) == (0, 0, 255)


def test_stored_pictures_are_those_of_the_documentation() -> None:
    names = {path.name for path in KEPT.iterdir()}
    assert names == list_shown()
    assert names <= {f"{name}.webp" for name in list_names()}
    assert sum(path.stat().st_size for path in KEPT.iterdir()) < 416_905, (
        "less than the pictures of version 0.1.0"
    )
