"""`tower history` and `tower forget`: list the games in the database, and delete some of them."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from functools import partial

from number_tower import catalogue, record
from number_tower.cli import options
from number_tower.cli.console import add_row, create_table, render_table
from number_tower.cli.database import LazyStore, is_game_id, is_match_id
from number_tower.cli.errors import FINISHED, CommandError
from number_tower.cli.options import parse_count, parse_day
from number_tower.cli.play import format_label
from number_tower.cli.terminal import Terminal
from number_tower.record import json
from number_tower.store import matches
from number_tower.store.database import Store
from number_tower.store.games import DamagedEntry, GameFilter, GameInMatchError, list_games
from number_tower.store.matches import ListedMatch, StoredMatch
from number_tower.store.rows import StoredGame, is_timestamp
from number_tower.text import format_value, pluralize
from number_tower.voice import format_points, get_voice

_MAX_WIDTHS = {"game": 28, "players": 31}


# History -------------------------------------------------------------------------------------------------------------


def add_arguments(parser: options.CommandParser) -> None:
    """Describe the options of `tower history`."""
    parser.add_argument("--game", metavar="GAME", help="only this game")
    parser.add_argument("--player", metavar="NAME", help="only games of this player")
    parser.add_argument(
        "--result",
        choices=("won", "lost", "drawn", "finished", "unfinished"),
        help="only games with this result; won and lost go with --player",
    )
    parser.add_argument("--matches", action="store_true", help="list matches and their score, and not games")
    parser.add_argument("--since", type=parse_day, metavar="DATE", help="only games played on or after that day")
    parser.add_argument("--until", type=parse_day, metavar="DATE", help="only games played on or before that day")
    parser.add_argument(
        "--page", type=parse_count, default=1, metavar="N", help="the next games, counting pages from 1"
    )
    parser.add_argument("--count", type=parse_count, default=20, metavar="N", help="how many games make a page (20)")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of a table")
    options.add_db_option(parser)


def run(args: Namespace) -> int:
    """List games or matches, the last played first."""
    terminal = Terminal()
    if args.result in {"won", "lost"} and args.player is None:
        raise CommandError(f"--result {args.result}: by whom? Add --player NAME")
    store = LazyStore(args.db)
    if args.matches:
        return _list_matches(args, store, terminal)
    found, total = ((), 0) if store.missing else store.query(lambda database: _load_page(database, args), "game")
    if args.json:
        _print_json(args, total, games=[_game_to_json(game) for game in found])
    elif not total:
        terminal.show(f"{_describe_empty(args, store)}\n")
    elif not found:
        raise CommandError(f"--page {args.page}: there are only {-(-total // args.count)}")
    else:
        rows = [_format_row(game) for game in found]
        _show_table(terminal, ("id", "last move", "game", "players", "result"), rows)
        _show_page_number(terminal, args, total, "games")
    return FINISHED


def _print_json(args: Namespace, total: int, **entries: object) -> None:
    print(json.format_document({"total": total, "page": args.page, "count": args.count, **entries}), end="")


def _show_page_number(terminal: Terminal, args: Namespace, total: int, what: str) -> None:
    pages = -(-total // args.count)
    if pages > 1:
        after = f"; for more: --page {args.page + 1}" if args.page < pages else ""
        terminal.show(f"\nPage {args.page} of {pages}, {total:,} {what} in all{after}.\n")


def _list_matches(args: Namespace, store: LazyStore, terminal: Terminal) -> int:
    """List matches, the last played first."""
    if any((args.game, args.player, args.result, args.since, args.until)):
        raise CommandError("--matches lists all matches; the other filters are for games")

    def look_up(database: Store) -> tuple[tuple[ListedMatch, ...], int]:
        with database.read() as connection:
            return matches.list_matches(connection, args.count, (args.page - 1) * args.count)

    found, total = ((), 0) if store.missing else store.query(look_up, "match")
    if args.json:
        _print_json(args, total, matches=[_match_to_json(each) for each in found])
    elif not found:
        terminal.show(f"No matches are kept in {store.name} yet. To play one: tower match GAME\n")
    else:
        rows = [_format_match_row(each) for each in found]
        _show_table(terminal, ("id", "last move", "game", "players", "score", "result"), rows)
        _show_page_number(terminal, args, total, "matches")
    return FINISHED


def _format_match_row(listed: ListedMatch) -> tuple[str, ...]:
    saved, changed = listed.match, _format_time(listed.changed)
    if isinstance(saved, DamagedEntry):
        return f"m{saved.id}", changed, "(damaged)", "", "", saved.problem
    match, names = saved.series.match, _get_match_names(saved)
    result = f"best of {match.best_of}, unfinished"
    if match.over:
        result = "drawn" if match.leader is None else f"{names[match.leader]} won"
    score = " - ".join(str(format_points(points)) for points in match.score)
    label = ", ".join(dict.fromkeys(game.book.name for game in saved.series.games))
    return f"m{saved.id}", changed, label, " - ".join(names), score, result


def _get_match_names(saved: StoredMatch) -> tuple[str, str]:
    return saved.series.names or get_voice(saved.series.games[0].book).players


def _match_to_json(listed: ListedMatch) -> dict[str, object]:
    saved = listed.match
    if isinstance(saved, DamagedEntry):
        return {"id": f"m{saved.id}", "damaged": saved.problem}
    match = saved.series.match
    return {
        "id": f"m{saved.id}",
        "started": saved.started,
        "changed": listed.changed,
        "games": [game.book.name for game in saved.series.games],
        "best_of": match.best_of,
        "names": _get_match_names(saved),
        "players": saved.seats.players,
        "score": match.score,
        "over": match.over,
        "winner": match.leader + 1 if match.over and match.leader is not None else None,
    }


def _load_page(store: Store, args: Namespace) -> tuple[tuple[StoredGame | DamagedEntry, ...], int]:
    name, player = normalize_game_name(args.game), args.player and args.player.strip()
    wanted = GameFilter(name, player, args.result, _format_day(args.since), _format_day(args.until, 1))
    with store.read() as connection:
        return list_games(connection, wanted, args.count, (args.page - 1) * args.count)


def normalize_game_name(game: str | None) -> str | None:
    """Return the name in the database of a game that is given by its name or rule file."""
    if game is None or game.lower() in catalogue.list_names():
        return game and game.lower()
    return os.path.basename(game).removesuffix(".toml")


def _format_day(text: str | None, later: int = 0) -> str | None:
    """Return when a local day begins, as the database writes times; None for a day out of range."""
    if text is None:
        return None
    try:
        day = date.fromisoformat(text) + timedelta(days=later)
        start = datetime.combine(day, datetime.min.time()).astimezone(UTC)
    except (OverflowError, ValueError, OSError):
        return None
    return start.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _describe_empty(args: Namespace, store: LazyStore) -> str:
    if (args.game, args.player, args.result, args.since, args.until) == (None,) * 5:
        return f"No games are kept in {store.name} yet. To play one: tower play GAME"
    return "No such games are kept. To see all there are: tower history"


def _format_row(game: StoredGame | DamagedEntry) -> tuple[str, ...]:
    if isinstance(game, DamagedEntry):
        return str(game.id), "", "(damaged)", "", game.problem
    table = game.table
    label = format_label(table.book, table.game.rules, hidden=table.hidden) + (f", {game.slot}" if game.slot else "")
    return str(game.id), _format_time(game.changed), label, " - ".join(_get_player_names(game)), _format_result(game)


def _format_time(time: str) -> str:
    return f"{datetime.fromisoformat(time).astimezone():%Y-%m-%d %H:%M}" if is_timestamp(time) else ""


def _get_player_names(game: StoredGame) -> tuple[str, str]:
    voice = get_voice(game.table.book)
    return voice.get_name(game.table, 0), voice.get_name(game.table, 1)


def _format_result(game: StoredGame) -> str:
    outcome, plies = game.table.outcome, len(game.table.game.moves)
    if outcome is None:
        return f"unfinished, {plies} {pluralize('move', plies)}"
    if outcome.winner is None:
        return "abandoned" if outcome.reason == "abandoned" else f"drawn ({outcome.reason})"
    return f"{_get_player_names(game)[outcome.winner]} won ({outcome.reason})"


def _show_table(terminal: Terminal, heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    table = create_table(heads, ">" + "<" * (len(heads) - 1))
    for head, column in zip(heads, table.columns, strict=True):
        column.max_width = _MAX_WIDTHS.get(head)
        column.overflow = "ellipsis"
    for row in rows:
        add_row(table, *row)
    terminal.write(render_table(table, colour=terminal.colour))


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


def add_forget_arguments(parser: options.CommandParser) -> None:
    """Describe the options of `tower forget`."""
    parser.add_argument("ids", nargs="+", metavar="ID", help="a game's id, or a match's such as m3 (see `history`)")
    options.add_db_option(parser)


def run_forget(args: Namespace) -> int:
    """Delete games and matches, and print their lines, which bring them back."""
    for ref in args.ids:
        if not is_game_id(ref) and not is_match_id(ref):
            problem = f"expected a game's id, such as 12, or a match's, such as m3; got {format_value(ref)}"
            raise CommandError(problem)
    terminal, store = Terminal(), LazyStore(args.db)
    for ref in args.ids:
        if is_match_id(ref):
            games = store.query(partial(matches.delete_match, identity=int(ref[1:])), f"match {ref}")
            terminal.show(f"Match {ref} is forgotten. Its games were\n")
            for each in games:
                terminal.write(f"  {record.to_line(each.table, files=True)}\n")
            continue
        try:
            game = store.query(partial(Store.delete, identity=int(ref)), f"game {int(ref)}")
        except GameInMatchError as error:
            advice = f"to forget all of it: tower forget m{error.slot.match}{store.db_option}"
            raise CommandError(f"game {int(ref)} is part of a match; {advice}") from None
        line = "damaged" if game is None else record.to_line(game.table, files=True)
        terminal.write(f"Game {int(ref)} is forgotten. It was {line}\n")
    return FINISHED
