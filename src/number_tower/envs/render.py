"""A table as a picture of fixed size: that of a shared link, only smaller."""

from __future__ import annotations

from io import BytesIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from number_tower.drawing import picture
from number_tower.drawing.renderer import render_png
from number_tower.engine.table import Table

WIDTH = 640
HEIGHT = WIDTH * picture.HEIGHT // picture.WIDTH


def draw_table(table: Table) -> NDArray[np.uint8]:
    """Draw a table, 640 pixels wide and 336 high."""
    png = render_png(picture.draw_scenes([picture.make_scene(table)]), WIDTH)
    return np.array(Image.open(BytesIO(png)).convert("RGB"))
