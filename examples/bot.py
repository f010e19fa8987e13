#!/usr/bin/env python3
"""Takes a win that is in reach, and otherwise plays the largest block."""

import json
import sys

for line in sys.stdin:
    game = json.loads(line)
    need = game["rules"].get("target", 0) - game["heights"][game["seat"] - 1]
    print(need if need in game["legal"] else max(game["legal"]), flush=True)
