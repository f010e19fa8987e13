"""What every command says of itself: a description and examples that work, on narrow terminals."""

from __future__ import annotations

import shlex

import pytest

from number_tower.terminal.cli.main import SUMMARIES, complete_call, create_parser
from number_tower.terminal.cli.options import CommandParser
from support.command import run_tower
from support.terminal import ESCAPES, Terminal


def parser_of(command: str) -> CommandParser:
    for action in create_parser([command])._actions:  # noqa: SLF001 - argparse has no public way
        if action.dest == "command" and isinstance(action.choices, dict):
            parser = action.choices[command]
            assert isinstance(parser, CommandParser)
            return parser
    raise LookupError(command)


@pytest.mark.parametrize("command", SUMMARIES)
def test_every_command_has_a_line_about_itself_and_two_examples(command: str) -> None:
    parser = parser_of(command)
    assert parser.description is not None
    assert parser.description[0].isupper()
    assert "\n" not in parser.description
    assert len(parser.examples) == 2
    shown = parser.format_help()
    for call, meaning in parser.examples:
        assert f"\n  {call}\n      {meaning}" in shown


@pytest.mark.parametrize("command", SUMMARIES)
def test_the_examples_are_calls_that_the_command_understands(command: str) -> None:
    for call, _ in parser_of(command).examples:
        words = shlex.split(
            call.replace("$(", "").replace(")", "").removeprefix("eval ").strip('"')
        )
        stop = next(
            (place for place, word in enumerate(words) if word in {"<", ">", "|"}), len(words)
        )
        assert words[0] == "tower"
        named = complete_call(words[1:stop])
        create_parser(named[:1]).parse_args(named)


def test_help_fits_into_a_narrow_terminal() -> None:
    terminal = Terminal("puzzle", "--help", columns=40)
    assert terminal.end() == 0
    lines = ESCAPES.sub("", terminal.seen).splitlines()
    assert max(len(line) for line in lines if not line.startswith("  tower ")) <= 40
    piped = run_tower("puzzle", "--help").stdout
    assert max(map(len, piped.splitlines())) > 80, "in a pipe it is always the same"
