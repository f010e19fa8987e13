"""What exact values mean to a person: hints, reasons, reviews, puzzles and a first lesson."""
