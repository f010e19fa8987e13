"""Writes docs/cli.md from the command's own description, so that the reference cannot go out of date."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from number_tower.cli.options import create_parser

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
    described, summaries = _commands(create_parser())
    listed = "".join(f"| [`tower {name}`](#tower-{name}) | {summaries[name]} |\n" for name in create_parser().commands)
    return HEAD + listed + "".join(_section(name, described[name]) for name in create_parser().commands) + FOOT


def _section(name: str, command: argparse.ArgumentParser) -> str:
    actions = [action for action in command._actions if action.dest != "help"]  # noqa: SLF001 - argparse has no public way
    rows = "".join(f"| `{_call(action)}` | {action.help} |\n" for action in actions)
    return f"\n## tower {name}\n" + (f"\n| argument | meaning |\n|---|---|\n{rows}" if rows else "\nTakes nothing.\n")


def _call(action: argparse.Action) -> str:
    value = action.metavar or (" | ".join(map(str, action.choices)) if action.choices else "")
    return " ".join(filter(None, (*action.option_strings, str(value).replace("|", r"\|"))))


def _commands(tower: argparse.ArgumentParser) -> tuple[dict[str, argparse.ArgumentParser], dict[str, str]]:
    """Return each command's parser, and what it is summed up as."""
    for action in tower._actions:  # noqa: SLF001 - argparse has no public way
        if action.dest == "command":
            summaries = {each.dest: str(each.help) for each in action._get_subactions()}  # type: ignore[attr-defined]  # noqa: SLF001 - likewise
            return dict(action.choices), summaries  # type: ignore[arg-type]  # its choices are a dict of parsers
    raise LookupError("the command has no subcommands")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
