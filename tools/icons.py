"""Draws the icons of the web app from the shapes of its mark; they change only if the mark does."""

from __future__ import annotations

from pathlib import Path

from PIL import Image, ImageDraw

FOLDER = Path(__file__).parent.parent / "src/number_tower/web/static/icons"

BLOCKS = (
    (2.0, 15.5, 20.0, 7.0, "#3868a0"),
    (5.0, 8.5, 14.0, 6.0, "#c25a2f"),
    (8.0, 1.5, 8.0, 6.0, "#3868a0"),
)
"""The blocks of favicon.svg on a grid of 24: place, size and colour."""

PAPER = "#f5f1e8"
SHARPNESS = 4


def draw_icon(size: int, share: float, background: str | None) -> Image.Image:
    """Draw the mark in the middle of a square; it takes a share of its width."""
    large = size * SHARPNESS
    image = Image.new("RGBA", (large, large), background or (0, 0, 0, 0))
    canvas, unit = ImageDraw.Draw(image), large * share / 24
    margin = large * (1 - share) / 2
    for x, y, width, height, colour in BLOCKS:
        left, top = margin + x * unit, margin + y * unit
        canvas.rounded_rectangle(
            (left, top, left + width * unit, top + height * unit), 2 * unit, colour
        )
    return image.resize((size, size), Image.Resampling.LANCZOS)


def main() -> None:
    """Write all icons: plain ones, one that a phone may cut to any shape, and one for home screens of iOS."""
    FOLDER.mkdir(exist_ok=True)
    for name, size, share, background in (
        ("icon-192", 192, 0.92, None),
        ("icon-512", 512, 0.92, None),
        ("icon-maskable-512", 512, 0.58, PAPER),
        ("apple-touch-icon", 180, 0.72, PAPER),
    ):
        icon = draw_icon(size, share, background)
        (icon.convert("RGB") if background else icon).quantize(64).save(
            FOLDER / f"{name}.png", optimize=True
        )


if __name__ == "__main__":
    main()
