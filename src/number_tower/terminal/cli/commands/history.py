"""`tower history`: list the games and matches in the database."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta

from number_tower.engine import record
from number_tower.engine.record import json
from number_tower.store import matches
from number_tower.store.database import Store
from number_tower.store.games import DamagedEntry, GameFilter, list_games
from number_tower.store.matches import ListedMatch, StoredMatch
from number_tower.store.rows import StoredGame, format_time
from number_tower.terminal.cli import CommandError, CommandParser, Terminal
from number_tower.terminal.cli.console import format_table
from number_tower.terminal.cli.database import LazyStore, normalize_game_name
from number_tower.terminal.cli.options import parse_day
from number_tower.terminal.session.saved_games import (
    format_local_time,
    format_result,
    get_player_names,
    label_game,
)
from number_tower.words.voice import format_points, get_voice

Entry = ListedMatch | StoredGame | DamagedEntry


def add_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower history`."""
    parser.add_example("tower history --player Ann --result won", "the games that Ann won")
    parser.add_example("tower history --matches", "your matches and their scores")
    parser.add_value("--game", "GAME", "only this game")
    parser.add_value("--player", "NAME", "only games of this player")
    parser.add_argument(
        "--result",
        choices=("won", "lost", "drawn", "finished", "unfinished"),
        help="only games with this result; won and lost need --player",
    )
    parser.add_flag("--matches", "list matches and their scores instead of games")
    parser.add_value("--since", "DATE", "only games played on DATE or later", type=parse_day)
    parser.add_value("--until", "DATE", "only games played on DATE or earlier", type=parse_day)
    parser.add_count("--page", "the page to show (1)", default=1)
    parser.add_count("--count", "how many games to show on a page (20)", default=20)
    parser.add_flag("--json", "print one JSON document instead of a table")
    parser.add_db_option()


def run(args: Namespace, terminal: Terminal) -> None:
    """List games or matches, the last played first."""
    filters = (args.game, args.player, args.result, args.since, args.until)
    if args.result in {"won", "lost"} and args.player is None:
        raise CommandError(f"--result {args.result}: by whom? Add --player NAME")
    if args.matches and any(filters):
        raise CommandError(
            "--matches lists all matches; leave out the filters, which are for games"
        )
    store, what = LazyStore(args.db), "matches" if args.matches else "games"
    entries: Sequence[Entry] = ()
    total = 0
    if not store.missing:
        entries, total = store.query(lambda opened: _load_page(opened, args), "game")
    pages = -(-total // args.count)
    if args.json:
        listed = list(map(_to_dict, entries))
        document = {"total": total, "page": args.page, "count": args.count, what: listed}
        print(json.format_document(document), end="")
    elif not total and any(filters):
        terminal.show("No games match. To list all games: tower history\n")
    elif not total:
        call = f"tower {'match' if args.matches else 'play'} GAME"
        terminal.show(f"No {what} are saved in {store.name} yet. To play one: {call}\n")
    elif not entries:
        only = "is only 1 page" if pages == 1 else f"are only {pages} pages"
        raise CommandError(f"--page {args.page}: there {only}")
    else:
        heads = ["id", "last move", "game", "players", "result"]
        if args.matches:
            heads.insert(-1, "score")
        rows = map(_format_row, entries)
        colour, width = terminal.colour, terminal.columns
        alignment = ">" + "<" * (len(heads) - 1)
        terminal.write(format_table(heads, alignment, rows, colour=colour, width=width))
        if pages > 1:
            after = f"; next page: --page {args.page + 1}" if args.page < pages else ""
            terminal.show(f"\nPage {args.page} of {pages}, {total:,} {what} in all{after}.\n")


def _load_page(store: Store, args: Namespace) -> tuple[Sequence[Entry], int]:
    name, player = normalize_game_name(args.game), args.player and args.player.strip()
    since, until = _format_day(args.since), _format_day(args.until, 1)
    wanted = GameFilter(name, player, args.result, since, until)
    skip = (args.page - 1) * args.count
    with store.read() as connection:
        if args.matches:
            return matches.list_matches(connection, args.count, skip)
        return list_games(connection, wanted, args.count, skip)


def _format_row(entry: Entry) -> tuple[str, ...]:
    if isinstance(entry, DamagedEntry):
        return str(entry.id), "", "(damaged)", "", entry.problem
    if isinstance(entry, StoredGame):
        players = " - ".join(get_player_names(entry))
        changed, label = format_local_time(entry.changed), label_game(entry)
        return str(entry.id), changed, label, players, format_result(entry)
    saved, changed = entry.match, format_local_time(entry.changed)
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


def _to_dict(entry: Entry) -> dict[str, object]:
    if isinstance(entry, DamagedEntry):
        return {"id": entry.id, "damaged": entry.problem}
    if isinstance(entry, StoredGame):
        return {
            "id": entry.id,
            "started": entry.started,
            "changed": entry.changed,
            "players": entry.seats.players,
            "match": entry.slot and {"id": entry.slot.match, "number": entry.slot.number},
            "version": entry.table.version,
            "with_values": entry.with_values,
            "line": record.to_line(entry.table, files=True),
            **json.make_document(entry.table),
        }
    saved = entry.match
    if isinstance(saved, DamagedEntry):
        return {"id": f"m{saved.id}", "damaged": saved.problem}
    match = saved.series.match
    return {
        "id": f"m{saved.id}",
        "started": saved.started,
        "changed": entry.changed,
        "games": [game.book.name for game in saved.series.games],
        "best_of": match.best_of,
        "names": _get_match_names(saved),
        "players": saved.seats.players,
        "score": match.score,
        "over": match.over,
        "winner": match.leader + 1 if match.over and match.leader is not None else None,
    }


def _format_day(text: str | None, later: int = 0) -> str | None:
    """Return when a local day begins, as the database writes times; None for a day out of range."""
    if text is None:
        return None
    try:
        day = date.fromisoformat(text) + timedelta(days=later)
        start = datetime.combine(day, datetime.min.time()).astimezone(UTC)
    except (OverflowError, ValueError, OSError):
        return None
    return format_time(start)
