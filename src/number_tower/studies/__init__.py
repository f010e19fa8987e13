"""Many games and many rules: matches, evaluations and the rules lab."""
