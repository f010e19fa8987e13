"""What people and models read: messages, short descriptions, prompts, and how a game ended."""
