"""Writes docs/cli.md from the command's own description, so that the reference cannot go out of date."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from number_tower.cli.main import COMMANDS, create_parser

if TYPE_CHECKING:
    import argparse

PAGE = Path(__file__).parent.parent / "docs" / "cli.md"

HEAD = """# The command `tower`

Made by `make docs` from the command's own help. `tower` alone shows the games, asks which to play, and starts it.

| command | what it does |
|---|---|
"""

FOOT = """
## Exit codes

| code | when |
|---|---|
| 0 | the game was finished or left with `quit`, what was asked for was printed, or the reader closed the pipe |
| 1 | the input ended before the game did, a record or the database is damaged, or the output cannot be written |
| 2 | a wrong call or a wrong rule file; the message says what would be right |
| 3 | not solved within `--seconds` or `--memory` |
| 130 | Ctrl-C, or `--stop` |
"""


def page() -> str:
    """Return the whole page."""
    listed = "".join(f"| [`tower {name}`](#tower-{name}) | {summary} |\n" for name, (_, summary) in COMMANDS.items())
    return HEAD + listed + "".join(_section(name, parser) for name, parser in _find_parsers().items()) + FOOT


def _section(name: str, command: argparse.ArgumentParser) -> str:
    actions = [action for action in command._actions if action.dest != "help"]  # noqa: SLF001 - argparse has no public way
    rows = "".join(f"| `{_call(action)}` | {action.help} |\n" for action in actions)
    return f"\n## tower {name}\n" + (f"\n| argument | meaning |\n|---|---|\n{rows}" if rows else "\nNo arguments.\n")


def _call(action: argparse.Action) -> str:
    value = action.metavar or (" | ".join(map(str, action.choices)) if action.choices else "")
    return " ".join(filter(None, (*action.option_strings, str(value).replace("|", r"\|"))))


def _find_parsers() -> dict[str, argparse.ArgumentParser]:
    """Return the parser of each command."""
    for action in create_parser()._actions:  # noqa: SLF001 - argparse has no public way
        if action.dest == "command":
            return dict(action.choices)  # type: ignore[arg-type]  # its choices are a dict of parsers
    raise LookupError("the command has no subcommands")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
