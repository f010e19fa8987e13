"""What `tower solve` prints: the worth of a position and of every move, as a table, as JSON, or as a line of play."""

from __future__ import annotations

from typing import TYPE_CHECKING

from number_tower.cli.console import SearchProgress
from number_tower.cli.dialogue import Dialogue
from number_tower.cli.errors import FINISHED, NOT_SOLVED, CommandError
from number_tower.cli.terminal import VALUE_COLOURS, paint
from number_tower.solve import solve
from number_tower.solve.limits import NotSolvedError
from number_tower.text import LONGEST_LIST, summarize_numbers
from number_tower.voice import Voice

if TYPE_CHECKING:
    from argparse import Namespace

    from number_tower.catalogue import Rulebook
    from number_tower.cli.terminal import Terminal
    from number_tower.solve.solution import Solution
    from number_tower.solve.worth import Value, Worth
    from number_tower.table import Table

LONGEST_LINE = 10_000
"""Plies of a line of play that anybody would look through."""

_VERBS: dict[Value, str] = {"win": "wins", "draw": "draws", "loss": "loses"}


def print_solution(asked: Namespace, table: Table, book: Rulebook, screen: Terminal) -> int:
    """Solve a table as it stands, and print what was asked for."""
    ticker = SearchProgress()
    what = ""
    try:
        solution = solve(
            table.game, plies=not asked.values, seconds=asked.seconds, memory=asked.memory, progress=ticker.update
        )
        if not asked.json:
            ticker.clear()
            screen.show_heading(f"{_format_verdict(solution, table, Voice(book))}\n")
        what = "what the moves are worth: "
        ranked = _rank_moves(solution)
        line, missing = _find_line(solution) if asked.line else ([], "")
    except NotSolvedError as missed:
        ticker.clear()
        raise CommandError(NOT_SOLVED, f"{what}{missed}.") from None
    finally:
        ticker.clear()
    if asked.json:
        if missing:
            raise CommandError(NOT_SOLVED, missing)
        _print_json(table, solution, line if asked.line else None)
        return FINISHED
    if ranked:
        screen.show("\n")
        _print_moves(ranked, screen, everything=asked.all)
        screen.show(f"\n{_describe_method(solution, asked)}\n")
    if missing:
        screen.show(f"\n{missing}\n")
    if line:
        _show_line(line, table, book, screen, best=solution.plies is not None)
    return FINISHED


def _show_line(line: list[int], table: Table, book: Rulebook, screen: Terminal, *, best: bool) -> None:
    """Tell a line of play from here to the end, in the game's voice."""
    what = "best line" if best else "line that keeps the value"
    screen.show(f"\nOne {what} to the end:\n" + ("" if table.game.moves else "\n"))
    for block in line:
        table = table.play(block)
    Dialogue(table, book, screen).narrate(since=len(table.game.moves) - len(line))


def _rank_moves(solution: Solution) -> list[tuple[int, Worth]]:
    """Return every move with its worth, the best first; of equals, the smaller block."""
    best = frozenset(solution.best)
    return sorted(
        solution.moves.items(),
        key=lambda move: (move[0] not in best, *(-part for part in move[1].rank), move[0]),
    )


def _find_line(solution: Solution) -> tuple[list[int], str]:
    """Return a best line, or why there is none."""
    if solution.plies is not None and solution.plies > LONGEST_LINE:
        return [], f"A best line has {_format_plies(solution.plies)}: too many to be written down."
    try:
        return list(solution.line()), ""
    except NotSolvedError as missed:
        return [], f"A best line to the end: {missed}."


def _format_verdict(solution: Solution, table: Table, voice: Voice) -> str:
    """Say in a sentence what the position is worth."""
    outcome = table.game.outcome
    if outcome is not None:
        result = "drawn" if outcome.winner is None else f"{voice.get_name(table, outcome.winner)} has won"
        return f"The game is over: {result}."
    mover = f"{voice.get_name(table, table.game.to_move)}, to move, {_VERBS[solution.value]}"
    if solution.plies is None:
        return f"{mover}."
    return f"{mover}: {_format_plies(solution.plies)} to the end, if both play their best."


def _format_plies(count: int) -> str:
    return f"{count:,} {'ply' if count == 1 else 'plies'}"


def _describe_method(solution: Solution, asked: Namespace) -> str:
    """Say how it was found out, and what was not."""
    found = f"Found by {solution.method}."
    if asked.values or all(worth.plies is not None for worth in (solution.worth, *solution.moves.values())):
        return found
    if asked.seconds is None:
        return f"{found} How many plies it takes is not known; --seconds 60 searches up to a minute for them."
    return f"{found} How many plies it takes was not found within these limits."


def _print_moves(ranked: list[tuple[int, Worth]], screen: Terminal, *, everything: bool) -> None:
    if everything or len(ranked) <= LONGEST_LIST:
        counted = any(worth.plies is not None for _, worth in ranked)
        width = max(5, *(len(str(block)) for block, _ in ranked))
        screen.write(f"  {'block':>{width}}  value{'  plies' if counted else ''}\n")
        for block, worth in ranked:
            plies = "" if not counted else f"  {'?' if worth.plies is None else worth.plies:>5}"
            padding = " " * (5 - len(worth.value)) if counted else ""
            screen.write(f"  {block:>{width}}  {_paint_value(worth.value, screen)}{padding}{plies}\n")
        return
    for value in VALUE_COLOURS:
        blocks = sorted(block for block, worth in ranked if worth.value == value)
        if blocks:
            moves = f"{len(blocks):,} of {len(ranked):,} moves"
            padding = " " * (4 - len(value))
            screen.show(f"  {_paint_value(value, screen)}{padding}  {moves}: {summarize_numbers(blocks)}\n")
    best, worth = ranked[0]
    known = "" if worth.plies is None else f"The best of them is {best}: {worth.value}, {_format_plies(worth.plies)}. "
    screen.show(f"\n{known}`--all` lists every move.\n")


def _paint_value(value: Value, screen: Terminal) -> str:
    return paint(value, VALUE_COLOURS[value]) if screen.colour else value


def _print_json(table: Table, solution: Solution, line: list[int] | None) -> None:
    import json  # noqa: PLC0415 - only where it is asked for

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
