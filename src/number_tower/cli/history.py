"""What `tower history` and `tower forget` do: list the games that are kept, and drop some of them."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from number_tower import catalogue, record
from number_tower.cli.autosave import LazyStore
from number_tower.cli.errors import FINISHED, WRONG_CALL, CommandError
from number_tower.cli.refs import is_game_id, is_match_id, query_store
from number_tower.cli.terminal import Terminal, count_cells
from number_tower.record import json
from number_tower.store import matches
from number_tower.store.database import Store
from number_tower.store.games import DamagedEntry, GameFilter, GameInMatchError, list_games
from number_tower.store.rows import is_timestamp
from number_tower.text import format_value
from number_tower.voice import Voice, format_points

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from number_tower.store.games import GamePage
    from number_tower.store.matches import ListedMatch, StoredMatch
    from number_tower.store.rows import StoredGame

_WIDEST = {"game": 28, "players": 31}


# History -------------------------------------------------------------------------------------------------------------


def run_history(asked: Namespace) -> int:
    """List games, the last played first."""
    screen = Terminal()
    if asked.result in {"won", "lost"} and asked.player is None:
        raise CommandError(WRONG_CALL, f"--result {asked.result}: by whom? Add --player NAME")
    shelf = LazyStore(asked.db)
    if asked.matches:
        return _list_matches(asked, shelf, screen)
    found = None if shelf.missing else query_store(shelf, lambda store: _load_page(store, asked), "game")
    if asked.json:
        print(_page_to_json(found, asked), end="")
        return FINISHED
    if found is None or not found.total:
        screen.show(f"{_describe_empty(asked, shelf)}\n")
        return FINISHED
    pages = -(-found.total // asked.count)
    if not found.games:
        raise CommandError(WRONG_CALL, f"--page {asked.page}: there are only {pages}")
    _show_table(screen, ("id", "last move", "game", "players", "result"), [_format_row(game) for game in found.games])
    _show_page_number(screen, asked, found.total, "games")
    return FINISHED


def _show_page_number(screen: Terminal, asked: Namespace, total: int, what: str) -> None:
    pages = -(-total // asked.count)
    if pages > 1:
        after = f"; for more: --page {asked.page + 1}" if asked.page < pages else ""
        screen.show(f"\nPage {asked.page} of {pages}, {total:,} {what} in all{after}.\n")


def _list_matches(asked: Namespace, shelf: LazyStore, screen: Terminal) -> int:
    """List matches, the last played first."""
    if any((asked.game, asked.player, asked.result, asked.since, asked.until)):
        raise CommandError(WRONG_CALL, "--matches lists all matches; the other filters are for games")

    def look(store: Store) -> tuple[tuple[ListedMatch, ...], int]:
        with store.read() as connection:
            return matches.list_matches(connection, asked.count, (asked.page - 1) * asked.count)

    found, total = ((), 0) if shelf.missing else query_store(shelf, look, "match")
    if asked.json:
        entries = [_match_to_json(each) for each in found]
        print(
            json.format_document({"total": total, "page": asked.page, "count": asked.count, "matches": entries}), end=""
        )
    elif not found:
        screen.show(f"No matches are kept in {shelf.name} yet. To play one: tower match GAME\n")
    else:
        _show_table(
            screen,
            ("id", "last move", "game", "players", "score", "result"),
            [_format_match_row(each) for each in found],
        )
        _show_page_number(screen, asked, total, "matches")
    return FINISHED


def _format_match_row(listed: ListedMatch) -> tuple[str, ...]:
    kept = listed.match
    if isinstance(kept, DamagedEntry):
        return f"m{kept.id}", _format_time(listed.changed), "(damaged)", "", "", kept.problem
    series, match = kept.series, kept.series.match
    names = _get_match_names(kept)
    result = f"best of {match.best_of}, unfinished"
    if match.over:
        result = "drawn" if match.leader is None else f"{names[match.leader]} won"
    score = " - ".join(str(format_points(points)) for points in match.score)
    label = ", ".join(dict.fromkeys(entry.book.name for entry in series.games))
    return f"m{kept.id}", _format_time(listed.changed), label, " - ".join(names), score, result


def _get_match_names(kept: StoredMatch) -> tuple[str, str]:
    return kept.series.names or Voice(kept.series.games[0].book).players


def _match_to_json(listed: ListedMatch) -> dict[str, object]:
    kept = listed.match
    if isinstance(kept, DamagedEntry):
        return {"id": f"m{kept.id}", "damaged": kept.problem}
    match = kept.series.match
    return {
        "id": f"m{kept.id}",
        "started": kept.started,
        "changed": listed.changed,
        "games": [entry.book.name for entry in kept.series.games],
        "best_of": match.best_of,
        "names": _get_match_names(kept),
        "players": kept.seats.players,
        "score": match.score,
        "over": match.over,
        "winner": match.leader + 1 if match.over and match.leader is not None else None,
    }


def _load_page(store: Store, asked: Namespace) -> GamePage:
    with store.read() as connection:
        return list_games(connection, _read_filter(asked), asked.count, (asked.page - 1) * asked.count)


def _read_filter(asked: Namespace) -> GameFilter:
    player = asked.player and asked.player.strip()
    return GameFilter(
        normalize_game_name(asked.game), player, asked.result, _parse_day(asked.since), _parse_day(asked.until, 1)
    )


def normalize_game_name(given: str | None) -> str | None:
    """Return what a game that was asked for by its name or rule file is called in the database."""
    if given is None or given.lower() in catalogue.list_names():
        return given and given.lower()
    return os.path.basename(given).removesuffix(".toml")


def _parse_day(given: str | None, later: int = 0) -> str | None:
    """Return when a day begins where the player is, as the database writes times; at the ends of time, nothing."""
    if given is None:
        return None
    try:
        day = date.fromisoformat(given) + timedelta(days=later)
        begins = datetime.combine(day, datetime.min.time()).astimezone(UTC)
    except (OverflowError, ValueError, OSError):
        return None
    return begins.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _describe_empty(asked: Namespace, shelf: LazyStore) -> str:
    if (asked.game, asked.player, asked.result, asked.since, asked.until) == (None,) * 5:
        return f"No games are kept in {shelf.name} yet. To play one: tower play GAME"
    return "No such games are kept. To see all there are: tower history"


def _format_row(game: StoredGame | DamagedEntry) -> tuple[str, ...]:
    if isinstance(game, DamagedEntry):
        return str(game.id), "", "(damaged)", "", game.problem
    label = _format_label(game) + (f", {game.slot}" if game.slot else "")
    return str(game.id), _format_time(game.changed), label, " - ".join(_get_player_names(game)), _format_result(game)


def _format_time(time: str) -> str:
    return f"{datetime.fromisoformat(time).astimezone():%Y-%m-%d %H:%M}" if is_timestamp(time) else ""


def _format_label(game: StoredGame) -> str:
    options = game.book.find_options(game.table.game.rules) or {}
    chosen = [f"{key} {value}" for key, value in options.items()] + (["hidden"] if game.table.hidden else [])
    return f"{game.table.rulebook} ({', '.join(chosen)})" if chosen else game.table.rulebook


def _get_player_names(game: StoredGame) -> tuple[str, str]:
    voice = Voice(game.book)
    return voice.get_name(game.table, 0), voice.get_name(game.table, 1)


def _format_result(game: StoredGame) -> str:
    outcome, plies = game.table.outcome, len(game.table.game.moves)
    if outcome is None:
        return f"unfinished, {plies} move{'' if plies == 1 else 's'}"
    if outcome.winner is None:
        return "abandoned" if outcome.reason == "abandoned" else f"drawn ({outcome.reason})"
    return f"{_get_player_names(game)[outcome.winner]} won ({outcome.reason})"


def _show_table(screen: Terminal, heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Show rows in columns; what is too long for its column is cut."""
    table = [tuple(_shorten(text, _WIDEST.get(head)) for text, head in zip(row, heads, strict=True)) for row in rows]
    widths = [max(map(count_cells, column)) for column in zip(heads, *table, strict=True)]
    for row in (heads, *table):
        identity, *rest = (_pad(text, width) for text, width in zip(row, widths, strict=True))
        screen.show("  ".join((row[0].rjust(len(identity)), *rest)).rstrip() + "\n")


def _shorten(text: str, most: int | None) -> str:
    if most is None or count_cells(text) <= most:
        return text
    while count_cells(text) >= most:
        text = text[:-1]
    return f"{text}…"


def _pad(text: str, width: int) -> str:
    return text + " " * (width - count_cells(text))


def _page_to_json(found: GamePage | None, asked: Namespace) -> str:
    entries = [] if found is None else [_game_to_json(game) for game in found.games]
    total = 0 if found is None else found.total
    return json.format_document({"total": total, "page": asked.page, "count": asked.count, "games": entries})


def _game_to_json(game: StoredGame | DamagedEntry) -> dict[str, object]:
    if isinstance(game, DamagedEntry):
        return {"id": game.id, "damaged": game.problem}
    return {
        "id": game.id,
        "started": game.started,
        "changed": game.changed,
        "players": game.seats.players,
        "match": game.slot and {"id": game.slot.match, "number": game.slot.number},
        "version": game.table.version,
        "line": record.to_line(game.table, files=True),
        **json.make_document(game.table),
    }


# Forgetting ----------------------------------------------------------------------------------------------------------


def run_forget(asked: Namespace) -> int:
    """Drop games and matches, and say what they were: their lines bring them back."""
    for ref in asked.ids:
        if not is_game_id(ref) and not is_match_id(ref):
            raise CommandError(
                WRONG_CALL, f"expected a game's id, such as 12, or a match's, such as m3; got {format_value(ref)}"
            )
    screen = Terminal()
    shelf = LazyStore(asked.db)
    for ref in asked.ids:
        if is_match_id(ref):
            dropped = query_store(shelf, partial(matches.delete_match, identity=int(ref[1:])), f"match {ref}")
            screen.show(f"Match {ref} is forgotten. Its games were\n")
            for each in dropped:
                screen.write(f"  {record.to_line(each.table, files=True)}\n")
        else:
            try:
                game = query_store(shelf, partial(Store.delete, identity=int(ref)), f"game {int(ref)}")
            except GameInMatchError as within:
                whole = f"to forget all of it: tower forget m{within.slot.match}{shelf.db_option}"
                raise CommandError(WRONG_CALL, f"game {int(ref)} is part of a match; {whole}") from None
            was = "damaged" if game is None else record.to_line(game.table, files=True)
            screen.write(f"Game {int(ref)} is forgotten. It was {was}\n")
    return FINISHED
