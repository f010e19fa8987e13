"""The command `tower`: it translates between a person at a terminal and a table, and decides nothing."""
