"""`tower stats`: results, accuracy, streaks and puzzles, as tables with small bars, or as JSON."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Mapping, Sequence
from time import monotonic

from number_tower.coach.review import IMPORTANT, Accuracy
from number_tower.engine.match import Tally
from number_tower.store import StoreError, statistics
from number_tower.store.database import Store
from number_tower.store.statistics import Statistics
from number_tower.support.text import (
    format_count,
    format_text,
    format_value,
    pluralize,
    suggest_nearest,
)
from number_tower.terminal.cli import CommandError, CommandParser, Terminal
from number_tower.terminal.cli.console import MAX_WIDTH, format_table, show_progress
from number_tower.terminal.cli.database import LazyStore
from number_tower.terminal.cli.errors import print_error, rearm_interrupt
from number_tower.terminal.cli.terminal import SEAT_COLOURS, VALUE_COLOURS

PATIENCE = 60.0
"""Seconds to judge games before the tables are shown; another call judges the rest."""

MAX_PLAYERS = 20
"""Players in the table; the JSON has them all."""

BAR_WIDTH = 20
"""Characters of a bar, where the terminal is wide enough for it."""

_MAX_NAMES = 10


def add_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower stats`."""
    parser.add_example("tower stats", "everybody and every game")
    parser.add_example("tower stats Ann", "only Ann: results, accuracy and puzzles")
    parser.add_value("name", "NAME", "show only this player's results", nargs="?")
    parser.add_flag("--json", "print one JSON document instead of bars")
    parser.add_db_option()


def run(args: Namespace, terminal: Terminal) -> None:
    """Judge the games that were not judged yet, and print the statistics."""
    store = LazyStore(args.db)
    name = None if args.name is None else args.name.strip()
    stats, stopped = Statistics(name), False
    if not store.missing:
        stats, stopped = store.query(lambda database: _load_statistics(database, name), "game")
    if args.json:
        print(json.dumps(_to_dict(stats), ensure_ascii=False))
        return
    if stats.empty:
        terminal.show("No games are saved yet. To play one: tower play GAME\n")
        return
    _print_text(stats, terminal)
    if stats.unjudged:
        missing = format_count(stats.unjudged, "finished game")
        verb = "is" if stats.unjudged == 1 else "are"
        start = "Stopped: " if stopped else ""
        terminal.show(f"\n{start}{missing} {verb} not included in the accuracy yet.\n")
        terminal.show(f"Continue with: tower stats{store.db_option}\n")


def _load_statistics(store: Store, name: str | None) -> tuple[Statistics, bool]:
    """Judge games for a while; return the statistics, and whether Ctrl-C stopped the judging."""
    stopped = False
    deadline = monotonic() + PATIENCE
    try:
        with show_progress("games", "shows what is known so far") as update:
            for done, total in statistics.judge_games(store, name):
                update(done, total)
                if monotonic() > deadline:
                    break
    except KeyboardInterrupt:
        rearm_interrupt()
        stopped = True
    except StoreError as error:
        print_error(f"{error}. The accuracies cannot be saved there")
    with store.read() as connection:
        stats = statistics.compute_statistics(connection, name)
        names = statistics.list_names(connection) if stats.empty and name is not None else ()
    if names and name is not None:
        others = f"; the players are {', '.join(names[:_MAX_NAMES])}"
        meant = suggest_nearest(name, names) or others
        raise CommandError(f"no player is called {format_value(name)}{format_text(meant)}")
    return stats, stopped


# Text ---------------------------------------------------------------------------------------------


BarRow = tuple[tuple[str | int, ...], tuple[int, ...]]
"""A row of a table: its texts and numbers, and the parts of its bar."""

_WON, _DRAWN, _LOST = VALUE_COLOURS["win"], VALUE_COLOURS["draw"], VALUE_COLOURS["loss"]
_SHARE = {"#": _WON, ".": _LOST}
_RESULTS = {"#": _WON, "=": _DRAWN, ".": _LOST}
_SEATS = {"#": SEAT_COLOURS[0], "=": _DRAWN, ".": SEAT_COLOURS[1]}
"""For each part of a bar its mark, and the colour of the mark."""


def _print_text(stats: Statistics, terminal: Terminal) -> None:
    who = "Everybody"
    if stats.name is not None:
        kinds = " and ".join(standing.kind for standing in stats.players)
        who = format_text(stats.name) + (f" ({kinds})" if kinds else "")
    left = f", and {stats.unfinished:,} unfinished" if stats.unfinished else ""
    finished = format_count(stats.finished, "finished game")
    terminal.show_heading(f"{who}: {finished}{left}.\n")
    if stats.name is None:
        _print_players(stats, terminal)
        _print_games(stats, terminal)
    else:
        _print_results(stats, terminal)
    _print_accuracy(stats, terminal)
    best, by, current = stats.streak
    if stats.finished and not best:
        terminal.show("\nBest streak: no game won yet.\n")
    elif stats.finished:
        wins = format_count(best, "win") + (" in a row" if best > 1 else "")
        by_whom = f", by {format_text(by or '')}." if stats.name is None else "."
        now = "" if stats.name is None else f" Current streak: {current:,}."
        terminal.show(f"\nBest streak: {wins}{by_whom}{now}\n")
    rows: list[BarRow] = []
    for grade in stats.puzzles:
        cells = (f"grade {grade.grade}", grade.tried, grade.right, grade.wrong, grade.skipped)
        rows.append((cells, (grade.right, grade.tried - grade.right)))
    heads = ("Puzzles", "tried", "right", "wrong", "skipped", "solved")
    _print_table(heads, rows, _SHARE, terminal)


def _print_players(stats: Statistics, terminal: Terminal) -> None:
    rows: list[BarRow] = []
    for player in stats.players[:MAX_PLAYERS]:
        cells = (format_text(player.name), player.kind, player.tally.games, *player.tally)
        rows.append((cells, _split_accuracy(player.accuracy)))
    heads = ("Players", "", "games", "won", "drawn", "lost", "accuracy")
    _print_table(heads, rows, _SHARE, terminal)
    if len(stats.players) > MAX_PLAYERS:
        terminal.show(f"  and {len(stats.players) - MAX_PLAYERS:,} more\n")
    if stats.among_computers:
        number = format_count(stats.among_computers, "game")
        terminal.show(f"  {number} without a person: counted only here\n")


def _print_games(stats: Statistics, terminal: Terminal) -> None:
    rows: list[BarRow] = []
    for result in stats.results:
        share = _format_percent(result.began.won, result.began.games)
        tally = result.seats[0]
        rows.append(((format_text(result.game), share, tally.games, *tally), tally))
    heads = ("By game", "starter won", "games", "seat 1", "drawn", "seat 2", "")
    _print_table(heads, rows, _SEATS, terminal)
    if rows:
        terminal.show(f"  # seat 1 won   = drawn   . seat 2 won\n{_describe_abandoned(stats)}")


def _print_results(stats: Statistics, terminal: Terminal) -> None:
    tallies: list[tuple[str, Tally]] = []
    for result in stats.results:
        game, played = format_text(result.game), [tally.games > 0 for tally in result.seats]
        if all(played):
            tallies.append((game, Tally.add_up(result.seats)))
            tallies += [(f"  seat {seat}", tally) for seat, tally in enumerate(result.seats, 1)]
        else:
            seat = played.index(True)
            tallies.append((f"{game}, seat {seat + 1}", result.seats[seat]))
    began = Tally.add_up(result.began for result in stats.results)
    second = Tally.add_up(result.second for result in stats.results)
    if began.games and second.games:
        tallies += [("all games, started", began), ("all games, second", second)]
    rows: list[BarRow] = [((label, tally.games, *tally), tally) for label, tally in tallies]
    _print_table(("Results", "games", "won", "drawn", "lost", "won"), rows, _RESULTS, terminal)
    if rows:
        terminal.show(f"  # won   = drawn   . lost\n{_describe_abandoned(stats)}")


def _describe_abandoned(stats: Statistics) -> str:
    if not stats.abandoned:
        return ""
    return f"  {format_count(stats.abandoned, 'game')} abandoned: counted as drawn\n"


def _print_accuracy(stats: Statistics, terminal: Terminal) -> None:
    rows: list[BarRow] = []
    for label, number, accuracy in stats.periods:
        name = f"{pluralize('game', number)} {label}" if stats.by == "games" else label
        rows.append(((name, number, accuracy.mattered), _split_accuracy(accuracy)))
    if len(rows) > 1:
        number, total = sum(period.games for period in stats.periods), stats.accuracy
        rows.append((("total", number, total.mattered), _split_accuracy(total)))
    title = "Accuracy" if stats.name else "People's accuracy"
    _print_table((title, "games", "important", "right"), rows, _SHARE, terminal)
    if rows:
        terminal.show(f"  {IMPORTANT}\n")


def _print_table(
    heads: tuple[str, ...], rows: Sequence[BarRow], marks: Mapping[str, str], terminal: Terminal
) -> None:
    """Print a table, if it has rows.

    The last head is that of the bars; with a head, their first part is also written in percent.
    """
    if not rows:
        return
    *titles, bar_head = heads
    has_bars = terminal.columns >= MAX_WIDTH
    table = []
    for (label, *others), parts in rows:
        cells = [f"  {label}"]
        cells.extend(cell if isinstance(cell, str) else f"{cell:,}" for cell in others)
        if has_bars:
            cells.append(draw_bar(parts, marks, terminal) if any(parts) else "")
        cells.append(_format_percent(parts[0], sum(parts)) if bar_head else "")
        table.append(cells)
    alignment = "<" + "".join(">" if title else "<" for title in titles[1:])
    if has_bars:
        titles.append(bar_head)
        alignment += "<"
    width = min(MAX_WIDTH, terminal.columns)
    text = format_table((*titles, ""), f"{alignment}>", table, colour=terminal.colour, width=width)
    terminal.write(f"\n{text}")


def draw_bar(parts: Sequence[int], marks: Mapping[str, str], terminal: Terminal) -> str:
    """Draw a bar. Each part is as long as its share, and has its own mark and colour."""
    bar, total, done, drawn = "", sum(parts), 0, 0
    for part, (mark, colour) in zip(parts, marks.items(), strict=True):
        done += part
        # A bar is full only if nothing is missing.
        end = min(round(BAR_WIDTH * done / total), BAR_WIDTH - (done < total))
        bar += terminal.paint(mark * (end - drawn), colour)
        drawn = end
    return f"[{bar}]"


def _split_accuracy(accuracy: Accuracy) -> tuple[int, int]:
    return accuracy.kept, accuracy.mattered - accuracy.kept


def _format_percent(part: int, whole: int) -> str:
    """Write a share; all is only what is all, and nothing only what is nothing."""
    if not whole:
        return "-"
    return f"{min(max(round(100 * part / whole), int(part > 0)), 100 - (part < whole))}%"


# JSON ---------------------------------------------------------------------------------------------


def _to_dict(stats: Statistics) -> dict[str, object]:
    players = []
    for player in stats.players:
        accuracy = {"judged": player.judged, **_accuracy_to_dict(player.accuracy)}
        about = {"name": player.name, "kind": player.kind, "unfinished": player.unfinished}
        players.append({**about, **_tally_to_dict(player.tally), "accuracy": accuracy})
    results = []
    for result in stats.results:
        tallies = map(_tally_to_dict, result.seats)
        seats = [{"seat": seat, **tally} for seat, tally in enumerate(tallies, 1)]
        began, second = _tally_to_dict(result.began), _tally_to_dict(result.second)
        results.append({"game": result.game, "seats": seats, "began": began, "second": second})
    over_time = [
        {"when": label, "games": number, **_accuracy_to_dict(accuracy)}
        for label, number, accuracy in stats.periods
    ]
    counts = ("finished", "unfinished", "abandoned", "among_computers", "unjudged")
    return {
        "player": stats.name,
        "games": {key: getattr(stats, key) for key in counts},
        "players": players,
        "results": results,
        "accuracy": {**_accuracy_to_dict(stats.accuracy), "by": stats.by, "over_time": over_time},
        "streak": stats.streak._asdict(),
        "puzzles": [
            {"grade": entry.grade, "tried": entry.tried, **entry._asdict()}
            for entry in stats.puzzles
        ],
    }


def _tally_to_dict(tally: Tally) -> dict[str, int]:
    return {"games": tally.games, **tally._asdict()}


def _accuracy_to_dict(accuracy: Accuracy) -> dict[str, object]:
    return {"mattered": accuracy.mattered, "kept": accuracy.kept, "fraction": accuracy.fraction}
