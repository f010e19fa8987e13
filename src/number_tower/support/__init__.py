"""Text, files and the installation: what is about no game."""
