"""Nothing that the tests play is kept, unless a test says where; Ctrl-C works, even if ignored; no test is timed."""

from __future__ import annotations

import os
import signal

from hypothesis import settings

os.environ["NUMBER_TOWER_DB"] = "none"
signal.signal(signal.SIGINT, signal.default_int_handler)
settings.register_profile("untimed", settings.get_profile("default"), deadline=None)
if not os.environ.get("CI"):
    settings.load_profile("untimed")
