#!/usr/bin/env python3
"""Asks a language model for every move, on any server of the chat-completions protocol.

    LLM_URL    where to ask, such as http://localhost:11434/v1/chat/completions
    LLM_MODEL  which model to ask
    LLM_KEY    the key, if the server wants one

A model that names a block which cannot be placed is told so, and asked once more. Whatever goes
wrong is said on stderr, and ends the bot: it never makes a move of its own.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import sys
import time
import urllib.error
import urllib.request
from typing import Any, NamedTuple
from urllib.parse import urlsplit

MOST_LISTED = 200
SHARE = 0.9  # of the time for a move; the rest is for everything but the model

FITS = {
    "any": "Any block may lie on any other.",
    "descending": "A block may lie on one that is larger or equal.",
    "ascending": "A block must be larger than the one beneath it{by}.",
    "related": "A block must divide the one beneath it or be a multiple of it.",
    "unrelated": "A block must neither divide the one beneath it nor be a multiple of it.",
}
SUPPLIES = {
    "own": "Each player has the blocks {blocks}, each used once.",
    "shared": "Both players take from one pool of blocks, {blocks}, each used once.",
    "endless": "Both players use the blocks {blocks}, each as often as they like.",
}
TOWERS = {"own": "Each player builds a tower.", "shared": "The players build one tower together."}


class ModelError(Exception):
    """No move can be had; the text says why, without the key."""


class Model(NamedTuple):
    """Whom to ask."""

    url: str
    name: str
    key: str


def main() -> None:
    """Answer every question until there are no more."""
    model = Model(
        *(os.environ.get(name, "").strip() for name in ("LLM_URL", "LLM_MODEL", "LLM_KEY"))
    )
    if urlsplit(model.url).scheme not in {"http", "https"} or not model.name:
        sys.exit(
            "llm_bot: set LLM_URL to a chat-completions address, http:// or https://, "
            "and LLM_MODEL to a model"
        )
    try:
        for line in sys.stdin:
            print(move(json.loads(line), model), flush=True)
    except ModelError as error:
        sys.exit(f"llm_bot: {error}"[:300])


def move(game: dict[str, Any], model: Model) -> int:
    """Ask for a move, and once more if it cannot be made."""
    deadline = time.monotonic() + SHARE * game["seconds"]
    legal: list[int] = game["legal"]
    talk = [{"role": "user", "content": prompt(game)}]
    for _ in range(2):
        reply = ask(talk, model, deadline)
        number = chosen(reply)
        if number in legal:
            return number
        wrong = "That names no block." if number is None else f"{number} cannot be placed now."
        again = (
            f"{wrong} You can place: {listed(legal)}. "
            "Choose one of these, and end with the line MOVE: and its number."
        )
        talk += [{"role": "assistant", "content": reply}, {"role": "user", "content": again}]
    raise ModelError(
        "twice it named no block that can be placed; its last words were "
        f"{talk[-2]['content'][-80:]!a}"
    )


def ask(talk: list[dict[str, str]], model: Model, deadline: float) -> str:
    """Send the talk so far, and return what the model says to it."""
    host = urlsplit(model.url).hostname
    body = json.dumps({"model": model.name, "messages": talk}).encode()
    # The URL is http or https.
    request = urllib.request.Request(  # noqa: S310
        model.url, body, {"Content-Type": "application/json"}
    )
    if model.key:
        request.add_unredirected_header("Authorization", f"Bearer {model.key}")
    try:
        seconds = max(0.1, deadline - time.monotonic())
        with urllib.request.urlopen(request, timeout=seconds) as response:  # noqa: S310 - likewise
            return said(json.loads(response.read(1 << 22))["choices"][0]["message"]["content"])
    except urllib.error.HTTPError as error:
        why = " ".join(error.read(1000).decode("utf-8", "replace").split())
        problem = f"{host} answered {error.code} {error.reason}: {why}"
    except (OSError, http.client.HTTPException) as error:
        problem = f"{host} gave no answer: {getattr(error, 'reason', None) or error}"
    except (ValueError, LookupError, TypeError, AttributeError):
        problem = f"{host} answered with something that is no chat completion"
    raise ModelError(problem.replace(model.key, "[key]") if model.key else problem)


def said(content: str | list[dict[str, str]] | None) -> str:
    """Return the text of a message; some servers send it in parts."""
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return str(content or "")


def chosen(reply: str) -> int | None:
    """Read the move out of a reply.

    It follows the last MOVE:, or is the last whole number after any thinking.
    """
    answer = re.sub(r"<think>.*?(</think>|\Z)", " ", reply, flags=re.DOTALL)
    named = re.findall(r"\bMOVE\W{0,9}?([0-9]{1,18})(?![0-9])", answer, re.IGNORECASE)
    numbers = named or re.findall(r"(?<![\w.,-])[0-9]{1,18}(?![\w]|[.,][0-9])", answer)
    return int(numbers[-1]) if numbers else None


def prompt(game: dict[str, Any]) -> str:
    """Put the rules and the position in words."""
    me, other = game["seat"] - 1, 2 - game["seat"]
    now = [
        (
            f"Your tower, from the ground up: {listed(game['towers'][me])}. Its height: "
            f"{game['heights'][me]}."
        )
    ]
    if game["rules"]["towers"] == "own":
        now += [
            (
                f"Your opponent's: {listed(game['towers'][other])}. Its height: "
                f"{game['heights'][other]}."
            )
        ]
    now += [f"Blocks left for you: {game['left'][me] or 'none'}."]
    if game["rules"]["supply"] == "own":
        now += [f"Blocks left for your opponent: {game['left'][other] or 'none'}."]
    return "\n".join(
        [
            (
                "We play a game for two, in turns: the player to move places one numbered "
                "block on a tower."
            ),
            *rules(game["rules"]),
            "",
            *now,
            f"It is your turn. You can place: {listed(game['legal'])}.",
            "",
            (
                "Think about what your opponent can do next. Then end your answer with a "
                "line of its own:"
            ),
            "the word MOVE, a colon, and the number of the block that you place.",
        ]
    )


def rules(given: dict[str, Any]) -> list[str]:
    """Put the rules in sentences."""
    by = f", by at most {given['step']}" if "step" in given else ""
    told = [
        TOWERS[given["towers"]],
        SUPPLIES[given["supply"]].format(**given),
        FITS[given["fit"]].format(by=by),
    ]
    if "opening" in given:
        told.append(f"A tower must begin with one of these blocks: {given['opening']}.")
    if "target" in given:
        told.append(
            f"Bring a tower to a height of exactly {given['target']} to win at once; "
            "no tower may pass it."
        )
    if given["stuck"] == "loses":
        return [*told, "A player who cannot place a block loses."]
    return [
        *told,
        (
            "A player who cannot place a block skips; when neither can, "
            "the higher tower wins; level ones draw."
        ),
    ]


def listed(numbers: list[int]) -> str:
    """List numbers, and only the first of very many."""
    more = f" and {len(numbers) - MOST_LISTED} more" if len(numbers) > MOST_LISTED else ""
    return ", ".join(map(str, numbers[:MOST_LISTED])) + more or "nothing yet"


if __name__ == "__main__":
    main()
