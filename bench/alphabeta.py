"""The search that a careful person would write for `draft`: alpha-beta with bit masks and a dict, and nothing else.

It knows this one game and no theory, and is what the general search is measured against at a size beyond the rulebook.
"""

from __future__ import annotations

WIN, LEVEL, LOSS = 1, 0, -1


class Draft:
    """The blocks 1 to `blocks` in one pool, a tower each that may not widen, and a target."""

    def __init__(self, blocks: int, target: int) -> None:
        self.target = target
        self.pool = (2 << blocks) - 2
        self._up_to = [(2 << number) - 2 for number in range(max(blocks, target) + 1)]
        self._known: dict[tuple[int, int, int, int, int], tuple[int, int]] = {}

    @property
    def positions(self) -> int:
        """How many positions were searched."""
        return len(self._known)

    def value(self) -> int:
        """Return what the start is worth to the player who moves first."""
        top = self.pool.bit_length() - 1
        return self._search((self.pool, 0, top, 0, top), LOSS, WIN)

    def _search(self, position: tuple[int, int, int, int, int], low: int, high: int) -> int:
        """Return the value if it lies between the bounds, and otherwise a bound that says on which side."""
        pool, mine, my_top, yours, your_top = position
        rest = self.target - mine
        legal = pool & self._up_to[my_top] & self._up_to[rest]
        if not legal:
            if pool & self._up_to[your_top] & self._up_to[self.target - yours]:
                return -self._search((pool, yours, your_top, mine, my_top), -high, -low)
            return (mine > yours) - (mine < yours)
        if legal >> rest & 1:
            return WIN
        least, most = self._known.get(position, (LOSS, WIN))
        if least >= high or least == most:
            return least
        if most <= low:
            return most
        low, high = max(low, least), min(high, most)
        best, bound = LOSS, low
        while legal and best < high:
            block = legal.bit_length() - 1
            legal ^= 1 << block
            after = pool ^ 1 << block, yours, your_top, mine + block, block
            best = max(best, -self._search(after, -high, -bound))
            bound = max(bound, best)
        self._known[position] = (least if best <= low else best, most if best >= high else best)
        return best
