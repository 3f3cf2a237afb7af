"""Processes that may die, and what they can reach: the lowest room, standard library only."""

from graph_net.isolate.call import Died as Died
from graph_net.isolate.call import Raised as Raised
from graph_net.isolate.call import call as call
from graph_net.isolate.call import enter as enter
from graph_net.isolate.limits import Limits as Limits
from graph_net.isolate.sandbox import Confinement as Confinement
from graph_net.isolate.sandbox import Needs as Needs
from graph_net.isolate.sandbox import Sandbox as Sandbox
from graph_net.isolate.sandbox import confine as confine
