"""What all players share."""

from abc import ABC, abstractmethod

from number_tower.engine.game import Game


class Player(ABC):
    """Chooses moves; all it needs to know is the game so far.

    A class of your own needs a name and `choose`; it may have `close`, to release what it uses.

    Examples:
        >>> from number_tower.players import let_move
        >>> class Largest(Player):
        ...     name = "Largest"
        ...
        ...     def choose(self, game: nt.Game) -> int:
        ...         return game.legal[-1]
        >>> player = Largest()
        >>> let_move(nt.Table(nt.Game()), player).game.moves
        (9,)
        >>> player.close()
    """

    name: str
    """Its name at a table."""

    remark: str = ""
    """A remark about its last choice, such as that it could not be sure."""

    @abstractmethod
    def choose(self, game: Game) -> int:
        """Return the block to place for the player to move; the game is not over."""

    def close(self) -> None:
        """Release all resources; by default there are none."""
        return
