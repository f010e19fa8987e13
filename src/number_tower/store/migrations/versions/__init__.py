"""One step each, in their order; what has once been released is never changed."""
