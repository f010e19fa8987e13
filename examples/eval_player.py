#!/usr/bin/env python3
"""A player for an evaluation: a function that is given a question and answers it in words.

    cd examples && tower eval --player eval_player:answer --baselines
    tower eval --player ./examples/eval_player.py --baselines           # the same, as a program

It reads the prompt as a language model would, and plays the largest block that it is told of. To
evaluate a model, send `question["prompt"]` to it and return what it says, whole: the last number in
square brackets is taken for its move. After an answer that could not be used the question comes
once more, and its prompt says what was wrong.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any


def answer(question: dict[str, Any]) -> str:
    """Name the largest legal block, or the largest that is left where none are listed."""
    listed = re.search(r"You may place: (.+)", question["prompt"])
    numbers = listed[1] if listed else question["left"][question["seat"] - 1]
    return f"I place the largest that I may: [{re.findall('[0-9]+', numbers)[-1]}]"


if __name__ == "__main__":
    for line in sys.stdin:
        print(answer(json.loads(line)), flush=True)
