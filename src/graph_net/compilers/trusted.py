"""The one way from a stored configuration to a compiler.

A Config in a record, a plan or a golden run comes from whoever wrote the file. It chooses among the
registered compilers and their declared options. A file to import, or an option that may reach a
command line, is accepted only from the command line.
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
MOST_QUOTED = 200
"""The most characters of a stored text that an error quotes."""


class UntrustedConfig(CompilerError):
    """A stored configuration asks for more than a file may."""


def trusted_config(stored: Config, typed: Iterable[Config] = ()) -> Config:
    """Return a stored configuration that may be run, with the version installed here.

    ``typed`` are configurations from this command's own arguments. Naming a compiler there allows
    its name, naming the options too allows them. Raises UntrustedConfig if the file asks for more.
    """
    if stored.kind != KIND:
        raise UntrustedConfig(f"a configuration of kind {stored.kind} is not a compiler's")
    named = [config for config in typed if config.name == stored.name]
    for config in named:
        if dict(config.options) == dict(stored.options):
            return config
    if not named and ALIASES.get(stored.name, stored.name) not in compiler_names():
        raise UntrustedConfig(_unknown_compiler(stored.name))
    compiler = create(stored.name)
    refused = [key for key, value in stored.options.items() if not _may_store(compiler, key, value)]
    if refused:
        raise UntrustedConfig(
            f"a file may not set {', '.join(map(_quote, refused[:5]))} of {compiler.name}; "
            "name the compiler with these options on the command line, as NAME[OPTION=VALUE]"
        )
    return config_here(stored.name, {**compiler.before_declared, **stored.options})


def config_here(name: str, options: Mapping[str, Json]) -> Config:
    """Return the configuration of a compiler as installed here; its options are checked."""
    compiler = create(name, options)
    version = "" if compiler.missing() else compiler.version()
    path = Path(name.partition(":")[0])
    if path.suffix == ".py":
        # A user's own file: its content is its version, and its class is part of its name.
        name = f"{path.absolute()}:{type(compiler).__name__}"
        version = f"{version}+{sha256(read_bytes(path)).hexdigest()[:12]}"
    return Config(KIND, name, version, dict(compiler.options))


def _may_store(compiler: Compiler, key: str, value: Json) -> bool:
    if key in compiler.defaults:
        return option_of(compiler.defaults[key]).takes_stored(value)
    return key in compiler.stored_options and compiler.stored_options[key].takes_stored(value)


def _unknown_compiler(name: str) -> str:
    if ".py" in name:
        return (
            f"the compiler {_quote(name)} is a file, and no stored file may have another one "
            "imported; name it on the command line, as path/to/file.py:Name"
        )
    return f"unknown compiler {_quote(name)}; known: {', '.join(compiler_names())}"


def _quote(text: str) -> str:
    """Return a stored text escaped for an error: it cannot move a cursor or end the sentence."""
    return ascii(text if len(text) <= MOST_QUOTED else f"{text[:MOST_QUOTED]}…")
