"""Results: Config, Device, Record and Program."""

from graph_net.results.canonical import Json, RecordError, canonical, digest
from graph_net.results.codec import (
    from_json,
    program_from_json,
    program_to_json,
    read_as,
    to_json,
)
from graph_net.results.labels import short_name
from graph_net.results.program import NEVER, Program, Task
from graph_net.results.protocol import ProtocolSettings
from graph_net.results.record import (
    BLAMELESS,
    EQUAL,
    FAMILIES,
    MISMATCHES,
    RETRIED,
    Config,
    Cost,
    Device,
    Failure,
    Output,
    Record,
    Stage,
    Subject,
    Symptom,
    key_of,
)
from graph_net.results.timing import Interval, Samples, Timing, Verdict

__all__ = [
    "BLAMELESS",
    "EQUAL",
    "FAMILIES",
    "MISMATCHES",
    "NEVER",
    "RETRIED",
    "Config",
    "Cost",
    "Device",
    "Failure",
    "Interval",
    "Json",
    "Output",
    "Program",
    "ProtocolSettings",
    "Record",
    "RecordError",
    "Samples",
    "Stage",
    "Subject",
    "Symptom",
    "Task",
    "Timing",
    "Verdict",
    "canonical",
    "digest",
    "from_json",
    "key_of",
    "program_from_json",
    "program_to_json",
    "read_as",
    "short_name",
    "to_json",
]
