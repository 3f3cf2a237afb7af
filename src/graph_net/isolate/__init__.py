"""Calls and pools in confined processes that may die; standard library only."""

from graph_net.isolate.call import Died as Died
from graph_net.isolate.call import Raised as Raised
from graph_net.isolate.call import call as call
from graph_net.isolate.deaths import Death as Death
from graph_net.isolate.deaths import Ending as Ending
from graph_net.isolate.limits import Limits as Limits
from graph_net.isolate.pool import MakePool as MakePool
from graph_net.isolate.pool import Pool as Pool
from graph_net.isolate.pool import WorkPool as WorkPool
from graph_net.isolate.sandbox import INHERITED as INHERITED
from graph_net.isolate.sandbox import Confinement as Confinement
from graph_net.isolate.sandbox import Needs as Needs
from graph_net.isolate.sandbox import Sandbox as Sandbox
from graph_net.isolate.sandbox import confine as confine
from graph_net.isolate.worker import Batch as Batch
from graph_net.isolate.worker import Finished as Finished
from graph_net.isolate.worker import enter as enter
