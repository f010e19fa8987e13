"""`tower stats`: results, accuracy, streaks and puzzles, as tables with small bars, or as JSON."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from difflib import SequenceMatcher
from time import monotonic

from rich.cells import set_cell_size

from number_tower.cli.console import MAX_WIDTH, format_table, show_progress
from number_tower.cli.database import LazyStore
from number_tower.cli.errors import CommandError, print_error, rearm_interrupt
from number_tower.cli.options import CommandParser
from number_tower.cli.terminal import SEAT_COLOURS, VALUE_COLOURS, Terminal, count_cells, paint
from number_tower.coach.review import IMPORTANT, Accuracy
from number_tower.match import Tally
from number_tower.store import StoreError, statistics
from number_tower.store.database import Store
from number_tower.store.statistics import Period, ResultsByGame, Statistics
from number_tower.text import format_count, format_text, format_value, pluralize

PATIENCE = 60.0
"""Seconds that games are judged for before the tables are shown; another call continues with the rest."""

MOST_PLAYERS = 20
"""Players in the table; the JSON has them all."""

BAR_WIDTH = 20
"""Characters of a bar where there is room for it."""

_SHORTEST_BAR = 5
"""Characters of the shortest bar that is shown."""

_MOST_NAMES = 10
_LONGEST_NAME = 20
"""Columns of a terminal that a name may take."""


def add_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower stats`."""
    parser.add_examples(
        ("tower stats", "everybody and every game"),
        ("tower stats Ann", "only Ann: results, accuracy and puzzles"),
    )
    parser.add_value("name", "NAME", "show only this player's results", nargs="?")
    parser.add_flag("--json", "print one JSON document instead of bars")
    parser.add_db_option()


def run(args: Namespace, terminal: Terminal) -> None:
    """Judge the games that were not judged yet, and print the statistics."""
    store = LazyStore(args.db)
    name = None if args.name is None else args.name.strip()
    found, stopped = Statistics(name), False
    if not store.missing:
        found, stopped = store.query(lambda database: _load_statistics(database, name), "game")
    if args.json:
        _print_json(found)
    elif found.empty:
        terminal.show("No games are saved yet. To play one: tower play GAME\n")
    else:
        _print_text(found, terminal)
        if found.unjudged:
            games = (
                "1 finished game is"
                if found.unjudged == 1
                else f"{found.unjudged:,} finished games are"
            )
            missing = f"{'Stopped: ' if stopped else ''}{games} not included in the accuracy yet."
            terminal.show(f"\n{missing}\nContinue with: tower stats{store.db_option}\n")


def _load_statistics(store: Store, name: str | None) -> tuple[Statistics, bool]:
    """Return the statistics, and whether Ctrl-C stopped the judging before."""
    stopped = _judge_games(store, name)
    with store.read() as connection:
        found = statistics.compute_statistics(connection, name)
        if found.empty and name is not None:
            _check_name(name, statistics.list_names(connection))
        return found, stopped


def _check_name(name: str, known: Sequence[str]) -> None:
    """Refuse an unknown name, unless no names are known."""
    if not known:
        return
    nearest = sorted(
        known, key=lambda each: -SequenceMatcher(None, name.casefold(), each.casefold()).ratio()
    )
    listed = ", ".join(format_text(each, 40) for each in nearest[:_MOST_NAMES])
    more = f" and {len(known) - _MOST_NAMES:,} more" if len(known) > _MOST_NAMES else ""
    raise CommandError(f"no player is called {format_value(name)}; the players are {listed}{more}")


def _judge_games(store: Store, name: str | None) -> bool:
    """Judge games for a while; say whether Ctrl-C stopped it."""
    deadline = monotonic() + PATIENCE
    try:
        with (
            show_progress("games", "shows what is known so far") as update,
            closing(
                statistics.judge_games(store, None if name is None else name.casefold())
            ) as progress,
        ):
            for done, total in progress:
                update(done, total)
                if monotonic() > deadline:
                    break
    except KeyboardInterrupt:
        rearm_interrupt()
        return True
    except StoreError as error:
        print_error(f"{error}. The accuracies cannot be saved there")
    return False


# Text ----------------------------------------------------------------------------------------------------------------


BarRow = tuple[tuple[str | int, ...], tuple[int, ...]]
"""A row of a table: its texts and numbers, and the parts of its bar."""

_WON, _DRAWN, _LOST = VALUE_COLOURS["win"], VALUE_COLOURS["draw"], VALUE_COLOURS["loss"]
_SHARE = {"#": _WON, ".": _LOST}
_RESULTS = {"#": _WON, "=": _DRAWN, ".": _LOST}
_SEATS = {"#": SEAT_COLOURS[0], "=": _DRAWN, ".": SEAT_COLOURS[1]}
"""For each part of a bar its mark, and the colour of the mark."""


def _print_text(found: Statistics, terminal: Terminal) -> None:
    terminal.show_heading(f"{_format_headline(found)}\n")
    if found.name is None:
        _print_players(found, terminal)
        _print_games(found, terminal)
    else:
        _print_results(found, terminal)
    _print_accuracy(found, terminal)
    _print_streak(found, terminal)
    _print_puzzles(found, terminal)


def _format_headline(found: Statistics) -> str:
    who = "Everybody"
    if found.name is not None:
        kinds = " and ".join(standing.kind for standing in found.players)
        who = format_text(found.name) + (f" ({kinds})" if kinds else "")
    left = f", and {found.unfinished:,} unfinished" if found.unfinished else ""
    return f"{who}: {format_count(found.finished, 'finished game')}{left}."


def _print_players(found: Statistics, terminal: Terminal) -> None:
    rows = [
        (
            (_shorten_name(each.name), each.kind, each.tally.games, *each.tally),
            _split_accuracy(each.accuracy),
        )
        for each in found.players[:MOST_PLAYERS]
    ]
    _print_table(
        ("Players", "", "games", "won", "drawn", "lost", "accuracy"), rows, _SHARE, terminal
    )
    if len(found.players) > MOST_PLAYERS:
        terminal.show(f"  and {len(found.players) - MOST_PLAYERS:,} more\n")
    if found.among_computers:
        terminal.show(
            f"  {format_count(found.among_computers, 'game')} without a person: counted only here\n"
        )


def _print_games(found: Statistics, terminal: Terminal) -> None:
    rows: list[BarRow] = []
    for each in found.results:
        share = _format_percent(each.began.won, each.began.games)
        rows.append(
            ((_shorten_name(each.game), share, each.seats[0].games, *each.seats[0]), each.seats[0])
        )
    _print_table(
        ("By game", "starter won", "games", "seat 1", "drawn", "seat 2", ""), rows, _SEATS, terminal
    )
    if rows:
        terminal.show(f"  # seat 1 won   = drawn   . seat 2 won\n{_describe_abandoned(found)}")


def _print_results(found: Statistics, terminal: Terminal) -> None:
    rows = [row for each in found.results for row in _list_seat_rows(each)]
    began, second = (
        Tally.add_up(getattr(each, turn) for each in found.results) for turn in ("began", "second")
    )
    if began.games and second.games:
        rows += [
            _format_result("all games, started", began),
            _format_result("all games, second", second),
        ]
    _print_table(("Results", "games", "won", "drawn", "lost", "won"), rows, _RESULTS, terminal)
    if rows:
        terminal.show(f"  # won   = drawn   . lost\n{_describe_abandoned(found)}")


def _list_seat_rows(ground: ResultsByGame) -> Iterator[BarRow]:
    """Write the results in one game, and beneath them those in each seat; all in one seat make one line."""
    game, played = (
        _shorten_name(ground.game),
        [seat for seat, tally in enumerate(ground.seats, 1) if tally.games],
    )
    if len(played) == 1:
        yield _format_result(f"{game}, seat {played[0]}", ground.seats[played[0] - 1])
        return
    yield _format_result(game, Tally.add_up(ground.seats))
    for seat, tally in enumerate(ground.seats, 1):
        yield _format_result(f"  seat {seat}", tally)


def _format_result(label: str, tally: Tally) -> BarRow:
    return (label, tally.games, *tally), tally


def _describe_abandoned(found: Statistics) -> str:
    return (
        f"  {format_count(found.abandoned, 'game')} abandoned: counted as drawn\n"
        if found.abandoned
        else ""
    )


def _print_accuracy(found: Statistics, terminal: Terminal) -> None:
    periods = list(found.periods)
    if found.by == "games":
        periods = [
            each._replace(label=f"{pluralize('game', each.games)} {each.label}") for each in periods
        ]
    if len(periods) > 1:
        periods.append(Period("total", sum(each.games for each in periods), found.accuracy))
    rows = [
        ((each.label, each.games, each.accuracy.mattered), _split_accuracy(each.accuracy))
        for each in periods
    ]
    title = "Accuracy" if found.name else "People's accuracy"
    _print_table((title, "games", "important", "right"), rows, _SHARE, terminal)
    if rows:
        terminal.show(f"  {IMPORTANT}\n")


def _print_streak(found: Statistics, terminal: Terminal) -> None:
    if not found.finished:
        return
    best, by, current = found.streak
    if not best:
        terminal.show("\nBest streak: no game won yet.\n")
        return
    more = (
        f", by {format_text(by or '')}."
        if found.name is None
        else f". Current streak: {current:,}."
    )
    terminal.show(
        f"\nBest streak: {format_count(best, 'win')}{' in a row' if best > 1 else ''}{more}\n"
    )


def _print_puzzles(found: Statistics, terminal: Terminal) -> None:
    rows: list[BarRow] = []
    for each in found.puzzles:
        cells = (f"grade {each.grade}", each.tried, each.right, each.wrong, each.skipped)
        rows.append((cells, (each.right, each.tried - each.right)))
    _print_table(
        ("Puzzles", "tried", "right", "wrong", "skipped", "solved"), rows, _SHARE, terminal
    )


def _print_table(
    heads: tuple[str, ...], rows: Sequence[BarRow], marks: Mapping[str, str], terminal: Terminal
) -> None:
    """Print a table, if it has rows; the bars have the room that the other columns leave.

    The last head is that of the bars; with a head, their first part is also written in percent.
    """
    if not rows:
        return
    bare = _format_bars(heads, rows, marks, 0)
    room = min(MAX_WIDTH, terminal.columns) - max(map(count_cells, bare.splitlines())) - 4
    size = min(BAR_WIDTH, room) if room >= max(_SHORTEST_BAR, len(heads[-1]) - 2) else 0
    terminal.write(
        f"\n{_format_bars(heads, rows, marks, size, colour=terminal.colour, width=terminal.columns)}"
    )


def _format_bars(
    heads: tuple[str, ...],
    rows: Sequence[BarRow],
    marks: Mapping[str, str],
    size: int,
    *,
    colour: bool = False,
    width: int = sys.maxsize,
) -> str:
    *titles, bar_head = heads
    cells = []
    for (label, *others), parts in rows:
        bar = draw_bar(parts, marks, size, colour=colour) if size and any(parts) else ""
        share = _format_percent(parts[0], sum(parts)) if bar_head else ""
        figures = (cell if isinstance(cell, str) else f"{cell:,}" for cell in others)
        cells.append((f"  {label}", *figures, *[bar] * bool(size), share))
    sides = "".join("<" if not head or not place else ">" for place, head in enumerate(titles))
    bars = [bar_head] * bool(size)
    return format_table(
        (*titles, *bars, ""), f"{sides}{'<' * len(bars)}>", cells, colour=colour, width=width
    )


def draw_bar(
    parts: Sequence[int], marks: Mapping[str, str], width: int, *, colour: bool = False
) -> str:
    """Draw a bar in which each part is as long as its share, with a mark and a colour of its own."""
    pieces = [mark * size for mark, size in zip(marks, split_width(parts, width), strict=True)]
    if colour:
        pieces = [paint(piece, code) for piece, code in zip(pieces, marks.values(), strict=True)]
    return f"[{''.join(pieces)}]"


def split_width(parts: Sequence[int], width: int) -> list[int]:
    """Return how many characters each part of a bar gets: its share, but at least one if there is any of it."""
    whole = sum(parts) or 1
    sizes = [max(part * width // whole, bool(part)) for part in parts]
    while any(parts) and (left := width - sum(sizes)):
        step = 1 if left > 0 else -1
        places = [
            place for place, size in enumerate(sizes) if parts[place] and (step > 0 or size > 1)
        ]
        sizes[
            max(places, key=lambda place: step * (parts[place] * width - sizes[place] * whole))
        ] += step
    return sizes


def _shorten_name(name: str) -> str:
    """Return a name that fits into its column."""
    name = format_text(name)
    return (
        name
        if count_cells(name) <= _LONGEST_NAME
        else f"{set_cell_size(name, _LONGEST_NAME - 3).rstrip()}..."
    )


def _split_accuracy(accuracy: Accuracy) -> tuple[int, int]:
    return accuracy.kept, accuracy.mattered - accuracy.kept


def _format_percent(part: int, whole: int) -> str:
    """Write a share; all is only what is all, and nothing only what is nothing."""
    if not whole:
        return "-"
    return f"{min(max(round(100 * part / whole), int(part > 0)), 100 - (part < whole))}%"


# JSON ----------------------------------------------------------------------------------------------------------------


def _print_json(found: Statistics) -> None:
    document = {
        "player": found.name,
        "games": {
            "finished": found.finished,
            "unfinished": found.unfinished,
            "abandoned": found.abandoned,
            "among_computers": found.among_computers,
            "unjudged": found.unjudged,
        },
        "players": [
            {
                "name": each.name,
                "kind": each.kind,
                "unfinished": each.unfinished,
                **_tally_to_json(each.tally),
                "accuracy": {"judged": each.judged, **_accuracy_to_json(each.accuracy)},
            }
            for each in found.players
        ],
        "results": [
            {
                "game": each.game,
                "seats": [
                    {"seat": seat, **_tally_to_json(tally)}
                    for seat, tally in enumerate(each.seats, 1)
                ],
                "began": _tally_to_json(each.began),
                "second": _tally_to_json(each.second),
            }
            for each in found.results
        ],
        "accuracy": {
            **_accuracy_to_json(found.accuracy),
            "by": found.by,
            "over_time": [
                {"when": span.label, "games": span.games, **_accuracy_to_json(span.accuracy)}
                for span in found.periods
            ],
        },
        "streak": found.streak._asdict(),
        "puzzles": [
            {"grade": each.grade, "tried": each.tried, **each._asdict()} for each in found.puzzles
        ],
    }
    print(json.dumps(document, ensure_ascii=False))


def _tally_to_json(tally: Tally) -> dict[str, int]:
    return {"games": tally.games, **tally._asdict()}


def _accuracy_to_json(accuracy: Accuracy) -> dict[str, object]:
    return {"mattered": accuracy.mattered, "kept": accuracy.kept, "fraction": accuracy.fraction}
