"""The one door between a stored configuration and a compiler.

A Config in a record, a plan or a golden run is data of whoever wrote the file. It chooses among
the registered compilers and their declared options; a file to import, or an option that may reach
a command line, is taken from the command line alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path

from graph_net.compilers.compiler import Compiler, CompilerError
from graph_net.compilers.option import Json, option_of
from graph_net.compilers.registry import ALIASES, compiler_names, create
from graph_net.results import Config, ConfigKind
from graph_net.store.files import read_bytes

KIND = ConfigKind.COMPILER
WORDS = 200
"""So many characters of a stored text are quoted in an error."""


class UntrustedConfig(CompilerError):
    """A stored configuration asks for more than a file may."""


def trusted_config(stored: Config, typed: Iterable[Config] = ()) -> Config:
    """Return a stored configuration that may be run, with the version that is here.

    ``typed`` are configurations of this command's own arguments. Naming a compiler there allows
    its name, naming the options too allows them. Raises UntrustedConfig where the file asks for
    more.
    """
    if stored.kind != KIND:
        raise UntrustedConfig(f"a configuration of kind {stored.kind} is not a compiler's")
    named = [config for config in typed if config.name == stored.name]
    for config in named:
        if dict(config.options) == dict(stored.options):
            return config
    if not named and ALIASES.get(stored.name, stored.name) not in compiler_names():
        raise UntrustedConfig(_unknown(stored.name))
    compiler = create(stored.name)
    refused = [key for key, value in stored.options.items() if not _is_stored(compiler, key, value)]
    if refused:
        raise UntrustedConfig(
            f"a file may not set {', '.join(map(_quoted, refused[:5]))} of {compiler.name}; "
            "name the compiler with these options on the command line, as NAME[OPTION=VALUE]"
        )
    return config_here(stored.name, {**compiler.before_declared, **stored.options})


def config_here(name: str, options: Mapping[str, Json]) -> Config:
    """Return the configuration of a compiler as it is on this machine; its options are checked."""
    compiler = create(name, options)
    version = "" if compiler.missing() else compiler.version()
    path = Path(name.partition(":")[0])
    if path.suffix == ".py":
        # A user's own file: what it says is its version, and its class is part of its name.
        name = f"{path.absolute()}:{type(compiler).__name__}"
        version = f"{version}+{sha256(read_bytes(path)).hexdigest()[:12]}"
    return Config(KIND, name, version, dict(compiler.options))


def _is_stored(compiler: Compiler, key: str, value: Json) -> bool:
    if key in compiler.defaults:
        return option_of(compiler.defaults[key]).takes_stored(value)
    return key in compiler.stored_options and compiler.stored_options[key].takes_stored(value)


def _unknown(name: str) -> str:
    if ".py" in name:
        return (
            f"the compiler {_quoted(name)} is a file, and a file is not imported because another "
            "one says so; name it on the command line, as path/to/file.py:Name"
        )
    return f"unknown compiler {_quoted(name)}; known: {', '.join(compiler_names())}"


def _quoted(text: str) -> str:
    """A stored text for an error: no character of it moves a cursor or ends the sentence."""
    return ascii(text if len(text) <= WORDS else f"{text[:WORDS]}…")
