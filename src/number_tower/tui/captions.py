"""What the board says in words: the game, whose turn it is, the opponent's blocks, and the log."""

from __future__ import annotations

from number_tower.brief import describe_height, has_height
from number_tower.session.game import GameSession
from number_tower.table import Table
from number_tower.text import summarize_numbers
from number_tower.voice import SPECTATOR, narrate

MOST_LOG = 200
"""Messages of the log that are shown."""


def format_heading(session: GameSession, *, counted: bool, values: bool) -> str:
    """Return the title, and the score of a match; `counted` says whether this game is part of it already."""
    course, table = session.course, session.table
    title = f"{table.book.title}{' (with values)' if values else ''}"
    if course is None:
        return title
    standing, _ = course.describe("score" if counted else "game")
    score = course.series.match.score
    names = [session.voice.get_name(table, seat) for seat in (0, 1)]
    which = f"{'after game' if counted else 'game'} {standing.number}"
    return f"{title}\nBest of {standing.best_of}, {which}: {names[0]} {score[0]:g}, {names[1]} {score[1]:g}"


def format_turn(session: GameSession) -> str:
    """Say whose turn it is, or how the game ended."""
    table, game, voice = session.table, session.table.game, session.voice
    if table.outcome is not None:
        return "".join(message.text for message in voice.tell(table) if message.kind == "end").strip()
    name = voice.address(table, game.to_move)
    if session.computer is not None:
        return f"{name} is thinking ..."
    turn = "Your turn" if name == "You" else f"{name}'s turn"
    if not has_height(game.rules):
        return f"{turn}."
    own = "your tower" if name == "You" else f"{name}'s tower"
    tower = "the tower" if game.rules.towers == "shared" else own
    return f"{turn}: {describe_height(game, game.to_move, tower)}."


def format_opponent(table: Table, seat: int, names: tuple[str, str]) -> str:
    """Say which blocks the other player has left, where that can be seen and is not the same for both."""
    left = table.left(1 - seat)
    if left is None or table.game.rules.supply != "own" or table.outcome is not None:
        return ""
    return f"{names[1 - seat]} has left: {summarize_numbers(left, ' ') or 'none'}"


def list_messages(session: GameSession, *, coin_tossed: bool) -> list[str]:
    """Return the log, a line for each event."""
    reader = SPECTATOR if session.reader.shared else session.reader
    messages = list(narrate(session.table, reader=reader, turns=False))
    if coin_tossed:
        messages.insert(1, session.voice.tell_toss(session.table))
    texts = (" ".join(message.text.split()) for message in messages[-MOST_LOG:] if message.kind != "start")
    return [text for text in texts if text]
