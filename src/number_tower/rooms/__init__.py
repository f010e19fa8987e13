"""People at a distance: a game in a room, a class, and who plays whom."""
