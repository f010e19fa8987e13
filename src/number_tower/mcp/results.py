"""What the tools answer: values with a schema for programs, and the same in words for whoever reads."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

from mcp_types import CallToolResult, TextContent

from number_tower import catalogue
from number_tower.mcp.arguments import OPPONENTS
from number_tower.mcp.schemas import (
    AnalysisResult,
    GameInfo,
    GamesResult,
    HintResult,
    LevelInfo,
    MoveInfo,
    MoveValueInfo,
    OpenGamesResult,
    OutcomeInfo,
    PlayerInfo,
    RulesResult,
    SessionInfo,
    StateResult,
)
from number_tower.prompt import format_blocks, write_rules, write_situation
from number_tower.record import to_line
from number_tower.rules import UNNAMED
from number_tower.voice import Voice

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import BaseModel

    from number_tower.coach.analysis import PositionAnalysis
    from number_tower.coach.hints import HintText
    from number_tower.mcp.arguments import Sort
    from number_tower.mcp.session import GameSession
    from number_tower.solve.worth import Value

_MAX_MOVES_LISTED = 60
"""Moves of a position that are told one by one; all of them stand in the values."""

_REPEATED_VALUE = re.compile(r"(?:wins by force|wins|loses|leads to a draw)(?:[:;] (?P<more>.*)|,.*|)")
"""A reason that says again what a move is worth, and perhaps more."""

_WORDS: dict[Value | None, str] = {"win": "wins", "draw": "draws", "loss": "loses", None: "not known"}


def build_games_result() -> CallToolResult:
    """Tell what can be played."""
    games = [
        GameInfo(name=book.name, title=book.title, summary=book.summary, options=list(book.options))
        for book in catalogue.load_all()
    ]
    levels = [LevelInfo(name=level.name, about=level.about) for level in OPPONENTS.values()]
    lines = ["The games:"]
    lines += [f"- {game.name}: {game.summary} Options: {', '.join(game.options) or 'none'}." for game in games]
    lines += ["Rules of your own can be played as well. The computer's levels:"]
    lines += [f"- {level.name}: {level.about}." for level in levels]
    return _make_result(GamesResult(games=games, opponents=levels), "\n".join(lines))


def build_rules_result(sort: Sort, playing: GameSession) -> CallToolResult:
    """Tell the rules of a game."""
    told = write_rules(playing.table)
    answer = RulesResult(
        title=sort.book.title, about=sort.book.about, sentences=told.split("\n"), rules=_list_rules(playing)
    )
    return _make_result(answer, "\n".join(filter(None, (sort.book.title, sort.book.about, told))))


def build_state_result(playing: GameSession, *heading: str, rules: bool = False) -> CallToolResult:
    """Tell how a game stands; with its rules if somebody is new to it."""
    table, voice = playing.table, Voice(playing.book)
    game, result = table.game, _result(playing)
    players = [
        PlayerInfo(
            seat=seat + 1,
            name=voice.get_name(table, seat),
            computer=None if playing.opponent is None or seat == playing.seat else playing.opponent.name,
            tower=list(game.towers[seat]),
            height=game.heights[seat],
            left=None if (left := table.left(seat)) is None else list(left),
        )
        for seat in (0, 1)
    ]
    answer = StateResult(
        id=playing.id,
        game=table.rulebook,
        rules=_list_rules(playing),
        hidden=table.hidden,
        seed=playing.seed,
        players=players,
        moves=[MoveInfo(seat=mover + 1, block=block) for mover, block in zip(game.movers, game.moves, strict=True)],
        to_move=None if result else game.to_move + 1,
        legal=list(table.legal) if playing.lists and table.legal is not None else None,
        result=result,
        record=to_line(table),
    )
    lines = [*heading, f"{playing.id}, {_name_game(playing)}. {_describe_sides(players)}", playing.remark]
    lines += [write_rules(table)] if rules else []
    lines += [write_situation(table, legal=playing.lists)]
    again = f"Call move with the id {playing.id} and the block that you place."
    lines += [f"The game on one line: {answer.record}" if result else again]
    return _make_result(answer, "\n".join(filter(None, lines)))


def build_open_games_result(games: list[GameSession]) -> CallToolResult:
    """List the games that are kept."""
    going = [
        SessionInfo(
            id=playing.id,
            game=playing.table.rulebook,
            moves=len(playing.table.game.moves),
            to_move=None if (result := _result(playing)) else playing.table.game.to_move + 1,
            opponent=playing.opponent and playing.opponent.name,
            result=result,
        )
        for playing in games
    ]
    lines = [
        f"- {each.id}: {_name_game(playing)}, {each.moves} move{'' if each.moves == 1 else 's'}, "
        + (f"seat {each.to_move} is to move" if each.result is None else f"over: {_describe_winner(playing)}")
        for each, playing in zip(going, games, strict=True)
    ]
    return _make_result(OpenGamesResult(games=going), "\n".join(lines) or "No game is open; begin one with start_game.")


def build_hint_result(playing: GameSession, hinted: HintText) -> CallToolResult:
    """Give a hint."""
    answer = HintResult(id=playing.id, hints=list(hinted.texts), block=hinted.block, more=hinted.more)
    return _make_result(answer, "\n".join(hinted.texts))


def build_analysis_result(playing: GameSession, analysis: PositionAnalysis, only: int | None) -> CallToolResult:
    """Tell what a position and its moves are worth: all of them, one of them, or none where they are not listed."""
    moves = None
    if playing.lists or only is not None:
        moves = [
            MoveValueInfo(block=each.block, value=each.value, plies=each.plies, reason=each.reason)
            for each in analysis.moves
            if only in {None, each.block}
        ]
    answer = AnalysisResult(
        id=playing.id,
        to_move=playing.table.game.to_move + 1,
        value=analysis.value,
        plies=analysis.plies,
        result=None,
        verdict=analysis.verdict,
        method=analysis.method,
        moves=moves,
        note=analysis.note,
    )
    lines = [analysis.verdict, *_describe_moves(moves or []), analysis.note]
    if moves is None:
        lines.append("The moves are not listed in this game; give a block to hear about that one.")
    return _make_result(answer, "\n".join(filter(None, lines)))


def build_finished_result(playing: GameSession) -> CallToolResult:
    """Tell who won, where there is nothing left to be worth something."""
    verdict = f"The game is over: {_describe_winner(playing)}."
    answer = AnalysisResult(
        id=playing.id, to_move=None, value=None, plies=0, result=_result(playing), verdict=verdict, method="", moves=[],
        note="",
    )  # fmt: skip
    return _make_result(answer, verdict)


def _make_result(answer: BaseModel, text: str) -> CallToolResult:
    content = [TextContent(type="text", text=text)]
    return CallToolResult(content=list(content), structured_content=answer.model_dump(mode="json"))


def _list_rules(playing: GameSession) -> dict[str, str | int]:
    written = playing.table.game.rules.written()
    return {key: value for key, value in written.items() if isinstance(value, str | int)}


def _result(playing: GameSession) -> OutcomeInfo | None:
    outcome = playing.table.outcome
    if outcome is None:
        return None
    return OutcomeInfo(winner=None if outcome.winner is None else outcome.winner + 1, reason=outcome.reason)


def _describe_winner(playing: GameSession) -> str:
    outcome = playing.table.outcome
    if outcome is None or outcome.winner is None:
        return "nobody has won"
    return f"{Voice(playing.book).get_name(playing.table, outcome.winner)} has won"


def _name_game(playing: GameSession) -> str:
    return "rules of your own" if playing.table.rulebook == UNNAMED else playing.table.rulebook


def _describe_sides(players: list[PlayerInfo]) -> str:
    for player, other in (players, players[::-1]):
        if other.computer is not None:
            return f"You are {player.name}; {other.name} is the computer ({other.computer})."
    return f"You move for both, {players[0].name} and {players[1].name}."


def _describe_moves(moves: list[MoveValueInfo]) -> Iterator[str]:
    """Tell of the first moves one by one, and of the rest, or those about which nothing is known, in one line each."""
    told = [move for move in moves[:_MAX_MOVES_LISTED] if move.value is not None]
    for (value, plies, reason), alike in groupby(told, lambda move: (move.value, move.plies, move.reason)):
        blocks = sorted(move.block for move in alike)
        soon = "" if plies is None else f" in {plies:,}"
        each = "each " if len(blocks) > 1 else ""
        because = _shorten_reason(reason)
        yield f"- {format_blocks(blocks)} ({each}{_WORDS[value]}{soon})" + (f": {because}" if because else "")
    for value, word in _WORDS.items():
        rest = sorted(move.block for move in moves[len(told) :] if move.value == value)
        if rest:
            yield f"- {'also ' if told and value else ''}{word}: {format_blocks(rest)}"


def _shorten_reason(reason: str) -> str:
    """Give a reason without what has just been said."""
    again = _REPEATED_VALUE.fullmatch(reason)
    if again is None:
        return reason and f"it {reason}"
    return again["more"] or ""
