"""The games as environments for learning agents, one module for each library; none is loaded before it is used."""

from __future__ import annotations

from number_tower.catalogue import list_names


def list_ids() -> dict[str, dict[str, str]]:
    """Return the ids that environments are registered by, each with what it takes for granted: any game, and each."""
    return {"NumberTower-v0": {}, **{f"NumberTower/{name}-v0": {"game": name} for name in list_names()}}


def register() -> None:
    """Make the games known to Gymnasium; once is enough, and more does no harm."""
    import gymnasium  # noqa: PLC0415 - nothing heavy is loaded before somebody asks for it

    for name, taken in list_ids().items():
        if name not in gymnasium.registry:
            gymnasium.register(
                name,
                "number_tower.envs.gymnasium:NumberTowerEnv",
                vector_entry_point="number_tower.envs.vector:NumberTowerVectorEnv",
                kwargs=taken,
            )
