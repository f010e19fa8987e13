"""Mistakes that a type checker finds: each line with one says which, and no other line has any."""

import number_tower as nt
from number_tower.engine.catalogue import load_everything  # error: attr-defined
from number_tower.envs.gymnasium import NumberTowerEnv
from number_tower.players import Player, make_player
from number_tower.studies import lab
from number_tower.studies.arena import arena, play_out


class Careless(Player):
    """A player that chooses text."""

    def choose(self, game: nt.Game) -> str:  # error: override
        """Return a block as text."""
        return str(game.legal[0])


rules = nt.Rules(target="15")  # error: arg-type
rules = nt.Rules(blocks="1-9")  # error: arg-type
rules = nt.Rules(fit="rising")  # error: arg-type
rules = nt.Rules(height=15)  # error: call-arg
rules = nt.rules(15)  # error: arg-type
game = nt.Game(rules).play("9")  # error: arg-type
game.first = 1  # error: misc
ending = game.winner  # error: attr-defined
winner = game.outcome.winner  # error: union-attr
game = nt.Table(game).play(9)  # error: assignment
solution = nt.solve("draft")  # error: arg-type
quick = nt.solve(game, second=10)  # error: call-arg
if solution.value == "won":  # error: comparison-overlap
    print("never")
number: int = solution.plies  # error: assignment
study = lab.study(rules, position=10)  # error: call-arg
play_out(nt.Table(game), make_player("easy"))  # error: arg-type
arena([rules], ["easy", "perfect"], number="10")  # error: arg-type
env = NumberTowerEnv(rules, seat="first")  # error: arg-type
nt.Position.start(rules).place(block=9.5)  # error: arg-type
unknown = nt.ErrorOfMine  # error: attr-defined
books = load_everything()
