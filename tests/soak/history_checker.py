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
        doing = "reads" if self.append is None else f"appends {self.append}"
        request = f"{self.client} {doing} (seen {self.seen}) in {self.game}"
        return f"{request} at {self.invoked}-{self.completed}: {self.end} {self.moves}"


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
    violations = [f"{game} has no end" for game in games if game not in finals]
    for game, final in finals.items():
        violations += _check_game(games[game], tuple(final), game)
    return violations


def _check_game(operations: list[Operation], final: Moves, game: str) -> Iterator[str]:
    answers = [operation for operation in operations if operation.moves is not None]
    for answer in answers:
        if answer.moves != final[: len(answer.moves or ())]:
            yield f"{answer}, but the end of {game} is {final}"
    yield from _check_acknowledged(operations, final)
    yield from _check_sent(operations, answers, final, game)
    yield from _check_sessions(answers)


def _check_acknowledged(operations: list[Operation], final: Moves) -> Iterator[str]:
    first: dict[int, Operation] = {}
    for operation in operations:
        if operation.append is None or operation.end != "ok":
            continue
        ply, block = operation.append
        if operation.moves is None or operation.moves[ply : ply + 1] != (block,):
            yield f"{operation}: acknowledged, and not in the answer"
        if final[ply : ply + 1] != (block,):
            yield f"{operation}: acknowledged, and lost"
        other = first.setdefault(ply, operation)
        if other.append != operation.append:
            yield f"acknowledged for one ply: {other}, and {operation}"


def _check_sent(
    operations: list[Operation], answers: list[Operation], final: Moves, game: str
) -> Iterator[str]:
    """Check that every move was sent before it was seen, and not refused each time."""
    sent: dict[Append, int] = {}
    refused_only: dict[Append, bool] = {}
    for operation in operations:
        if (append := operation.append) is not None:
            sent.setdefault(append, operation.invoked)
            refused_only[append] = refused_only.get(append, True) and operation.end == "fail"
    for ply, block in enumerate(final):
        append = Append(ply, block)
        if append not in sent:
            yield f"block {block} is at ply {ply} of {game}, and nobody sent it"
        elif refused_only[append]:
            yield f"block {block} is at ply {ply} of {game}, and it was refused"
    for answer in answers:
        for ply, block in enumerate(answer.moves or ()):
            if sent.get(Append(ply, block), -1) > (answer.completed or 0):
                yield f"{answer}: block {block} was seen before it was sent"


def _check_sessions(answers: list[Operation]) -> Iterator[str]:
    """Check that no answer is behind what its client named, and no client's answers go back."""
    newest: dict[str, tuple[int, int]] = {}
    for answer in sorted(answers, key=lambda answer: answer.completed or 0):
        length = len(answer.moves or ())
        if length < answer.seen and answer.end == "ok":
            yield f"{answer}: behind what the client has seen"
        before, completed = newest.get(answer.client, (0, -1))
        if answer.end == "ok" and length < before and answer.invoked > completed:
            yield f"{answer}: went back from {before} moves"
        if length > before:
            newest[answer.client] = length, answer.completed or 0
