"""Play at this machine: sessions, the command `tower` and the full-screen app."""
