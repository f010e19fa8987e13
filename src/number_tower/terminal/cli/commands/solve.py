"""`tower solve`: the value of a position and of every move, and a best line of play."""

from __future__ import annotations

import json
from argparse import Namespace
from dataclasses import replace
from typing import TYPE_CHECKING

from number_tower.engine.blocks import MAX_NUMBER, parse_number
from number_tower.engine.position import MoveError
from number_tower.engine.table import Table
from number_tower.solve import solve
from number_tower.solve.limits import NotSolvedError
from number_tower.solve.worth import VALUE_VERBS, Worth
from number_tower.support.text import (
    MAX_LIST_ENTRIES,
    format_text,
    format_value,
    make_sentence,
    summarize_numbers,
)
from number_tower.terminal.cli import CommandError, CommandParser, Terminal
from number_tower.terminal.cli.database import find_game, is_ref
from number_tower.terminal.cli.dialogue import narrate_game
from number_tower.terminal.cli.errors import NOT_SOLVED
from number_tower.terminal.cli.options import make_number_parser, parse_seconds
from number_tower.terminal.cli.play_arguments import choose_game, refuse_rule_options
from number_tower.terminal.cli.terminal import VALUE_COLOURS, SearchProgress
from number_tower.words.voice import BOTH, get_voice

if TYPE_CHECKING:
    from number_tower.solve.solution import Solution

MAX_LINE = 10_000
"""Plies of the longest line of play that is printed."""


def add_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower solve`."""
    parser.add_example("tower solve draft", "the value of every opening in draft")
    parser.add_example("tower solve draft --moves 9,8 --line", "a position, and a best line")
    ref = 'a game\'s id, one line such as "draft:9,8,6", or a file with its record'
    parser.add_game_options("GAME|REF", f"a game or rule file; or {ref}")
    parser.add_db_option()
    parser.add_value("--moves", "9,8", "the moves made so far, or after those of the record")
    parser.add_flag("--json", "print one JSON document instead of a table")
    parser.add_flag("--line", "also print one best line of play to the end")
    parser.add_flag("--all", "list every move, even thousands of them")
    meaning = "only win, draw or loss, without the number of plies: often much faster"
    parser.add_flag("--values", meaning)
    parser.add_value("--seconds", "S", "stop after S seconds (exit code 3)", type=parse_seconds)
    expected = "a whole number of MiB, 1 or more"
    parse_memory = make_number_parser(parse_number, expected, 1, MAX_NUMBER + 1)
    meaning = "use at most M MiB of memory for tables (512)"
    parser.add_value("--memory", "M", meaning, type=parse_memory)


def run(args: Namespace, terminal: Terminal) -> None:
    """Solve a position, and print its value and its moves."""
    source: str | None = args.game
    if source is None or source.endswith(".toml") or not is_ref(source):
        table = Table.start(choose_game(args, source))
    else:
        table, _ = find_game(args, source)
        refuse_rule_options(args, "{0} is only for a game; a record has its own rules")
    if table.declared is not None and not args.json:
        terminal.show(f"(This game was {table.declared.reason}; this is its last position.)\n")
    table = _play_moves(table, args.moves)
    with SearchProgress() as progress:
        solution = solve(
            table.game,
            plies=not args.values,
            seconds=args.seconds,
            memory=args.memory,
            progress=progress.update,
        )
        if not args.json:
            progress.clear()
            terminal.show_heading(f"{_format_verdict(solution, table)}\n")
        best = frozenset(solution.best)
        # The best first; of equals, the smaller block.
        ranked = sorted(
            solution.moves.items(),
            key=lambda move: (move[0] not in best, *(-part for part in move[1].rank), move[0]),
        )
        line, missing = _find_line(solution) if args.line else ([], "")
    if args.json:
        if missing:
            raise CommandError(missing, code=NOT_SOLVED)
        _print_json(table, solution, line if args.line else None)
        return
    if ranked:
        terminal.show("\n")
        _print_moves(ranked, terminal, everything=args.all)
        terminal.show(f"\n{_describe_method(solution, args)}\n")
    if missing:
        terminal.show(f"\n{make_sentence(missing)}\n")
    if line:
        what = "best line" if solution.plies is not None else "line that keeps the value"
        terminal.show(f"\nOne {what} to the end:\n" + ("" if table.game.moves else "\n"))
        since = len(table.game.moves)
        for block in line:
            table = table.play(block)
        narrate_game(table, terminal, BOTH, since)


def _play_moves(table: Table, moves: str | None) -> Table:
    """Return a table after the moves of `--moves`."""
    game = table.game
    for text in [] if moves is None else moves.split(","):
        block = parse_number(text)
        if block is None:
            expected = "expected blocks with commas between, such as 9,8"
            raise CommandError(f"--moves: {expected}; got {format_value(moves)}")
        try:
            game = game.play(block)
        except MoveError as error:
            legal = "the game is over there"
            if game.legal:
                legal = f"these can: {summarize_numbers(game.legal)}"
            move = f"move {len(game.moves) + 1}: {format_text(text.strip(), 40)}"
            reason = error.reason.replace("_", " ")
            problem = f"{move} cannot be placed ({reason}); {legal}"
            raise CommandError(f"--moves: {problem}") from None
    return replace(table, game=game, declared=None, log=())


def _find_line(solution: Solution) -> tuple[list[int], str]:
    """Return a best line, or why there is none."""
    if solution.plies is not None and solution.plies > MAX_LINE:
        return [], f"a best line has {_format_plies(solution.plies)}: too many to print"
    try:
        return list(solution.line()), ""
    except NotSolvedError as error:
        return [], f"a best line to the end: {error}"


def _format_verdict(solution: Solution, table: Table) -> str:
    """Return the value of the position as a sentence."""
    outcome, voice = table.game.outcome, get_voice(table.book)
    if outcome is not None:
        if outcome.winner is None:
            return "The game is over: drawn."
        return f"The game is over: {voice.get_name(table, outcome.winner)} has won."
    mover = f"{voice.get_name(table, table.game.to_move)}, to move, {VALUE_VERBS[solution.value]}"
    if solution.plies is None:
        return f"{mover}."
    return f"{mover}: {_format_plies(solution.plies)} to the end, if both play their best."


def _format_plies(count: int) -> str:
    return f"{count:,} {'ply' if count == 1 else 'plies'}"


def _describe_method(solution: Solution, args: Namespace) -> str:
    """Say by which method the value was found, and what was not found."""
    method = f"Found by {solution.method}."
    worths = (solution.worth, *solution.moves.values())
    if args.values or all(worth.plies is not None for worth in worths):
        return method
    if args.seconds is None:
        advice = "--seconds 60 searches up to a minute for them"
        return f"{method} How many plies it takes is not known; {advice}."
    return f"{method} How many plies it takes was not found within these limits."


def _print_moves(ranked: list[tuple[int, Worth]], terminal: Terminal, *, everything: bool) -> None:
    if everything or len(ranked) <= MAX_LIST_ENTRIES:
        counted = any(worth.plies is not None for _, worth in ranked)
        width = max(5, *(len(str(block)) for block, _ in ranked))
        terminal.write(f"  {'block':>{width}}  value{'  plies' if counted else ''}\n")
        for block, worth in ranked:
            line = f"  {block:>{width}}  "
            line += terminal.paint(worth.value, VALUE_COLOURS[worth.value])
            if counted:
                plies = "?" if worth.plies is None else worth.plies
                line += f"{' ' * (5 - len(worth.value))}  {plies:>5}"
            terminal.write(f"{line}\n")
        return
    for kind, code in VALUE_COLOURS.items():
        blocks = sorted(block for block, worth in ranked if worth.value == kind)
        if blocks:
            label = terminal.paint(kind, code) + " " * (4 - len(kind))
            count = f"{len(blocks):,} of {len(ranked):,} moves"
            terminal.show(f"  {label}  {count}: {summarize_numbers(blocks)}\n")
    best, worth = ranked[0]
    example = ""
    if worth.plies is not None:
        plies = _format_plies(worth.plies)
        example = f"The best of them is {best}: {worth.value}, {plies}. "
    terminal.show(f"\n{example}`--all` lists every move.\n")


def _print_json(table: Table, solution: Solution, line: list[int] | None) -> None:
    document = {
        "game": table.rulebook,
        "moves": list(table.game.moves),
        "to_move": table.game.to_move + 1,
        "value": solution.value,
        "plies": solution.plies,
        "best": list(solution.best),
        "by_move": {str(block): worth._asdict() for block, worth in solution.moves.items()},
        "method": solution.method,
    }
    print(json.dumps(document if line is None else {**document, "line": line}))
