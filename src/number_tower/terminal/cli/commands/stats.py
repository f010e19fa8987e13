"""`tower stats`: results, accuracy, streaks and puzzles, as tables with small bars, or as JSON."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Mapping, Sequence
from time import monotonic

from number_tower.cli.console import MAX_WIDTH, format_table, show_progress
from number_tower.cli.database import LazyStore
from number_tower.cli.errors import CommandError, print_error, rearm_interrupt
from number_tower.cli.options import CommandParser
from number_tower.cli.terminal import SEAT_COLOURS, VALUE_COLOURS, Terminal
from number_tower.coach.review import IMPORTANT, Accuracy
from number_tower.match import Tally
from number_tower.store import StoreError, statistics
from number_tower.store.database import Store
from number_tower.store.statistics import Statistics
from number_tower.text import format_count, format_text, format_value, pluralize, suggest_nearest

PATIENCE = 60.0
"""Seconds that games are judged for before the tables are shown; another call continues with the rest."""

MOST_PLAYERS = 20
"""Players in the table; the JSON has them all."""

BAR_WIDTH = 20
"""Characters of a bar, where the terminal is wide enough for it."""

_MOST_NAMES = 10


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
    found, stopped = Statistics(name), False
    if not store.missing:
        found, stopped = store.query(lambda database: _load_statistics(database, name), "game")
    if args.json:
        print(json.dumps(_to_dict(found), ensure_ascii=False))
        return
    if found.empty:
        terminal.show("No games are saved yet. To play one: tower play GAME\n")
        return
    _print_text(found, terminal)
    if found.unjudged:
        missing = format_count(found.unjudged, "finished game")
        verb = "is" if found.unjudged == 1 else "are"
        start = "Stopped: " if stopped else ""
        terminal.show(f"\n{start}{missing} {verb} not included in the accuracy yet.\n")
        terminal.show(f"Continue with: tower stats{store.db_option}\n")


def _load_statistics(store: Store, name: str | None) -> tuple[Statistics, bool]:
    """Return the statistics, and whether Ctrl-C stopped the judging before."""
    stopped = _judge_games(store, name)
    with store.read() as connection:
        found = statistics.compute_statistics(connection, name)
        if found.empty and name is not None:
            names = statistics.list_names(connection)
            some = (
                suggest_nearest(name, names)
                or f"; the players are {', '.join(names[:_MOST_NAMES])}"
            )
            if names:
                raise CommandError(f"no player is called {format_value(name)}{format_text(some)}")
        return found, stopped


def _judge_games(store: Store, name: str | None) -> bool:
    """Judge games for a while; say whether Ctrl-C stopped it."""
    deadline = monotonic() + PATIENCE
    try:
        with show_progress("games", "shows what is known so far") as update:
            for done, total in statistics.judge_games(store, name):
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
    rows: list[BarRow] = []
    for player in found.players[:MOST_PLAYERS]:
        cells = (format_text(player.name), player.kind, player.tally.games, *player.tally)
        rows.append((cells, _split_accuracy(player.accuracy)))
    heads = ("Players", "", "games", "won", "drawn", "lost", "accuracy")
    _print_table(heads, rows, _SHARE, terminal)
    if len(found.players) > MOST_PLAYERS:
        terminal.show(f"  and {len(found.players) - MOST_PLAYERS:,} more\n")
    if found.among_computers:
        number = format_count(found.among_computers, "game")
        terminal.show(f"  {number} without a person: counted only here\n")


def _print_games(found: Statistics, terminal: Terminal) -> None:
    rows: list[BarRow] = []
    for result in found.results:
        share = _format_percent(result.began.won, result.began.games)
        tally = result.seats[0]
        rows.append(((format_text(result.game), share, tally.games, *tally), tally))
    heads = ("By game", "starter won", "games", "seat 1", "drawn", "seat 2", "")
    _print_table(heads, rows, _SEATS, terminal)
    if rows:
        terminal.show(f"  # seat 1 won   = drawn   . seat 2 won\n{_describe_abandoned(found)}")


def _print_results(found: Statistics, terminal: Terminal) -> None:
    tallies: list[tuple[str, Tally]] = []
    for result in found.results:
        game, played = format_text(result.game), [tally.games > 0 for tally in result.seats]
        if all(played):
            tallies.append((game, Tally.add_up(result.seats)))
            tallies += [(f"  seat {seat}", tally) for seat, tally in enumerate(result.seats, 1)]
        else:
            seat = played.index(True)
            tallies.append((f"{game}, seat {seat + 1}", result.seats[seat]))
    began = Tally.add_up(result.began for result in found.results)
    second = Tally.add_up(result.second for result in found.results)
    if began.games and second.games:
        tallies += [("all games, started", began), ("all games, second", second)]
    rows: list[BarRow] = [((label, tally.games, *tally), tally) for label, tally in tallies]
    _print_table(("Results", "games", "won", "drawn", "lost", "won"), rows, _RESULTS, terminal)
    if rows:
        terminal.show(f"  # won   = drawn   . lost\n{_describe_abandoned(found)}")


def _describe_abandoned(found: Statistics) -> str:
    if not found.abandoned:
        return ""
    return f"  {format_count(found.abandoned, 'game')} abandoned: counted as drawn\n"


def _print_accuracy(found: Statistics, terminal: Terminal) -> None:
    rows: list[BarRow] = []
    for label, number, accuracy in found.periods:
        name = f"{pluralize('game', number)} {label}" if found.by == "games" else label
        rows.append(((name, number, accuracy.mattered), _split_accuracy(accuracy)))
    if len(rows) > 1:
        number, total = sum(period.games for period in found.periods), found.accuracy
        rows.append((("total", number, total.mattered), _split_accuracy(total)))
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
    row = format_count(best, "win") + (" in a row" if best > 1 else "")
    who = f", by {format_text(by or '')}." if found.name is None else "."
    now = "" if found.name is None else f" Current streak: {current:,}."
    terminal.show(f"\nBest streak: {row}{who}{now}\n")


def _print_puzzles(found: Statistics, terminal: Terminal) -> None:
    rows: list[BarRow] = []
    for grade in found.puzzles:
        cells = (f"grade {grade.grade}", grade.tried, grade.right, grade.wrong, grade.skipped)
        rows.append((cells, (grade.right, grade.tried - grade.right)))
    heads = ("Puzzles", "tried", "right", "wrong", "skipped", "solved")
    _print_table(heads, rows, _SHARE, terminal)


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
    """Draw a bar in which each part is as long as its share, with a mark and a colour of its own."""
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


# JSON ----------------------------------------------------------------------------------------------------------------


def _to_dict(found: Statistics) -> dict[str, object]:
    counts = ("finished", "unfinished", "abandoned", "among_computers", "unjudged")
    players = []
    for player in found.players:
        accuracy = {"judged": player.judged, **_accuracy_to_dict(player.accuracy)}
        about = {"name": player.name, "kind": player.kind, "unfinished": player.unfinished}
        players.append({**about, **_tally_to_dict(player.tally), "accuracy": accuracy})
    results = []
    for result in found.results:
        first, second = map(_tally_to_dict, result.seats)
        seats = [{"seat": 1, **first}, {"seat": 2, **second}]
        turns = {turn: _tally_to_dict(getattr(result, turn)) for turn in ("began", "second")}
        results.append({"game": result.game, "seats": seats, **turns})
    over_time = [
        {"when": label, "games": number, **_accuracy_to_dict(accuracy)}
        for label, number, accuracy in found.periods
    ]
    return {
        "player": found.name,
        "games": {key: getattr(found, key) for key in counts},
        "players": players,
        "results": results,
        "accuracy": {**_accuracy_to_dict(found.accuracy), "by": found.by, "over_time": over_time},
        "streak": found.streak._asdict(),
        "puzzles": [
            {"grade": entry.grade, "tried": entry.tried, **entry._asdict()}
            for entry in found.puzzles
        ],
    }


def _tally_to_dict(tally: Tally) -> dict[str, int]:
    return {"games": tally.games, **tally._asdict()}


def _accuracy_to_dict(accuracy: Accuracy) -> dict[str, object]:
    return {"mattered": accuracy.mattered, "kept": accuracy.kept, "fraction": accuracy.fraction}
