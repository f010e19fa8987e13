"""Classes: the registry, what teachers and pupils see, and their pages."""
