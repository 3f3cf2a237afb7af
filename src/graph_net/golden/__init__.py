"""Golden runs: graphs stored with their outputs and times, run again elsewhere and judged."""
