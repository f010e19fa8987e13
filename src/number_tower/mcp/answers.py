"""What the tools answer: values with a schema for programs, and the same in words for whoever reads."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

from mcp_types import CallToolResult, TextContent

from number_tower import catalogue
from number_tower.mcp.models import (
    GameOnOffer,
    Going,
    Help,
    LevelOnOffer,
    MoveWorth,
    Offer,
    OpenGames,
    Placed,
    Player,
    Result,
    State,
    Told,
    Truth,
)
from number_tower.mcp.wishes import OPPONENTS
from number_tower.prompt import numbers, rules_text, situation
from number_tower.record import to_line
from number_tower.rules import UNNAMED
from number_tower.voice import Voice

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import BaseModel

    from number_tower.coach.analysis import Analysis, Hinted
    from number_tower.mcp.games import Playing
    from number_tower.mcp.wishes import Sort
    from number_tower.solve.worth import Value

_MOST_TOLD = 60
"""Moves of a position that are told one by one; all of them stand in the values."""

_AGAIN = re.compile(r"(?:wins by force|wins|loses|leads to a draw)(?:[:;] (?P<more>.*)|,.*|)")
"""A reason that says again what a move is worth, and perhaps more."""

_WORDS: dict[Value | None, str] = {"win": "wins", "draw": "draws", "loss": "loses", None: "not known"}


def offer() -> CallToolResult:
    """Tell what can be played."""
    games = [
        GameOnOffer(name=book.name, title=book.title, summary=book.summary, options=list(book.options))
        for book in catalogue.games()
    ]
    levels = [LevelOnOffer(name=level.name, about=level.about) for level in OPPONENTS.values()]
    lines = ["The games:"]
    lines += [f"- {game.name}: {game.summary} Options: {', '.join(game.options) or 'none'}." for game in games]
    lines += ["Rules of your own can be played as well. The computer's levels:"]
    lines += [f"- {level.name}: {level.about}." for level in levels]
    return _answer(Offer(games=games, opponents=levels), "\n".join(lines))


def rules_of(sort: Sort, playing: Playing) -> CallToolResult:
    """Tell the rules of a game."""
    told = rules_text(playing.table, sort.book)
    answer = Told(title=sort.book.title, about=sort.book.about, sentences=told.split("\n"), rules=_written(playing))
    return _answer(answer, "\n".join(filter(None, (sort.book.title, sort.book.about, told))))


def state(playing: Playing, *heading: str, rules: bool = False) -> CallToolResult:
    """Tell how a game stands; with its rules if somebody is new to it."""
    table, voice = playing.table, Voice(playing.book)
    game, result = table.game, _result(playing)
    players = [
        Player(
            seat=seat + 1,
            name=voice.name(table, seat),
            computer=None if playing.opponent is None or seat == playing.seat else playing.opponent.name,
            tower=list(game.towers[seat]),
            height=game.heights[seat],
            left=None if (left := table.left(seat)) is None else list(left),
        )
        for seat in (0, 1)
    ]
    answer = State(
        id=playing.id,
        game=table.rulebook,
        rules=_written(playing),
        hidden=table.hidden,
        seed=playing.seed,
        players=players,
        moves=[Placed(seat=mover + 1, block=block) for mover, block in zip(game.movers, game.moves, strict=True)],
        to_move=None if result else game.to_move + 1,
        legal=list(table.legal) if playing.lists and table.legal is not None else None,
        result=result,
        record=to_line(table),
    )
    lines = [*heading, f"{playing.id}, {_called(playing)}. {_sides(players)}", playing.remark]
    lines += [rules_text(table, playing.book)] if rules else []
    lines += [situation(table, playing.book, legal=playing.lists)]
    again = f"Call move with the id {playing.id} and the block that you place."
    lines += [f"The game on one line: {answer.record}" if result else again]
    return _answer(answer, "\n".join(filter(None, lines)))


def opened(games: list[Playing]) -> CallToolResult:
    """List the games that are kept."""
    going = [
        Going(
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
        f"- {each.id}: {_called(playing)}, {each.moves} move{'' if each.moves == 1 else 's'}, "
        + (f"seat {each.to_move} is to move" if each.result is None else f"over: {_won(playing)}")
        for each, playing in zip(going, games, strict=True)
    ]
    return _answer(OpenGames(games=going), "\n".join(lines) or "No game is open; begin one with start_game.")


def helped(playing: Playing, hinted: Hinted) -> CallToolResult:
    """Give a hint."""
    answer = Help(id=playing.id, hints=list(hinted.texts), block=hinted.block, more=hinted.more)
    return _answer(answer, "\n".join(hinted.texts))


def truth(playing: Playing, analysis: Analysis, only: int | None) -> CallToolResult:
    """Tell what a position and its moves are worth: all of them, one of them, or none where they are not listed."""
    moves = None
    if playing.lists or only is not None:
        moves = [
            MoveWorth(block=each.block, value=each.value, plies=each.plies, reason=each.reason)
            for each in analysis.moves
            if only in {None, each.block}
        ]
    answer = Truth(
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
    lines = [analysis.verdict, *_lines(moves or []), analysis.note]
    if moves is None:
        lines.append("The moves are not listed in this game; give a block to hear about that one.")
    return _answer(answer, "\n".join(filter(None, lines)))


def over(playing: Playing) -> CallToolResult:
    """Tell who won, where there is nothing left to be worth something."""
    verdict = f"The game is over: {_won(playing)}."
    answer = Truth(
        id=playing.id, to_move=None, value=None, plies=0, result=_result(playing), verdict=verdict, method="", moves=[],
        note="",
    )  # fmt: skip
    return _answer(answer, verdict)


def _answer(answer: BaseModel, text: str) -> CallToolResult:
    content = [TextContent(type="text", text=text)]
    return CallToolResult(content=list(content), structured_content=answer.model_dump(mode="json"))


def _written(playing: Playing) -> dict[str, str | int]:
    written = playing.table.game.rules.written()
    return {key: value for key, value in written.items() if isinstance(value, str | int)}


def _result(playing: Playing) -> Result | None:
    outcome = playing.table.outcome
    if outcome is None:
        return None
    return Result(winner=None if outcome.winner is None else outcome.winner + 1, reason=outcome.reason)


def _won(playing: Playing) -> str:
    outcome = playing.table.outcome
    if outcome is None or outcome.winner is None:
        return "nobody has won"
    return f"{Voice(playing.book).name(playing.table, outcome.winner)} has won"


def _called(playing: Playing) -> str:
    return "rules of your own" if playing.table.rulebook == UNNAMED else playing.table.rulebook


def _sides(players: list[Player]) -> str:
    for player, other in (players, players[::-1]):
        if other.computer is not None:
            return f"You are {player.name}; {other.name} is the computer ({other.computer})."
    return f"You move for both, {players[0].name} and {players[1].name}."


def _lines(moves: list[MoveWorth]) -> Iterator[str]:
    """Tell of the first moves one by one, and of the rest, or those about which nothing is known, in one line each."""
    told = [move for move in moves[:_MOST_TOLD] if move.value is not None]
    for (value, plies, reason), alike in groupby(told, lambda move: (move.value, move.plies, move.reason)):
        blocks = sorted(move.block for move in alike)
        soon = "" if plies is None else f" in {plies:,}"
        each = "each " if len(blocks) > 1 else ""
        because = _because(reason)
        yield f"- {numbers(blocks)} ({each}{_WORDS[value]}{soon})" + (f": {because}" if because else "")
    for value, word in _WORDS.items():
        rest = sorted(move.block for move in moves[len(told) :] if move.value == value)
        if rest:
            yield f"- {'also ' if told and value else ''}{word}: {numbers(rest)}"


def _because(reason: str) -> str:
    """Give a reason without what has just been said."""
    again = _AGAIN.fullmatch(reason)
    if again is None:
        return reason and f"it {reason}"
    return again["more"] or ""
