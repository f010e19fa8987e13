"""What takes computing time: asked for with a budget, answered by worker processes."""
