"""The results of the tools: structured values for programs, and the same in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel

from number_tower import catalogue
from number_tower.coach.analysis import PositionAnalysis
from number_tower.coach.hints import HintText
from number_tower.mcp import schemas
from number_tower.mcp.session import GameSession
from number_tower.players import ALL_LEVELS
from number_tower.prompt import format_blocks, write_rules, write_situation
from number_tower.record import to_line
from number_tower.rules import UNNAMED
from number_tower.solve.worth import VALUE_VERBS
from number_tower.table import Table
from number_tower.text import pluralize
from number_tower.voice import get_voice

_MAX_MOVES_LISTED = 60
"""Moves of a position that are described one by one; the structured values have them all."""


def build_games_result() -> CallToolResult:
    """List the games and the levels of the computer."""
    books = catalogue.load_all()
    offer = {
        "games": [_describe_book(book) for book in books],
        "opponents": list(ALL_LEVELS.values()),
    }
    result = schemas.GamesResult.model_validate(offer, from_attributes=True)
    lines = ["The games:"]
    for book in books:
        lines += [f"- {book.name}: {book.summary} Options: {', '.join(book.options) or 'none'}."]
        lines += [
            f"  - preset {preset.name}: {preset.describe()}" for preset in book.presets.values()
        ]
    lines += ["You can also play by your own rules. The computer's levels:"]
    lines += [f"- {level.name}: {level.about}." for level in result.opponents]
    return _make_result(result, lines)


def _describe_book(book: catalogue.Rulebook) -> schemas.GameInfo:
    described = {**vars(book), "presets": list(book.presets.values())}
    return schemas.GameInfo.model_validate(described, from_attributes=True)


def build_rules_result(table: Table) -> CallToolResult:
    """Describe the rules of a game."""
    book, text = table.book, write_rules(table)
    result = schemas.RulesResult(
        title=book.title,
        about=book.about,
        sentences=text.split("\n"),
        rules=table.game.rules.written(),
    )
    return _make_result(result, [book.title, book.about, text])


def build_state_result(session: GameSession, *heading: str, rules: bool = False) -> CallToolResult:
    """Describe how a game stands, with its rules if asked for."""
    table = session.table
    game = table.game
    players = [
        schemas.PlayerInfo(
            seat=seat + 1,
            name=get_voice(table.book).get_name(table, seat),
            computer=session.opponent.name if session.opponent and table.automatic[seat] else None,
            tower=game.towers[seat],
            height=game.heights[seat],
            left=table.left(seat),
        )
        for seat in (0, 1)
    ]
    result = schemas.StateResult(
        **_get_status(session),
        game=table.rulebook,
        rules=table.game.rules.written(),
        hidden=table.hidden,
        seed=session.seed,
        players=players,
        moves=[
            schemas.MoveInfo(seat=mover + 1, block=block)
            for mover, block in zip(game.movers, game.moves, strict=True)
        ],
        legal=table.legal if session.lists else None,
        record=to_line(table),
    )
    lines = [
        *heading,
        f"{session.id}, {_name_game(table)}. {_describe_sides(players)}",
        session.remark,
    ]
    lines += [write_rules(table)] if rules else []
    lines += [write_situation(table, legal=session.lists)]
    again = f"Call move with the id {session.id} and the block that you place."
    lines += [f"The game on one line: {result.record}" if result.result else again]
    return _make_result(result, lines)


def build_open_games_result(sessions: list[GameSession]) -> CallToolResult:
    """List all games."""
    infos = [
        schemas.SessionInfo(
            **_get_status(session),
            game=session.table.rulebook,
            moves=len(session.table.game.moves),
            opponent=session.opponent and session.opponent.name,
        )
        for session in sessions
    ]
    lines = [
        f"- {info.id}: {_name_game(session.table)}, {info.moves} {pluralize('move', info.moves)}, "
        + (
            f"seat {info.to_move} is to move"
            if info.result is None
            else f"over: {_describe_winner(session.table)}"
        )
        for info, session in zip(infos, sessions, strict=True)
    ]
    return _make_result(
        schemas.OpenGamesResult(games=infos),
        lines or ["No game is open; start one with start_game."],
    )


def build_hint_result(session: GameSession, hint: HintText) -> CallToolResult:
    """Give a hint."""
    result = schemas.HintResult(id=session.id, hints=hint.texts, block=hint.block, more=hint.more)
    return _make_result(result, hint.texts)


def build_analysis_result(
    session: GameSession, analysis: PositionAnalysis, only: int | None
) -> CallToolResult:
    """Give the values of a position and its moves; of one move only, or of none where legal blocks are not listed."""
    moves = None
    if session.lists or only is not None:
        moves = [
            schemas.MoveValueInfo(**move._asdict())
            for move in analysis.moves
            if only in {None, move.block}
        ]
    result = schemas.AnalysisResult(
        **_get_status(session), **{**analysis._asdict(), "moves": moves}
    )
    lines = [analysis.verdict, *_describe_moves(moves or []), analysis.note]
    if moves is None:
        lines.append(
            "The moves are not listed in this game; give a block to see the value of that move."
        )
    return _make_result(result, lines)


def build_finished_result(session: GameSession) -> CallToolResult:
    """Say who won a finished game, instead of an analysis."""
    verdict = f"The game is over: {_describe_winner(session.table)}."
    values = PositionAnalysis(None, 0, verdict, method="", moves=(), note="")._asdict()
    return _make_result(schemas.AnalysisResult(**_get_status(session), **values), [verdict])


def _make_result(values: BaseModel, lines: Iterable[str]) -> CallToolResult:
    text = "\n".join(filter(None, lines))
    return CallToolResult(
        content=[TextContent(type="text", text=text)],
        structured_content=values.model_dump(mode="json"),
    )


def _get_status(session: GameSession) -> dict[str, Any]:
    """Return the values of a `GameStatus`."""
    to_move, outcome = session.table.game.to_move + 1, session.table.outcome
    if outcome is None:
        return {"id": session.id, "to_move": to_move, "result": None}
    winner = None if outcome.winner is None else outcome.winner + 1
    return {
        "id": session.id,
        "to_move": None,
        "result": {"winner": winner, "reason": outcome.reason},
    }


def _describe_winner(table: Table) -> str:
    if table.outcome is None or table.outcome.winner is None:
        return "nobody has won"
    return f"{get_voice(table.book).get_name(table, table.outcome.winner)} has won"


def _name_game(table: Table) -> str:
    return "your own rules" if table.rulebook == UNNAMED else table.rulebook


def _describe_sides(players: list[schemas.PlayerInfo]) -> str:
    for player, other in (players, players[::-1]):
        if other.computer is not None:
            return f"You are {player.name}; {other.name} is the computer ({other.computer})."
    return f"You move for both, {players[0].name} and {players[1].name}."


def _describe_moves(moves: list[schemas.MoveValueInfo]) -> Iterator[str]:
    """Describe the first moves, equal ones in one line; then the others by their values only."""
    listed = [move for move in moves[:_MAX_MOVES_LISTED] if move.value is not None]
    for (value, plies, reason), group in groupby(
        listed, lambda move: (move.value, move.plies, move.reason)
    ):
        blocks = sorted(move.block for move in group)
        soon = "" if plies is None else f" in {plies:,}"
        each = "each " if len(blocks) > 1 else ""
        yield f"- {format_blocks(blocks)} ({each}{VALUE_VERBS[value]}{soon})" + (
            f": {reason}" if reason else ""
        )
    for value, verb in VALUE_VERBS.items():
        rest = sorted(move.block for move in moves[len(listed) :] if move.value == value)
        if rest:
            yield f"- {'also ' if listed and value else ''}{verb}: {format_blocks(rest)}"
