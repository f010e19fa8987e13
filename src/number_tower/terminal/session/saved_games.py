"""Saved games in words, for lists: the game, when it was played, by whom, the result."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from number_tower.store import matches
from number_tower.store.games import DamagedEntry, GameFilter, list_games
from number_tower.store.rows import StoredGame, is_timestamp
from number_tower.support.text import format_count
from number_tower.words.brief import format_label
from number_tower.words.endings import label_ending
from number_tower.words.voice import get_voice

if TYPE_CHECKING:
    from number_tower.store.database import Store
    from number_tower.store.matches import StoredMatch


def list_unfinished(store: Store, count: int) -> tuple[StoredGame, ...]:
    """Return the unfinished games that were played last."""
    with store.read() as connection:
        games, _ = list_games(connection, GameFilter(result="unfinished"), count)
    return tuple(game for game in games if not isinstance(game, DamagedEntry))


def find_open_match(store: Store) -> StoredMatch | None:
    """Return the undecided match that was left last, if it was left between two games."""
    unfinished = matches.find_unfinished_match(store)
    if unfinished is None:
        return None
    match = matches.get_match(store, unfinished.id)
    return None if match.current is not None or match.series.match.over else match


def describe_match(match: StoredMatch) -> str:
    """Return an undecided match in one line: what, by whom, and the score."""
    series = match.series
    label = ", ".join(dict.fromkeys(game.book.name for game in series.games))
    names = series.names or get_voice(series.games[0].book).players
    score = " - ".join(f"{points:g}" for points in series.match.score)
    match_text = f"{label}, match m{match.id}, {' - '.join(names)}"
    return f"{match_text}: {score}, next is game {series.match.number}"


def describe_game(game: StoredGame) -> str:
    """Return a saved game in one line: what, by whom, and how it stands."""
    return f"{label_game(game)}, {' - '.join(get_player_names(game))}: {format_result(game)}"


def label_game(game: StoredGame) -> str:
    """Return the name of the game with its options, and its place in a match."""
    table = game.table
    label = format_label(table.book, table.game.rules, hidden=table.hidden)
    return f"{label}, {game.slot}" if game.slot else label


def format_local_time(time: str) -> str:
    """Return a stored time as a clock here shows it."""
    if not is_timestamp(time):
        return ""
    return f"{datetime.fromisoformat(time).astimezone():%Y-%m-%d %H:%M}"


def get_player_names(game: StoredGame) -> tuple[str, str]:
    """Return the names of both players."""
    voice = get_voice(game.table.book)
    return voice.get_name(game.table, 0), voice.get_name(game.table, 1)


def format_result(game: StoredGame) -> str:
    """Return who won and how, or the number of moves; and whether players saw the values."""
    outcome = game.table.outcome
    if outcome is None:
        result = f"unfinished, {format_count(len(game.table.game.moves), 'move')}"
    else:
        result = label_ending(outcome, get_player_names(game))
    return f"{result}{', with values' if game.with_values else ''}"
