"""Nothing that the tests play is kept, unless a test says where."""

from __future__ import annotations

import os

os.environ["NUMBER_TOWER_DB"] = "none"
