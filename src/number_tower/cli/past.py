"""What `tower history` and `tower forget` do: list the games that are kept, and drop some of them."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from number_tower import catalogue, record
from number_tower.cli.failure import FINISHED, WRONG_CALL, Failure
from number_tower.cli.refs import is_id, is_match, sought
from number_tower.cli.screen import Screen, cells
from number_tower.cli.storing import Shelf
from number_tower.record import document
from number_tower.showing import shown
from number_tower.store import matches
from number_tower.store.games import InMatch, Store
from number_tower.store.history import Unreadable, Wanted, page
from number_tower.store.kept import is_time
from number_tower.voice import Voice, in_points

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from number_tower.store.history import Page
    from number_tower.store.kept import Kept
    from number_tower.store.matches import KeptMatch, Listed

_WIDEST = {"game": 28, "players": 31}


# History -------------------------------------------------------------------------------------------------------------


def history(asked: Namespace) -> int:
    """List games, the last played first."""
    screen = Screen()
    if asked.result in {"won", "lost"} and asked.player is None:
        raise Failure(WRONG_CALL, f"--result {asked.result}: by whom? Add --player NAME")
    shelf = Shelf(asked.db)
    if asked.matches:
        return _matches(asked, shelf, screen)
    found = None if shelf.absent else sought(shelf, lambda store: _page(store, asked), "game")
    if asked.json:
        print(_json(found, asked), end="")
        return FINISHED
    if found is None or not found.total:
        screen.show(f"{_none(asked, shelf)}\n")
        return FINISHED
    pages = -(-found.total // asked.count)
    if not found.games:
        raise Failure(WRONG_CALL, f"--page {asked.page}: there are only {pages}")
    _show(screen, ("id", "last move", "game", "players", "result"), [_row(game) for game in found.games])
    _say_where(screen, asked, found.total, "games")
    return FINISHED


def _say_where(screen: Screen, asked: Namespace, total: int, what: str) -> None:
    pages = -(-total // asked.count)
    if pages > 1:
        after = f"; for more: --page {asked.page + 1}" if asked.page < pages else ""
        screen.show(f"\nPage {asked.page} of {pages}, {total:,} {what} in all{after}.\n")


def _matches(asked: Namespace, shelf: Shelf, screen: Screen) -> int:
    """List matches, the last played first."""
    if any((asked.game, asked.player, asked.result, asked.since, asked.until)):
        raise Failure(WRONG_CALL, "--matches lists all matches; the other filters are for games")

    def look(store: Store) -> tuple[tuple[Listed, ...], int]:
        with store.looking() as connection:
            return matches.page(connection, asked.count, (asked.page - 1) * asked.count)

    found, total = ((), 0) if shelf.absent else sought(shelf, look, "match")
    if asked.json:
        entries = [_match_entry(each) for each in found]
        print(document.written({"total": total, "page": asked.page, "count": asked.count, "matches": entries}), end="")
    elif not found:
        screen.show(f"No matches are kept in {shelf.name} yet. To play one: tower match GAME\n")
    else:
        _show(screen, ("id", "last move", "game", "players", "score", "result"), [_match_row(each) for each in found])
        _say_where(screen, asked, total, "matches")
    return FINISHED


def _match_row(listed: Listed) -> tuple[str, ...]:
    kept = listed.match
    if isinstance(kept, Unreadable):
        return f"m{kept.id}", _shown(listed.changed), "(damaged)", "", "", kept.problem
    series, match = kept.series, kept.series.match
    names = _match_names(kept)
    result = f"best of {match.best_of}, unfinished"
    if match.over:
        result = "drawn" if match.leader is None else f"{names[match.leader]} won"
    score = " - ".join(str(in_points(points)) for points in match.score)
    label = ", ".join(dict.fromkeys(entry.book.name for entry in series.games))
    return f"m{kept.id}", _shown(listed.changed), label, " - ".join(names), score, result


def _match_names(kept: KeptMatch) -> tuple[str, str]:
    return kept.series.names or Voice(kept.series.games[0].book).players


def _match_entry(listed: Listed) -> dict[str, object]:
    kept = listed.match
    if isinstance(kept, Unreadable):
        return {"id": f"m{kept.id}", "damaged": kept.problem}
    match = kept.series.match
    return {
        "id": f"m{kept.id}",
        "started": kept.started,
        "changed": listed.changed,
        "games": [entry.book.name for entry in kept.series.games],
        "best_of": match.best_of,
        "names": _match_names(kept),
        "players": kept.seats.players,
        "score": match.score,
        "over": match.over,
        "winner": match.leader + 1 if match.over and match.leader is not None else None,
    }


def _page(store: Store, asked: Namespace) -> Page:
    with store.looking() as connection:
        return page(connection, _wanted(asked), asked.count, (asked.page - 1) * asked.count)


def _wanted(asked: Namespace) -> Wanted:
    player = asked.player and asked.player.strip()
    return Wanted(game_named(asked.game), player, asked.result, _day(asked.since), _day(asked.until, 1))


def game_named(given: str | None) -> str | None:
    """Return what a game that was asked for by its name or rule file is called in the database."""
    if given is None or given.lower() in catalogue.names():
        return given and given.lower()
    return os.path.basename(given).removesuffix(".toml")


def _day(given: str | None, later: int = 0) -> str | None:
    """Return when a day begins where the player is, as the database writes times; at the ends of time, nothing."""
    if given is None:
        return None
    try:
        day = date.fromisoformat(given) + timedelta(days=later)
        begins = datetime.combine(day, datetime.min.time()).astimezone(UTC)
    except (OverflowError, ValueError, OSError):
        return None
    return begins.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _none(asked: Namespace, shelf: Shelf) -> str:
    if (asked.game, asked.player, asked.result, asked.since, asked.until) == (None,) * 5:
        return f"No games are kept in {shelf.name} yet. To play one: tower play GAME"
    return "No such games are kept. To see all there are: tower history"


def _row(game: Kept | Unreadable) -> tuple[str, ...]:
    if isinstance(game, Unreadable):
        return str(game.id), "", "(damaged)", "", game.problem
    label = _label(game) + (f", {game.part}" if game.part else "")
    return str(game.id), _shown(game.changed), label, " - ".join(_players(game)), _result(game)


def _shown(time: str) -> str:
    return f"{datetime.fromisoformat(time).astimezone():%Y-%m-%d %H:%M}" if is_time(time) else ""


def _label(game: Kept) -> str:
    options = game.book.options_of(game.table.game.rules) or {}
    chosen = [f"{key} {value}" for key, value in options.items()] + (["hidden"] if game.table.hidden else [])
    return f"{game.table.rulebook} ({', '.join(chosen)})" if chosen else game.table.rulebook


def _players(game: Kept) -> tuple[str, str]:
    voice = Voice(game.book)
    return voice.name(game.table, 0), voice.name(game.table, 1)


def _result(game: Kept) -> str:
    outcome, plies = game.table.outcome, len(game.table.game.moves)
    if outcome is None:
        return f"unfinished, {plies} move{'' if plies == 1 else 's'}"
    if outcome.winner is None:
        return "abandoned" if outcome.reason == "abandoned" else f"drawn ({outcome.reason})"
    return f"{_players(game)[outcome.winner]} won ({outcome.reason})"


def _show(screen: Screen, heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Show rows in columns; what is too long for its column is cut."""
    table = [tuple(_cut(text, _WIDEST.get(head)) for text, head in zip(row, heads, strict=True)) for row in rows]
    widths = [max(map(cells, column)) for column in zip(heads, *table, strict=True)]
    for row in (heads, *table):
        identity, *rest = (_padded(text, width) for text, width in zip(row, widths, strict=True))
        screen.show("  ".join((row[0].rjust(len(identity)), *rest)).rstrip() + "\n")


def _cut(text: str, most: int | None) -> str:
    if most is None or cells(text) <= most:
        return text
    while cells(text) >= most:
        text = text[:-1]
    return f"{text}…"


def _padded(text: str, width: int) -> str:
    return text + " " * (width - cells(text))


def _json(found: Page | None, asked: Namespace) -> str:
    entries = [] if found is None else [_entry(game) for game in found.games]
    total = 0 if found is None else found.total
    return document.written({"total": total, "page": asked.page, "count": asked.count, "games": entries})


def _entry(game: Kept | Unreadable) -> dict[str, object]:
    if isinstance(game, Unreadable):
        return {"id": game.id, "damaged": game.problem}
    return {
        "id": game.id,
        "started": game.started,
        "changed": game.changed,
        "players": game.seats.players,
        "match": game.part and {"id": game.part.match, "number": game.part.number},
        "version": game.table.version,
        "line": record.to_line(game.table, game.book),
        **document.document(game.table),
    }


# Forgetting ----------------------------------------------------------------------------------------------------------


def forget(asked: Namespace) -> int:
    """Drop games and matches, and say what they were: their lines bring them back."""
    for ref in asked.ids:
        if not is_id(ref) and not is_match(ref):
            raise Failure(WRONG_CALL, f"expected a game's id, such as 12, or a match's, such as m3; got {shown(ref)}")
    screen = Screen()
    shelf = Shelf(asked.db)
    for ref in asked.ids:
        if is_match(ref):
            dropped = sought(shelf, partial(matches.forget, identity=int(ref[1:])), f"match {ref}")
            screen.show(f"Match {ref} is forgotten. Its games were\n")
            for each in dropped:
                screen.draw(f"  {record.to_line(each.table, each.book)}\n")
        else:
            try:
                game = sought(shelf, partial(Store.forget, identity=int(ref)), f"game {int(ref)}")
            except InMatch as within:
                whole = f"to forget all of it: tower forget m{within.part.match}{shelf.options}"
                raise Failure(WRONG_CALL, f"game {int(ref)} is part of a match; {whole}") from None
            was = "damaged" if game is None else record.to_line(game.table, game.book)
            screen.draw(f"Game {int(ref)} is forgotten. It was {was}\n")
    return FINISHED
