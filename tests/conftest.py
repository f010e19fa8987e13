"""Nothing that the tests play is kept, unless a test says where; and Ctrl-C works, even where it is ignored."""

from __future__ import annotations

import os
import signal

os.environ["NUMBER_TOWER_DB"] = "none"
signal.signal(signal.SIGINT, signal.default_int_handler)
