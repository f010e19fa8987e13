"""Any rules as a Python game of OpenSpiel, and OpenSpiel's own solver at work on it.

Its types are not known here, and nothing but `make bench` brings it: load this module only when measuring.
"""

from __future__ import annotations

from importlib import import_module
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import number_tower as nt

if TYPE_CHECKING:
    from number_tower.solve.worth import Value

pyspiel: Any = import_module("pyspiel")
minimax_solver: Any = import_module("open_spiel.python.algorithms.minimax_solver")

_VALUES: dict[float, Value] = {1.0: "win", 0.0: "draw", -1.0: "loss"}


class Solved(NamedTuple):
    """What OpenSpiel's solver made of a game: the values of its start and openings, the states it tabled, its time."""

    values: list[Value]
    states: int
    seconds: float


def minimax(rules: nt.Rules) -> Solved:
    """Solve a game with OpenSpiel's MinimaxSolver, which tables the value of every state; only that is timed."""
    name = register(rules)
    solver = minimax_solver.MinimaxSolver(name)
    begun = perf_counter()
    table: dict[str, Any] = solver.solve()
    took = perf_counter() - begun
    start = pyspiel.load_game(name).new_initial_state()
    found = table[str(start)]
    values = [found.value, *(found.action_values[block] for block in start.legal_actions())]
    return Solved([_VALUES[float(value)] for value in values], len(table), took)


def register(rules: nt.Rules) -> str:
    """Make a game of some rules, with the blocks as actions; return the name that OpenSpiel knows it by."""
    kind = pyspiel.GameType
    name = f"number_tower_{len(pyspiel.registered_names())}"
    about = kind(
        short_name=name,
        long_name=name,
        dynamics=kind.Dynamics.SEQUENTIAL,
        chance_mode=kind.ChanceMode.DETERMINISTIC,
        information=kind.Information.PERFECT_INFORMATION,
        utility=kind.Utility.ZERO_SUM,
        reward_model=kind.RewardModel.TERMINAL,
        max_num_players=2,
        min_num_players=2,
        provides_information_state_string=False,
        provides_information_state_tensor=False,
        provides_observation_string=False,
        provides_observation_tensor=False,
        parameter_specification={},
    )
    pyspiel.register_game(about, lambda _parameters=None: Game(about, rules))
    return name


class Moment:
    """A position that copies of a state can share, as it never changes: OpenSpiel copies a state for every move."""

    __slots__ = ("position",)

    def __init__(self, position: nt.Position) -> None:
        self.position = position

    def __deepcopy__(self, memo: object) -> Moment:
        return self


class Game(pyspiel.Game):  # type: ignore[misc] # its types are not known
    """Some rules, as OpenSpiel sees a game."""

    def __init__(self, about: object, rules: nt.Rules) -> None:
        info = pyspiel.GameInfo(
            num_distinct_actions=rules.blocks[-1] + 1,
            max_chance_outcomes=0,
            num_players=2,
            min_utility=-1.0,
            max_utility=1.0,
            utility_sum=0.0,
            max_game_length=2 * max(len(rules.blocks), rules.target or 0),
        )
        super().__init__(about, info, {})
        self.start = Moment(nt.Position.start(rules))

    def new_initial_state(self) -> State:
        """Return the empty towers."""
        return State(self)


class State(pyspiel.State):  # type: ignore[misc] # likewise
    """A position, as OpenSpiel sees a state; its text is the key of the solver's table."""

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        self.moment = game.start

    def __str__(self) -> str:
        position = self.moment.position
        return f"{position.left}{position.heights}{position.tops}{position.to_move}"

    def current_player(self) -> int:
        """Return whose turn it is."""
        position = self.moment.position
        return position.to_move if position.outcome is None else int(pyspiel.PlayerId.TERMINAL)

    def is_terminal(self) -> bool:
        """Say whether the game is over."""
        return self.moment.position.outcome is not None

    def returns(self) -> list[float]:
        """Return what each player has gained."""
        outcome = self.moment.position.outcome
        if outcome is None or outcome.winner is None:
            return [0.0, 0.0]
        return [1.0, -1.0] if outcome.winner == 0 else [-1.0, 1.0]

    def _legal_actions(self, player: int) -> list[int]:  # noqa: ARG002 - OpenSpiel's signature
        return list(self.moment.position.legal)

    def _apply_action(self, action: int) -> None:
        self.moment = Moment(self.moment.position.place(action))

    def _action_to_string(self, player: int, action: int) -> str:  # noqa: ARG002 - likewise
        return str(action)
