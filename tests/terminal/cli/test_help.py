"""What every command says of itself: a description and examples that work, on narrow terminals."""

from __future__ import annotations

import re
import shlex

import pytest

from number_tower.terminal.cli.main import SUMMARIES, complete_call, create_parser
from number_tower.terminal.cli.options import CommandParser
from support.command import run_tower
from support.terminal import ESCAPES, Terminal


def create_command_parser(command: str) -> CommandParser:
    for action in create_parser([command])._actions:  # noqa: SLF001 - argparse has no public way
        if action.dest == "command" and isinstance(action.choices, dict):
            parser = action.choices[command]
            assert isinstance(parser, CommandParser)
            return parser
    raise LookupError(command)


@pytest.mark.parametrize("command", SUMMARIES)
def test_command_has_a_description_and_two_examples(command: str) -> None:
    parser = create_command_parser(command)
    assert parser.description is not None
    assert parser.description[0].isupper()
    assert "\n" not in parser.description
    assert len(parser.examples) == 2
    shown = parser.format_help()
    for call, meaning in parser.examples:
        assert f"\n  {call}\n      {meaning}" in shown


@pytest.mark.parametrize("command", SUMMARIES)
def test_example_of_a_command_is_a_valid_call(command: str) -> None:
    for example, _ in create_command_parser(command).examples:
        plain = re.sub(r"^eval |[$\"()]|[<>|].*", "", example)
        program, *call = shlex.split(plain)
        assert program == "tower"
        call = [*complete_call(call)]
        create_parser(call[:1]).parse_args(call)


def test_help_fits_into_a_narrow_terminal() -> None:
    terminal = Terminal("puzzle", "--help", columns=40)
    assert terminal.end() == 0
    lines = ESCAPES.sub("", terminal.seen).splitlines()
    assert max(len(line) for line in lines if not line.startswith("  tower ")) <= 40
    # In a pipe it is always the same.
    assert max(map(len, run_tower("puzzle", "--help").stdout.splitlines())) > 80
