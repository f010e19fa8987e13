"""The full-screen app: screens on Textual that show a game at this machine, and decide nothing."""
