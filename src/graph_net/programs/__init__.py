"""Programs of our own: the tasks of networks, and their schedules, collected and looked at."""
