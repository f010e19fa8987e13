"""`tower solve`: the value of a position and of every move, as a table, as JSON, or as a line of play."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from typing import TYPE_CHECKING

from number_tower.blocks import LARGEST_NUMBER, parse_number
from number_tower.cli.database import find_game, is_ref
from number_tower.cli.dialogue import Dialogue
from number_tower.cli.errors import NOT_SOLVED, CommandError
from number_tower.cli.options import CommandParser, make_number_parser, parse_seconds
from number_tower.cli.play import choose_game, list_rule_options
from number_tower.cli.terminal import VALUE_COLOURS, SearchProgress, Terminal
from number_tower.position import MoveError
from number_tower.session.game import GameSession
from number_tower.solve import solve
from number_tower.solve.limits import NotSolvedError
from number_tower.solve.worth import VALUE_VERBS, Worth
from number_tower.table import Table
from number_tower.text import (
    LONGEST_LIST,
    format_text,
    format_value,
    make_sentence,
    summarize_numbers,
)
from number_tower.voice import BOTH, get_voice

if TYPE_CHECKING:
    from number_tower.solve.solution import Solution

LONGEST_LINE = 10_000
"""Plies of the longest line of play that is printed."""


def add_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower solve`."""
    parser.add_example("tower solve draft", "the value of every opening in draft")
    parser.add_example("tower solve draft --moves 9,8 --line", "a position, and a best line")
    parser.add_game_options(
        "GAME|REF",
        'a game or rule file; or a game\'s id, one line such as "draft:9,8,6", or a file with its record',
    )
    parser.add_db_option()
    parser.add_value("--moves", "9,8", "the moves made so far, or after those of the record")
    parser.add_flag("--json", "print one JSON document instead of a table")
    parser.add_flag("--line", "also print one best line of play to the end")
    parser.add_flag("--all", "list every move, even thousands of them")
    parser.add_flag(
        "--values", "only win, draw or loss, without the number of plies: often much faster"
    )
    parser.add_value("--seconds", "S", "stop after S seconds (exit code 3)", type=parse_seconds)
    parse_memory = make_number_parser(
        parse_number, "a whole number of MiB, 1 or more", 1, LARGEST_NUMBER + 1
    )
    parser.add_value(
        "--memory", "M", "use at most M MiB of memory for tables (512)", type=parse_memory
    )


def run(args: Namespace, terminal: Terminal) -> None:
    """Solve a position, and print its value and its moves."""
    table = _find_table(args)
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
        ranked = _rank_moves(solution)
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
        _show_line(line, table, terminal, best=solution.plies is not None)


def _find_table(args: Namespace) -> Table:
    """Return the table to solve: a game with its options from its start, or a recorded one as it stands."""
    source: str | None = args.game
    if source is None or source.endswith(".toml") or not is_ref(source):
        return Table.start(choose_game(args, source))
    table, _ = find_game(args, source)
    for option in list_rule_options(args):
        raise CommandError(f"--{option} is only for a game; a record has its own rules")
    return table


def _play_moves(table: Table, moves: str | None) -> Table:
    """Return a table after the moves of `--moves`."""
    game = table.game
    for text in [] if moves is None else moves.split(","):
        block = parse_number(text)
        if block is None:
            raise CommandError(
                f"--moves: expected blocks with commas between, such as 9,8; got {format_value(moves)}"
            )
        try:
            game = game.play(block)
        except MoveError as error:
            legal = (
                f"these can: {summarize_numbers(game.legal)}"
                if game.legal
                else "the game is over there"
            )
            problem = (
                f"move {len(game.moves) + 1}: {format_text(text.strip(), 40)} cannot be placed"
            )
            reason = error.reason.replace("_", " ")
            raise CommandError(f"--moves: {problem} ({reason}); {legal}") from None
    return replace(table, game=game, declared=None, log=())


def _show_line(line: list[int], table: Table, terminal: Terminal, *, best: bool) -> None:
    """Tell a line of play to the end."""
    what = "best line" if best else "line that keeps the value"
    terminal.show(f"\nOne {what} to the end:\n" + ("" if table.game.moves else "\n"))
    for block in line:
        table = table.play(block)
    Dialogue(GameSession(table), terminal, reader=BOTH).narrate(
        since=len(table.game.moves) - len(line)
    )


def _rank_moves(solution: Solution) -> list[tuple[int, Worth]]:
    """Return every move with its value, the best first; of equals, the smaller block."""
    best = frozenset(solution.best)
    return sorted(
        solution.moves.items(),
        key=lambda move: (move[0] not in best, *(-part for part in move[1].rank), move[0]),
    )


def _find_line(solution: Solution) -> tuple[list[int], str]:
    """Return a best line, or why there is none."""
    if solution.plies is not None and solution.plies > LONGEST_LINE:
        return [], f"a best line has {_format_plies(solution.plies)}: too many to print"
    try:
        return list(solution.line()), ""
    except NotSolvedError as error:
        return [], f"a best line to the end: {error}"


def _format_verdict(solution: Solution, table: Table) -> str:
    """Return the value of the position as a sentence."""
    outcome, voice = table.game.outcome, get_voice(table.book)
    if outcome is not None:
        result = (
            "drawn"
            if outcome.winner is None
            else f"{voice.get_name(table, outcome.winner)} has won"
        )
        return f"The game is over: {result}."
    mover = f"{voice.get_name(table, table.game.to_move)}, to move, {VALUE_VERBS[solution.value]}"
    if solution.plies is None:
        return f"{mover}."
    return f"{mover}: {_format_plies(solution.plies)} to the end, if both play their best."


def _format_plies(count: int) -> str:
    return f"{count:,} {'ply' if count == 1 else 'plies'}"


def _describe_method(solution: Solution, args: Namespace) -> str:
    """Say by which method the value was found, and what was not found."""
    found = f"Found by {solution.method}."
    if args.values or all(
        worth.plies is not None for worth in (solution.worth, *solution.moves.values())
    ):
        return found
    if args.seconds is None:
        return f"{found} How many plies it takes is not known; --seconds 60 searches up to a minute for them."
    return f"{found} How many plies it takes was not found within these limits."


def _print_moves(ranked: list[tuple[int, Worth]], terminal: Terminal, *, everything: bool) -> None:
    if everything or len(ranked) <= LONGEST_LIST:
        counted = any(worth.plies is not None for _, worth in ranked)
        width = max(5, *(len(str(block)) for block, _ in ranked))
        terminal.write(f"  {'block':>{width}}  value{'  plies' if counted else ''}\n")
        for block, worth in ranked:
            plies = "" if not counted else f"  {'?' if worth.plies is None else worth.plies:>5}"
            padding = " " * (5 - len(worth.value)) if counted else ""
            value = terminal.paint(worth.value, VALUE_COLOURS[worth.value])
            terminal.write(f"  {block:>{width}}  {value}{padding}{plies}\n")
        return
    for kind, code in VALUE_COLOURS.items():
        blocks = sorted(block for block, worth in ranked if worth.value == kind)
        if blocks:
            label = terminal.paint(kind, code) + " " * (4 - len(kind))
            terminal.show(
                f"  {label}  {len(blocks):,} of {len(ranked):,} moves: {summarize_numbers(blocks)}\n"
            )
    best, worth = ranked[0]
    known = (
        ""
        if worth.plies is None
        else f"The best of them is {best}: {worth.value}, {_format_plies(worth.plies)}. "
    )
    terminal.show(f"\n{known}`--all` lists every move.\n")


def _print_json(table: Table, solution: Solution, line: list[int] | None) -> None:
    import json  # noqa: PLC0415 - not for the first answer

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
