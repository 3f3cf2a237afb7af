"""Results: Config, Device, Failure, Samples, Record and Program."""

from graph_net.results.canonical import Json, RecordError, canonical, digest, json_object
from graph_net.results.codec import from_json, read_as, to_json
from graph_net.results.config import Config, ConfigKind
from graph_net.results.device import Device
from graph_net.results.failure import BLAMELESS, MISMATCHES, RETRIED, Failure, Stage, Symptom
from graph_net.results.labels import short_name
from graph_net.results.program import NEVER, Program, Task
from graph_net.results.program_codec import program_from_json, program_to_json
from graph_net.results.protocol import ProtocolSettings
from graph_net.results.record import EQUAL, FAMILIES, Cost, Output, Record, Subject, key_of
from graph_net.results.timing import Interval, Samples, Timing, Verdict

__all__ = [
    "BLAMELESS",
    "EQUAL",
    "FAMILIES",
    "MISMATCHES",
    "NEVER",
    "RETRIED",
    "Config",
    "ConfigKind",
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
    "json_object",
    "key_of",
    "program_from_json",
    "program_to_json",
    "read_as",
    "short_name",
    "to_json",
]
