"""Number Tower: five number-stacking games for two players, and the exact value of every position.

The examples of this introduction run as they stand, one after the other.

A game is a value
-----------------

A move makes a new game and leaves the old one as it was. Players are 0 and 1. By these rules both
build one tower with the blocks 1 to 9, and the player who takes it to exactly 15 wins:

    >>> import number_tower as nt
    >>> game = nt.Game(nt.Rules(target=15)).play(9).play(5)
    >>> game.heights, game.to_move, game.legal
    ((14, 14), 0, (1,))
    >>> game.play(1).outcome
    Outcome(winner=0, reason='exact')
    >>> game.outcome is None, game.undo().moves
    (True, (9,))

A block that cannot be placed raises an error, which says why:

    >>> game.play(9)
    Traceback (most recent call last):
        ...
    number_tower.engine.position.IllegalMoveError: 9 cannot be placed (used)

Rules
-----

`nt.rules` takes the name of a game, or the path of a rule file such as `mygame.toml`, and options:

    >>> nt.Game(nt.rules("draft", target=21, blocks="1-12")).play(9).play(12).towers
    ((9,), (12,))

`nt.Rules` makes rules of your own. Its arguments are what a rule file can say:

    >>> primes = nt.Rules(blocks=[2, 3, 5, 7, 11], supply="own", fit="ascending", stuck="skips")
    >>> nt.Game(primes).play(5).legal
    (7, 11)

Exact values
------------

`nt.solve` says what a position is worth to the player to move, and what each move is worth:

    >>> solution = nt.solve(nt.Game(nt.rules("summit"), moves=(3,)))
    >>> solution.value, solution.plies, solution.best
    ('win', 3, (7,))
    >>> solution.moves[9]
    Worth(value='loss', plies=2)

Tables, records and matches
---------------------------

A table is a game with its players. A record is a table as text: one line, or JSON.

    >>> from number_tower.engine import record
    >>> table = nt.Table(game, names=("Ann", "Ben"))
    >>> record.to_line(table)
    'rules(target=15,names=Ann,Ben):9,5'
    >>> record.from_line("draft(target=21):9,8").game.legal
    (1, 2, 3, 4, 5, 6, 7)
    >>> nt.Match(best_of=3).after(0).after(None).score
    (1.5, 0.5)

Opponents, hints and reviews
----------------------------

    >>> from number_tower.players import make_player
    >>> make_player("perfect", seed=1).choose(game)
    1
    >>> from number_tower.coach.hints import give_hint
    >>> give_hint(table.undo(), step=2).texts[-1]
    'Play 6: it wins.'
    >>> from number_tower.coach.review import review
    >>> [(move.ply, move.block, move.best) for move in review(game).mistakes]
    [(1, 9, (5,)), (2, 5, (6, 3))]

More modules
------------

    from number_tower.engine import catalogue               # the games, presets and rule files
    from number_tower.coach.puzzles import find_puzzles     # positions with one winning move
    from number_tower.studies.arena import arena            # players play each other many times
    from number_tower.studies.evaluation import evaluate    # how much value a player loses
    from number_tower.studies import lab                    # how fair and deep are these rules?
    from number_tower.envs.gymnasium import NumberTowerEnv  # also pettingzoo, openspiel, textarena
    from number_tower.envs.games import Games               # thousands of games at once
    from number_tower.envs.jax import make                  # the same on a GPU, as pgx does it
    from number_tower.store import open_store               # games in a database

The names of this package
-------------------------

    rules, Rules                     the rules of a game: looked up by name, or your own
    Game, Position                   a game with its moves; all that matters for the rest of it
    Outcome, Event                   how a game ended; what a move caused
    Table, Change, Match             a game with its players; one change of it; several games
    solve, Solution, Worth           exact values of a position and of its moves
    Progress, NotSolvedError         a report of a long search; a search that reached its limit
    NumberTowerError                 what all these errors are; `reason` says it for programs
    MoveError                        a block cannot be placed: NotABlockError, IllegalMoveError
    RulesError                       rules are not valid
    CatalogueError                   a game cannot be found or read: UnknownGameError,
                                     UnknownPresetError, OptionError, RuleFileError
    TableError, StaleError           a change cannot be made; it was meant for an earlier version

`help(number_tower.Game)` shows one of them alone.
"""

import os

from number_tower.engine.catalogue import (
    CatalogueError,
    OptionError,
    RuleFileError,
    UnknownGameError,
    UnknownPresetError,
    choose,
)
from number_tower.engine.game import Event, Game
from number_tower.engine.match import Match
from number_tower.engine.position import (
    IllegalMoveError,
    MoveError,
    NotABlockError,
    Outcome,
    Position,
)
from number_tower.engine.rules import Rules, RulesError
from number_tower.engine.table import Change, StaleError, Table, TableError
from number_tower.solve import solve
from number_tower.solve.limits import NotSolvedError, Progress
from number_tower.solve.solution import Solution
from number_tower.solve.worth import Worth
from number_tower.support.errors import NumberTowerError

__version__ = "0.2.0"

__all__ = [
    "CatalogueError",
    "Change",
    "Event",
    "Game",
    "IllegalMoveError",
    "Match",
    "MoveError",
    "NotABlockError",
    "NotSolvedError",
    "NumberTowerError",
    "OptionError",
    "Outcome",
    "Position",
    "Progress",
    "RuleFileError",
    "Rules",
    "RulesError",
    "Solution",
    "StaleError",
    "Table",
    "TableError",
    "UnknownGameError",
    "UnknownPresetError",
    "Worth",
    "rules",
    "solve",
]


def rules(
    source: str | os.PathLike[str] | Rules, *, preset: object = None, **options: object
) -> Rules:
    """Return the rules of a game: by its name, by the path of a rule file, or `Rules` as given.

    `preset` is one of the game's presets, and an option overrides it.

    Examples:
        >>> nt.rules("draft").target, nt.rules("draft", target=21, blocks="1-12").target
        (15, 21)
        >>> nt.rules("draft", preset="deep").blocks
        range(1, 13)
        >>> nt.rules(nt.Rules(target=15), target=21).target
        21
    """
    return choose(source, options, preset=None if preset is None else str(preset)).rules


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
