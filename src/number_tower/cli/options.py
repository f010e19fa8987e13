"""What can be asked of the command: every subcommand, its options, and what is said to a wrong call."""

from __future__ import annotations

import argparse
import re
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from number_tower import __version__
from number_tower.blocks import LARGEST_NUMBER, parse_number
from number_tower.cli.errors import WRONG_CALL, CommandError
from number_tower.text import format_value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from _typeshed import SupportsWrite

    Commands = argparse._SubParsersAction["CommandParser"]  # noqa: SLF001 - argparse has no public name for it

LONGEST_DRAIN = 5
"""Seconds that may be spent on it of the 15 that a server has to stop."""

_CHOICE = re.compile(r"(.+): invalid choice: (.+) \(choose from (.+)\)")


class FixedWidthHelp(argparse.HelpFormatter):
    """Lays help out the same on every terminal; measuring it would cost more than parsing the call."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=96)


class CommandParser(argparse.ArgumentParser):
    """Says what is wrong, and what would be right, in one line."""

    commands: tuple[str, ...] = ()

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=FixedWidthHelp, allow_abbrev=False, **settings)

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        """Print help and version like everything else: argparse itself would hide that they cannot be written."""
        (file or sys.stderr).write(message)

    def error(self, message: str) -> NoReturn:
        """End a wrong call."""
        message = message.removeprefix("argument ")
        if choice := _CHOICE.fullmatch(message):
            name, given, known = choice.groups()
            one_of = "one of " if "," in known else ""
            message = f"{name}: expected {one_of}{known.replace(chr(39), '')}; got {given}"
        raise CommandError(WRONG_CALL, f"{message} (see: {self.prog} --help)")


def create_parser() -> CommandParser:
    """Describe every command and option."""
    tower = CommandParser(
        prog="tower",
        description="Number-stacking games for two players. `tower` alone shows them and asks which to play.",
    )
    tower.add_argument("--version", action="version", version=f"Number Tower {__version__}")
    add_db_option(tower)
    add_no_save_option(tower)
    tower.set_defaults(db=None, no_save=False)
    add = tower.add_subparsers(
        title="commands", metavar="COMMAND", dest="command", parser_class=CommandParser, prog="tower"
    )
    for describe in (
        _add_playing_commands,
        _add_history_commands,
        _add_learning_commands,
        _add_solve_command,
        _add_arena_command,
        _add_server_commands,
        _add_info_commands,
    ):
        describe(add)
    tower.commands = tuple(add.choices)
    return tower


def _add_playing_commands(add: Commands) -> None:
    """Describe what plays a game, or tells one that was played."""
    play = add.add_parser("play", help="play a game at this keyboard")
    add_game_options(play)
    play.add_argument("--names", metavar="ANN,BEN", help="what the players are called; with --vs, ANN is enough")
    play.add_argument(
        "--first", choices=("1", "2", "random"), default="1", help="who starts: 1, 2, or random for a coin toss"
    )
    add_opponent_options(play)
    add_db_option(play)
    play.add_argument("--hidden", action="store_true", help="do not show which blocks are left")
    add_record_option(play)
    add_no_save_option(play)

    match = add.add_parser("match", help="play a series of games, the starter alternating")
    add_game_options(match, "GAME", "a game's name or a rule file; several, as in race,draft,factor, take turns")
    match.add_argument("--best-of", type=parse_count, metavar="N", help="how many games at most (3, or one of each)")
    match.add_argument("--names", metavar="ANN,BEN", help="what the players are called; with --vs, ANN is enough")
    match.add_argument(
        "--first", choices=("1", "2", "random"), default="1", help="who starts the first game: 1, 2, or random"
    )
    add_opponent_options(match)
    match.add_argument("--hidden", action="store_true", help="do not show which blocks are left")
    add_db_option(match)
    add_no_save_option(match)

    resume = add.add_parser("resume", help="go on with a game: the last unfinished one, or any")
    add_ref_argument(resume, needed=False)
    add_opponent_options(resume)
    add_record_option(resume)
    add_no_save_option(resume)

    replay = add.add_parser("replay", help="print a game again, in its voice")
    add_ref_argument(replay)


def _add_history_commands(add: Commands) -> None:
    """Describe what deals with the games that are kept."""
    history = add.add_parser("history", help="list the games that were played")
    history.add_argument("--game", metavar="GAME", help="only this game")
    history.add_argument("--player", metavar="NAME", help="only games of this player")
    history.add_argument(
        "--result",
        choices=("won", "lost", "drawn", "finished", "unfinished"),
        help="only games with this result; won and lost go with --player",
    )
    history.add_argument("--matches", action="store_true", help="list matches and their score, and not games")
    history.add_argument("--since", type=parse_day, metavar="DATE", help="only games played on or after that day")
    history.add_argument("--until", type=parse_day, metavar="DATE", help="only games played on or before that day")
    history.add_argument(
        "--page", type=parse_count, default=1, metavar="N", help="the next games, counting pages from 1"
    )
    history.add_argument("--count", type=parse_count, default=20, metavar="N", help="how many games make a page (20)")
    history.add_argument("--json", action="store_true", help="print one JSON document instead of a table")
    add_db_option(history)

    stats = add.add_parser("stats", help="what came of the games: results, accuracy, streaks, puzzles")
    stats.add_argument("name", nargs="?", metavar="NAME", help="only this player's")
    stats.add_argument("--json", action="store_true", help="print one JSON document instead of bars")
    add_db_option(stats)

    export = add.add_parser("export", help="write games to a file that another machine can import")
    export.add_argument("file", nargs="?", metavar="FILE", help="where to (standard output)")
    export.add_argument("--game", metavar="GAME", help="only this game, but matches whole")
    export.add_argument("--player", metavar="NAME", help="only games of this player")
    add_db_option(export)

    importing = add.add_parser("import", help="take in games that were exported, or any records, a line each")
    importing.add_argument("file", nargs="?", metavar="FILE", help="where from (standard input)")
    add_db_option(importing)

    forget = add.add_parser("forget", help="drop games from the database")
    forget.add_argument("ids", nargs="+", metavar="ID", help="a game's id, or a match's such as m3 (see `history`)")
    add_db_option(forget)

    database = add.add_parser("db", help="say where the games are kept; back them up, check, restore, upgrade")
    database.add_argument(
        "action",
        nargs="?",
        choices=("backup", "check", "restore", "upgrade"),
        metavar="ACTION",
        help="backup FILE, check, check FILE, restore FILE, or upgrade (a server's tables; a file upgrades itself)",
    )
    database.add_argument("file", nargs="?", metavar="FILE", help="the backup to write, check or restore")
    database.add_argument(
        "--force", action="store_true", help="backup: replace FILE; restore: also a backup with damaged games"
    )
    database.add_argument("--no-backup", action="store_true", help="upgrade: do not save a backup first")
    add_db_option(database)


def _add_learning_commands(add: Commands) -> None:
    """Describe what makes a better player."""
    learn = add.add_parser("learn", help="a first lesson: three positions, and a game against the gentlest opponent")
    add_game_options(learn)
    learn.add_argument(
        "--seed", type=parse_seed, metavar="N", help="choose the positions; the same number, the same lesson"
    )
    add_db_option(learn)
    add_no_save_option(learn)

    puzzle = add.add_parser("puzzle", help="find the only winning move; without a game or seed, today's puzzle")
    add_game_options(puzzle)
    puzzle.add_argument("--grade", type=int, choices=range(1, 6), metavar="1-5", help="how hard it should be")
    puzzle.add_argument("--day", type=parse_day, metavar="DATE", help="the puzzle of that day, such as 2027-01-31")
    puzzle.add_argument("--seed", type=parse_seed, metavar="N", help="the same number, the same puzzles")
    puzzle.add_argument("--count", type=parse_count, metavar="N", help="so many puzzles, then stop")
    puzzle.add_argument("--name", metavar="ANN", help="who solves them, for `tower stats ANN`")
    puzzle.add_argument("--json", action="store_true", help="print them with their solutions, a JSON document")
    add_db_option(puzzle)
    add_no_save_option(puzzle)

    review = add.add_parser("review", help="go through a game: every move's value, the mistakes, and why")
    add_ref_argument(review)
    review.add_argument("--json", action="store_true", help="print one JSON document instead of text")
    review.add_argument("--svg", metavar="FILE", help="also draw the game as one picture")
    review.add_argument("--seconds", type=parse_seconds, metavar="S", help="work at most so long on each position (20)")


def _add_solve_command(add: Commands) -> None:
    """Describe what finds out the truth."""
    solve = add.add_parser("solve", help="say what a position and each of its moves is worth, exactly")
    add_game_options(
        solve,
        "GAME|REF",
        'a game or rule file; or a game\'s id, one line such as "draft:9,8,6", or a file with its record',
    )
    add_db_option(solve)
    solve.add_argument("--moves", metavar="9,8", help="the moves made so far, or after those of the record")
    solve.add_argument("--json", action="store_true", help="print one JSON document instead of a table")
    solve.add_argument("--line", action="store_true", help="also print one best line of play to the end")
    solve.add_argument("--all", action="store_true", help="list every move, even thousands of them")
    solve.add_argument(
        "--values", action="store_true", help="win, draw or loss only, without the plies: often much quicker"
    )
    solve.add_argument("--seconds", type=parse_seconds, metavar="S", help="give up after so much work (exit code 3)")
    solve.add_argument("--memory", type=parse_mebibytes, metavar="M", help="use at most so many MiB for tables (512)")


def _add_arena_command(add: Commands) -> None:
    """Describe what lets computers play each other."""
    arena = add.add_parser("arena", help="let players play each other, and say who is how much stronger")
    arena.add_argument(
        "games", nargs="+", metavar="GAME", help='a game, a rule file, or one with options: "draft(target=21)"'
    )
    arena.add_argument("--players", required=True, metavar="A,B,C", help="levels, random, or commands such as ./my-bot")
    arena.add_argument(
        "--games",
        dest="number",
        type=parse_count,
        default=100,
        metavar="N",
        help="how often each pair plays each game (100)",
    )
    arena.add_argument("--seed", type=parse_seed, default=1, metavar="N", help="the same number, the same games (1)")
    arena.add_argument("--out", metavar="FILE", help="keep every game there, a line of JSON each (a new arena.jsonl)")
    arena.add_argument("--resume", action="store_true", help="go on with what the file already holds")
    arena.add_argument(
        "--jobs", type=parse_count, metavar="N", help="how many games at once (as many as there are cores)"
    )
    arena.add_argument("--json", action="store_true", help="print the results as one JSON document")
    add_patience_option(arena)
    _add_eval_command(add)


def _add_eval_command(add: Commands) -> None:
    """Describe what finds out how well somebody plays."""
    evaluate = add.add_parser("eval", help="find out how well a player plays, by results and by the exact value lost")
    evaluate.add_argument(
        "games", nargs="*", metavar="GAME", help="a game, a rule file, or one with options (new games, by the seed)"
    )
    evaluate.add_argument(
        "--player",
        dest="players",
        action="append",
        metavar="PLAYER",
        help="whom to ask: a command such as ./my-bot, module:function, or a level; may be repeated",
    )
    evaluate.add_argument("--baselines", action="store_true", help="ask random and all levels too, to compare with")
    evaluate.add_argument(
        "--games", dest="number", type=parse_amount, metavar="N", help="games of each player in all (40)"
    )
    evaluate.add_argument(
        "--positions", type=parse_amount, metavar="N", help="positions that each player moves in, in all (200)"
    )
    evaluate.add_argument("--variants", type=parse_count, metavar="N", help="without a GAME: how many are made (20)")
    evaluate.add_argument("--against", metavar="LEVEL", help="who sits opposite in games (fair)")
    evaluate.add_argument("--seed", type=parse_seed, metavar="N", help="the same number, the same tasks (1)")
    evaluate.add_argument("--tries", type=parse_count, metavar="N", help="answers to each question at most (3)")
    evaluate.add_argument("--no-legal", action="store_true", help="do not tell players which blocks may be placed")
    evaluate.add_argument(
        "--patience",
        type=parse_seconds,
        metavar="S",
        help="seconds that a program or function may take for an answer (60)",
    )
    evaluate.add_argument(
        "--stop",
        action="store_true",
        help="stop at the first answer that fails to come, instead of counting it; --resume goes on there",
    )
    evaluate.add_argument("--out", metavar="FILE", help="keep everything there, as lines of JSON (a new eval.jsonl)")
    evaluate.add_argument(
        "--resume", action="store_true", help="go on with what the file already holds; alone, as it says there"
    )
    evaluate.add_argument(
        "--jobs", type=parse_count, metavar="N", help="how many tasks at once (as many as there are cores)"
    )
    evaluate.add_argument("--report", metavar="FOLDER", help="write a report there: Markdown, a page, and plots")
    evaluate.add_argument("--json", action="store_true", help="print the scores as one JSON document")


def _add_server_commands(add: Commands) -> None:
    """Describe what brings the games to browsers and to language models."""
    serve = add.add_parser("serve", help="let people play in the browser: on this machine, in a class, on the web")
    serve.add_argument("--host", metavar="HOST", help="where to listen (127.0.0.1: this machine; 0.0.0.0: a class)")
    serve.add_argument("--port", type=parse_port, metavar="PORT", help="at which port (8000, or the next that is free)")
    add_db_option(serve, "the database: a file, or postgresql://... (else what NUMBER_TOWER_DB says)")
    serve.add_argument(
        "--proxy",
        nargs="?",
        const="",
        metavar="ADDRESSES",
        help="believe the X-Forwarded headers of a reverse proxy on this machine, or at these addresses",
    )
    serve.add_argument("--public-url", metavar="URL", help="the address that people open, if a proxy gives it another")
    serve.add_argument(
        "--host-name",
        action="append",
        metavar="NAMES",
        help="names by which people open the server, besides localhost and IP addresses, with commas between",
    )
    serve.add_argument(
        "--drain",
        type=parse_drain,
        default=0.0,
        metavar="S",
        help="when told to stop, serve so many seconds more with readiness down, for a load balancer (0; at most 5)",
    )
    serve.add_argument("--no-limits", action="store_true", help="let everybody ask as often as they like")
    serve.add_argument(
        "--workers",
        type=parse_count,
        metavar="N",
        help="processes that think about positions (all cores but one; at most 4)",
    )
    serve.add_argument(
        "--keep-days",
        metavar="N",
        help="delete rooms with their games in which nothing happened for N days (never; with one move at most: 30)",
    )
    serve.add_argument(
        "--max-db",
        metavar="SIZE",
        help="start no new games while the database is larger, e.g. 500M or 2G, or none for no limit (4G)",
    )
    serve.add_argument("--log", choices=("json", "text"), help="write the log so (text on a terminal, else json)")
    serve.add_argument("--quiet", action="store_true", help="log only what goes wrong")
    serve.add_argument(
        "--metrics",
        metavar="[HOST:]PORT",
        help="serve metrics for Prometheus at this port (of this machine only, unless HOST is given)",
    )

    mcp = add.add_parser("mcp", help="let a language model play, by tools over the Model Context Protocol (stdio)")
    mcp.add_argument("--no-legal", action="store_true", help="never list which blocks may be placed")
    mcp.add_argument("--no-help", action="store_true", help="offer no hints and no analysis")


def _add_info_commands(add: Commands) -> None:
    """Describe what tells about the games and the command itself."""
    add.add_parser("games", help="list the games")
    add.add_parser("levels", help="describe the computer's opponents")

    rules = add.add_parser("rules", help="print the rules of a game in brief")
    add_game_options(rules)

    completion = add.add_parser("completion", help='print shell completion, e.g. eval "$(tower completion bash)"')
    completion.add_argument("shell", nargs="?", metavar="SHELL", help="bash, zsh, fish, powershell or tcsh")


def add_game_options(
    command: argparse.ArgumentParser, name: str = "GAME", meaning: str = "a game's name, or a rule file (mygame.toml)"
) -> None:
    game = command.add_argument("game", nargs="?", metavar=name, help=meaning)
    setattr(game, "completer", _complete_game)  # noqa: B010 - argcomplete's own attribute, unknown to argparse's types
    command.add_argument("--target", type=parse_target, metavar="N", help="the height to reach exactly")
    command.add_argument("--blocks", metavar="1-5", help="the blocks to play with, such as 1-5 or 1,3,5")
    command.add_argument("--opening", metavar="1-5", help="the blocks that may lie on an empty tower")


def add_ref_argument(command: argparse.ArgumentParser, *, needed: bool = True) -> None:
    match = "" if needed else ", a match's such as m3"
    command.add_argument(
        "ref",
        metavar="REF",
        nargs=None if needed else "?",
        help=f'a game\'s id (see `history`){match}, one line such as "draft:9,8,6", or a file with its record',
    )
    add_db_option(command)


_DATABASE = "the database: a file, postgresql://..., or none (else what NUMBER_TOWER_DB says)"


def add_db_option(command: argparse.ArgumentParser, about: str = _DATABASE) -> None:
    command.add_argument("--db", metavar="URL", default=argparse.SUPPRESS, help=about)


def add_no_save_option(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--no-save", action="store_true", default=argparse.SUPPRESS, help="do not keep this in the database"
    )


def add_opponent_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--vs",
        action="append",
        metavar="LEVEL",
        help="play against the computer, or a program (./my-bot); see `levels`",
    )
    command.add_argument("--seat", choices=("1", "2"), help="with --vs: your seat (1)")
    command.add_argument("--seed", type=parse_seed, metavar="N", help="make coin toss and computer repeatable")
    add_patience_option(command)


def add_patience_option(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--patience",
        type=parse_seconds,
        default=10.0,
        metavar="S",
        help="seconds that a program may take for a move (10)",
    )


def add_record_option(command: argparse.ArgumentParser) -> None:
    command.add_argument("--record", metavar="FILE", help="keep the game in a file, written after every move")


def _complete_game(prefix: str, **_: object) -> Iterable[str]:
    from argcomplete.completers import FilesCompleter  # noqa: PLC0415 - only for completion

    from number_tower import catalogue  # noqa: PLC0415 - likewise

    return (*catalogue.list_names(), *FilesCompleter(["toml"])(prefix))


def parse_target(text: str) -> int:
    number = parse_number(text)
    if number is None or number > LARGEST_NUMBER:
        raise argparse.ArgumentTypeError(
            f"expected a whole number from 1 to {LARGEST_NUMBER:,}; got {format_value(text)}"
        )
    return number


def parse_mebibytes(text: str) -> int:
    number = parse_number(text)
    if not number:
        raise argparse.ArgumentTypeError(f"expected a whole number of MiB, 1 or more; got {format_value(text)}")
    return number


def parse_count(text: str) -> int:
    number = parse_number(text)
    if not number or number > 1_000_000:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 to 1,000,000; got {format_value(text)}")
    return number


def parse_amount(text: str) -> int:
    number = 0 if text == "0" else parse_number(text)
    if number is None or number > 1_000_000:
        raise argparse.ArgumentTypeError(f"expected a whole number from 0 to 1,000,000; got {format_value(text)}")
    return number


def parse_port(text: str) -> int:
    number = 0 if text == "0" else parse_number(text)
    if number is None or number > 65_535:
        raise argparse.ArgumentTypeError(f"expected a port from 1 to 65,535, such as 8000; got {format_value(text)}")
    return number


def parse_day(text: str) -> str:
    from datetime import date  # noqa: PLC0415 - only for puzzles

    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a date such as 2027-01-31; got {format_value(text)}") from None


def parse_seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number of seconds, such as 10 or 0.5; got {format_value(text)}")
    return seconds


def parse_drain(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= LONGEST_DRAIN:
        raise argparse.ArgumentTypeError(f"expected seconds from 0 to {LONGEST_DRAIN}; got {format_value(text)}")
    return seconds


def parse_seed(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a whole number; got {format_value(text)}") from None
