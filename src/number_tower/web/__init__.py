"""The adapter for the browser: pages, a JSON API and live events, for the same tables as everywhere else."""
