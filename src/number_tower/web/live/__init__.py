"""The rooms of a server: perform and store actions, and notify all followers."""
