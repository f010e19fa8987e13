"""A checker for histories: what several clients asked several servers, and the answers, in order.

A game in which nothing is taken back is a list that only grows: the move of ply n is appended by
exactly one client, and only after the move of ply n - 1. A history is a list of operations on such
lists. An operation is invoked at one time and completed at a later one; times are numbers of one
counter, so no clock is needed. It ends

- `ok`: the server acknowledged it, and said how the game stands;
- `fail`: the server refused it, so it was not and will not be done; the answer may still say how
  the game stands;
- `unknown`: no answer came, or one that does not say whether it was done. It may have been done,
  or be done later.

`find_violations` takes a history and how the games stand at the end, and returns everything that
may not be:

1. two answers, or an answer and the end, that hold different moves for one ply (which
   covers moves that are lost);
2. a move that was acknowledged, and is not at its ply in its own answer or in the end;
3. two different moves that were acknowledged for one ply;
4. a move in the end, or in an answer, that nobody had sent for that ply before it was seen;
5. a move that was refused each time it was sent, and is there all the same;
6. an answer that is behind the state that its client named (`seen`);
7. a client whose answers go back, if it always names the newest state that it has seen.

This is weaker than linearizability in one point, on purpose: a read that names no state may be
late. All appends are linearizable if 1 to 5 hold, since the position in the list is their order and
4 binds it to the order in time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Literal, NamedTuple

End = Literal["ok", "fail", "unknown"]
Moves = tuple[int, ...]


class Append(NamedTuple):
    """A move: the ply that it is for, and the block."""

    ply: int
    block: int


@dataclass
class Operation:
    """Something that a client asked for: a move, or how the game stands."""

    client: str
    game: str
    invoked: int
    append: Append | None = None
    seen: int = 0
    """How many moves the client had seen, as it said when it asked."""
    end: End = "unknown"
    completed: int | None = None
    moves: Moves | None = None
    """How the game stands, as the answer says."""

    def __str__(self) -> str:
        what = (
            "reads"
            if self.append is None
            else f"places {self.append.block} at ply {self.append.ply}"
        )
        times = f"{self.invoked}-{self.completed}"
        return (
            f"{self.client} {what} (seen {self.seen}) in {self.game} at {times}: "
            f"{self.end} {self.moves}"
        )


@dataclass
class History:
    """The operations of all clients, recorded as they happen in one event loop."""

    operations: list[Operation] = field(default_factory=list)
    _time: Iterator[int] = field(default_factory=count)

    def invoke(
        self, client: str, game: str, append: Append | None = None, seen: int = 0
    ) -> Operation:
        """Note that a client asks for something.

        Until it is answered, it is not known whether it is done.
        """
        operation = Operation(client, game, next(self._time), append, seen)
        self.operations.append(operation)
        return operation

    def complete(self, operation: Operation, end: End, moves: Sequence[int] | None = None) -> None:
        """Note how an operation ended, and how the game stands as far as the answer says."""
        operation.end = end
        operation.completed = next(self._time)
        operation.moves = None if moves is None else tuple(moves)


def find_violations(
    operations: Iterable[Operation], finals: Mapping[str, Sequence[int]]
) -> list[str]:
    """Return what may not be in a history, given how every game stands at the end."""
    games: dict[str, list[Operation]] = defaultdict(list)
    for operation in operations:
        games[operation.game].append(operation)
    found = [f"{game} has no end" for game in games if game not in finals]
    for game, final in finals.items():
        found += _check_game(games[game], tuple(final), game)
    return found


def _check_game(operations: list[Operation], final: Moves, game: str) -> Iterator[str]:
    answers = [each for each in operations if each.moves is not None]
    for each in answers:
        if each.moves != final[: len(each.moves or ())]:
            yield f"{each}, but the end of {game} is {final}"
    yield from _check_acknowledged(operations, final)
    yield from _check_sent(operations, answers, final, game)
    yield from _check_sessions(answers)


def _check_acknowledged(operations: list[Operation], final: Moves) -> Iterator[str]:
    first: dict[int, Operation] = {}
    for each in operations:
        if each.append is None or each.end != "ok":
            continue
        ply, block = each.append
        if each.moves is None or each.moves[ply : ply + 1] != (block,):
            yield f"{each}: acknowledged, and not in the answer"
        if final[ply : ply + 1] != (block,):
            yield f"{each}: acknowledged, and lost"
        other = first.setdefault(ply, each)
        if other.append != each.append:
            yield f"acknowledged for one ply: {other}, and {each}"


def _check_sent(
    operations: list[Operation], answers: list[Operation], final: Moves, game: str
) -> Iterator[str]:
    """Check that whatever is there was sent before it was seen, and not refused each time."""
    sent: dict[Append, int] = {}
    refused_only: dict[Append, bool] = {}
    for each in operations:
        if each.append is not None:
            sent.setdefault(each.append, each.invoked)
            refused_only[each.append] = refused_only.get(each.append, True) and each.end == "fail"
    for ply, block in enumerate(final):
        append = Append(ply, block)
        if append not in sent:
            yield f"block {block} is at ply {ply} of {game}, and nobody sent it"
        elif refused_only[append]:
            yield f"block {block} is at ply {ply} of {game}, and it was refused"
    for each in answers:
        for ply, block in enumerate(each.moves or ()):
            if sent.get(Append(ply, block), -1) > (each.completed or 0):
                yield f"{each}: block {block} was seen before it was sent"


def _check_sessions(answers: list[Operation]) -> Iterator[str]:
    """Check that no answer is behind what its client named.

    None goes back for a client that names every state.
    """
    newest: dict[str, tuple[int, int]] = {}
    for each in sorted(answers, key=lambda answer: answer.completed or 0):
        length = len(each.moves or ())
        if length < each.seen and each.end == "ok":
            yield f"{each}: behind what the client has seen"
        before, completed = newest.get(each.client, (0, -1))
        if each.end == "ok" and length < before and each.invoked > completed:
            yield f"{each}: went back from {before} moves"
        if length > before:
            newest[each.client] = length, each.completed or 0
