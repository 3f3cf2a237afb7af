"""The two consoles of the command line, and their tables."""

from __future__ import annotations

from graph_net.display.terminal import err as err
from graph_net.display.terminal import new_table as new_table
from graph_net.display.terminal import out as out
