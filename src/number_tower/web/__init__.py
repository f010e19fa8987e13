"""The adapter for the browser: pages, a JSON API and live events."""
