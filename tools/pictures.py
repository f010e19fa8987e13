"""Where screenshots go: all into build/pictures, to be looked at; those that the documentation shows also into docs."""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parent.parent
ALL = ROOT / "build" / "pictures"
KEPT = ROOT / "docs" / "pictures"


def keep_picture(name: str, png: bytes) -> None:
    """Write a screenshot."""
    write_picture(f"{name}.webp", shrink(png))


def write_picture(name: str, content: bytes) -> None:
    """Write a picture to be looked at and, if the documentation shows it, beside the documentation."""
    for folder in (ALL, KEPT) if name in list_shown() else (ALL,):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def list_shown() -> set[str]:
    """Return the names of the pictures that the documentation shows."""
    pages = ROOT.joinpath("README.md"), *ROOT.joinpath("docs").rglob("*.md")
    return {
        name for page in pages for name in re.findall(r"pictures/([\w-]+\.webp)", page.read_text())
    }


def shrink(png: bytes) -> bytes:
    """Return a picture as WebP with 64 colours at most and no other loss, which makes it many times smaller."""
    made = BytesIO()
    limit_colours(Image.open(BytesIO(png))).save(made, "WEBP", lossless=True, quality=100, method=6)
    return made.getvalue()


def limit_colours(picture: Image.Image) -> Image.Image:
    """Return a picture with 64 colours at most."""
    few = picture.convert("RGB").quantize(
        64, Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE
    )
    return few.convert("RGB")


def animate(pngs: Sequence[bytes], seconds: Sequence[float]) -> bytes:
    """Return pictures as one that moves: each is shown for some seconds, and after the last the first again."""
    frames = [limit_colours(Image.open(BytesIO(png))) for png in pngs]
    made = BytesIO()
    frames[0].save(
        made, "WEBP", save_all=True, append_images=frames[1:], duration=[round(1000 * each) for each in seconds],
        loop=0, lossless=True, quality=100, method=6, minimize_size=True,
    )  # fmt: skip
    return made.getvalue()
