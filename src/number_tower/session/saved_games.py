"""Saved games in words, for lists: the game with its options, when it was played, by whom, and the result."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from number_tower.brief import format_label
from number_tower.store import matches
from number_tower.store.games import DamagedEntry, GameFilter, list_games
from number_tower.store.rows import StoredGame, is_timestamp
from number_tower.text import pluralize
from number_tower.voice import get_voice

if TYPE_CHECKING:
    from number_tower.store.database import Store
    from number_tower.store.matches import StoredMatch


def list_unfinished(store: Store, count: int) -> tuple[StoredGame, ...]:
    """Return the unfinished games that were played last."""
    with store.read() as connection:
        found, _ = list_games(connection, GameFilter(result="unfinished"), count)
    return tuple(game for game in found if not isinstance(game, DamagedEntry))


def find_open_match(store: Store) -> StoredMatch | None:
    """Return the undecided match that was left last, if it was left between two games."""
    found = matches.find_unfinished_match(store)
    match = None if found is None else matches.get_match(store, found.id)
    return None if match is None or match.current is not None or match.series.match.over else match


def describe_match(match: StoredMatch) -> str:
    """Return an undecided match in one line: what, by whom, and the score."""
    series = match.series
    label = ", ".join(dict.fromkeys(game.book.name for game in series.games))
    names = series.names or get_voice(series.games[0].book).players
    score = " - ".join(f"{points:g}" for points in series.match.score)
    return f"{label}, match m{match.id}, {' - '.join(names)}: {score}, next is game {series.match.number}"


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
    return (
        f"{datetime.fromisoformat(time).astimezone():%Y-%m-%d %H:%M}" if is_timestamp(time) else ""
    )


def get_player_names(game: StoredGame) -> tuple[str, str]:
    """Return the names of both players."""
    voice = get_voice(game.table.book)
    return voice.get_name(game.table, 0), voice.get_name(game.table, 1)


def format_result(game: StoredGame, *, short: bool = False) -> str:
    """Return who won and how, or how many moves were made; and whether the players saw the values of the moves.

    A `short` text names only the winner.
    """
    return f"{_describe_result(game, short=short)}{', with values' if game.with_values else ''}"


def _describe_result(game: StoredGame, *, short: bool) -> str:
    outcome, plies = game.table.outcome, len(game.table.game.moves)
    if outcome is None:
        return f"unfinished, {plies} {pluralize('move', plies)}"
    if outcome.winner is None:
        return "abandoned" if outcome.reason == "abandoned" else f"drawn ({outcome.reason})"
    names, position = get_player_names(game), game.table.game.position
    winner, loser = names[outcome.winner], names[1 - outcome.winner]
    how = {
        "exact": f"exactly {position.rules.target}",
        "stuck": "placed last" if short else f"{loser} was stuck",
        "higher": f"{position.heights[outcome.winner]} to {position.heights[1 - outcome.winner]}",
        "resigned": "by resignation" if short else f"{loser} resigned",
        "forfeit": "by forfeit" if short else f"{loser} forfeited",
    }
    return f"{winner} won ({how[outcome.reason]})"
