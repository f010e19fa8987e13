"""`tower arena`: let players play each other, and print how strong they are."""

from __future__ import annotations

from argparse import Namespace
from contextlib import closing

from number_tower.studies.arena import play_games
from number_tower.studies.arena.playout import ArenaJournal
from number_tower.studies.arena.results import ArenaResults, Score, compute_results
from number_tower.studies.arena.schedule import arrange
from number_tower.support.text import format_count
from number_tower.terminal.cli import CommandParser, Terminal, study
from number_tower.terminal.cli.console import format_ranking, format_table, show_progress

FILE = "arena.jsonl"
"""Where games are written, unless the call names another file."""


def add_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower arena`."""
    parser.add_example("tower arena draft --players gentle,easy,fair", "each plays each 100 times")
    parser.add_example("tower arena race --players fair,./my-bot --games 20", "test your program")
    meaning = 'a game, a rule file, or one with options: "draft(target=21)"'
    parser.add_value("games", "GAME", meaning, nargs="+")
    meaning = "levels, random, or commands such as ./my-bot"
    parser.add_value("--players", "A,B,C", meaning, required=True)
    meaning = "how many times each pair plays each game (100)"
    parser.add_count("--games", meaning, default=100, dest="number")
    parser.add_seed("games", default=1)
    meaning = "save every game in FILE, one line of JSON each (a new arena.jsonl)"
    parser.add_study_options("games", meaning)
    parser.add_flag("--json", "print the results as one JSON document")
    parser.add_patience_option()


def run(args: Namespace, terminal: Terminal) -> None:
    """Play the games and print the results; finished games are kept, whatever stops the others."""
    players = args.players.split(",")
    contest = arrange(
        args.games, players, number=args.number, seed=args.seed, patience=args.patience
    )
    out = study.choose_journal_file(args, FILE)
    with (
        study.connect_cluster(args) as executor,
        study.report_journal_error(ArenaJournal.run_noun, resume=args.resume),
        ArenaJournal(out, contest, resume=args.resume) as journal,
        study.report_interruption(journal, len(contest), study.format_resume_call(args, out)),
        show_progress("games", study.INTERRUPT_HINT) as update,
        closing(
            play_games(contest, log=journal, jobs=args.jobs, executor=executor, progress=update)
        ) as games,
    ):
        results = compute_results(contest, games)
    if args.json:
        print(results.to_json())
        return
    terminal.show(format_report(results, terminal.columns))
    if journal.is_kept:
        terminal.show(f"\nEvery game is saved in {journal.name}, one per line.\n")


# Report -------------------------------------------------------------------------------------------


def format_report(results: ArenaResults, width: int) -> str:
    """Return the standings, and the scores of each pair and each game, as tables."""
    contest, standings = results.contest, results.standings
    share = standings[0].score.games
    played = format_count(len(contest), "game")
    text = f"{played}, {share:,} for each player; random seed {contest.seed}.\n\n"
    rows = []
    forfeits = any(standing.forfeits for standing in standings)
    for _, score, given_up, rating in standings:
        low, high = (f"{100 * bound:.1f}" for bound in score.interval)
        row = [*map(str, score), f"{_format_percent(score)}% ({low}-{high})"]
        row.append(f"{round(rating.elo):+} ±{rating.margin:.0f}")
        rows.append([*row, str(given_up)] if forfeits else row)
    heads = ["won", "drawn", "lost", "score (95%)", "Elo"]
    if forfeits:
        heads.append("forfeit")
    players = [standing.player for standing in standings]
    text += format_ranking(players, heads, rows, width)
    text += "\nA win counts 1, a draw 1/2; brackets and ± are 95% intervals; the mean Elo is 0.\n"
    places = [str(place) for place in range(1, len(players) + 1)]
    if len(players) > 2:
        rows = []
        for player in players:
            scores = [
                results.score(player, other) if other != player else None for other in players
            ]
            rows.append([_format_percent(score) for score in scores])
        text += "\nScore of each player against each other, in %:\n\n"
        text += format_ranking(players, places, rows)
    if len(results.by_game) == 1:
        only = results.by_game[0]
        starter = f"The player who starts scored {_format_percent(only.starter)}%"
        return f"{text}\n{starter}; a game took {only.mean_plies:.1f} plies.\n"
    rows = []
    for entry in results.by_game:
        row = [f"  {entry.game}", _format_percent(entry.starter), f"{entry.mean_plies:.1f}"]
        rows.append([*row, *(_format_percent(entry.scores[player]) for player in players)])
    heads = ["", "first", "plies", *places]
    text += "\nEach game: score of the starting player, plies, score of each player:\n\n"
    return text + format_table(heads, "<" + ">" * (len(heads) - 1), rows, width=width)


def _format_percent(score: Score | None) -> str:
    return "-" if score is None else f"{100 * score.share:.1f}"
