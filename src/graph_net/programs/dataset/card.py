"""The card of a data set of programs, as the Hugging Face Hub reads it."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from graph_net.corpus.card import size_category
from graph_net.programs.dataset.columns import ABOUT, DESCRIPTIONS, SCHEMAS, plain
from graph_net.programs.dataset.dataset import PATTERNS
from graph_net.programs.dataset.splits import RULES, lacking
from graph_net.programs.dataset.stats import Platform, markdown
from graph_net.programs.store.columns import COLUMNS

FILE = "README.md"
TAGS = ("tensor-programs", "compilers", "auto-tuning", "cost-models", "tvm", "triton", "benchmark")


def described(platforms: Sequence[Platform]) -> str:
    """Return the data set in a sentence."""
    programs, tasks = (
        sum(n) for n in zip(*((p.programs, len(p.tasks)) for p in platforms), strict=True)
    )
    where = " and ".join(platform.device for platform in platforms)
    return (
        f"{programs:,} measured programs of {tasks:,} tasks of networks on {where}, every run kept."
    )


def card(platforms: Sequence[Platform]) -> str:
    """Return the card: front matter for tools, then a page for people."""
    lines = ["---", "license: mit", "pretty_name: GraphNet programs"]
    lines += ["task_categories:", "- tabular-regression", "tags:", *(f"- {tag}" for tag in TAGS)]
    lines += [
        "size_categories:",
        f"- {size_category(sum(platform.programs for platform in platforms))}",
        "configs:",
    ]
    lines += [
        line
        for platform in platforms
        for table in platform.files
        for line in _config(platform, table, platforms[0])
    ]
    lines += ["dataset_info:"]
    lines += [
        line
        for platform in platforms
        for table in platform.files
        for line in _info(platform, table)
    ]
    return "\n".join([*lines, "---"]) + "\n" + _text(platforms)


def _config(platform: Platform, table: str, first: Platform) -> list[str]:
    default = ["  default: true"] if platform is first and table == "programs" else []
    path = f"{platform.name}/{PATTERNS[table]}"
    head = [f"- config_name: {platform.name}_{table}", *default, "  data_files:"]
    return [*head, f"  - split: {table}", f"    path: {path}"]


def _info(platform: Platform, table: str) -> list[str]:
    """Return the types of dictionary-encoded columns, which the Hub's reader cannot infer."""
    lines = [f"- config_name: {platform.name}_{table}", "  features:"]
    for field in platform.schemas[table]:
        kind = plain(field.type)
        what = f"sequence: {_word(kind.value_type)}" if pa.types.is_list(kind) else ""
        lines += [f"  - name: {field.name}", f"    {what or 'dtype: ' + _word(kind)}"]
    return lines


def _word(kind: pa.DataType) -> str:
    names = {pa.float64(): "float64", pa.float16(): "float16"}
    return names.get(kind, str(kind))


def _text(platforms: Sequence[Platform]) -> str:
    names = [platform.name for platform in platforms]
    held = "\n".join(f"- `{platform.name}`: {_held(platform)}" for platform in platforms)
    rules = "\n".join(f"- `{rule}`: {text}" for rule, text in RULES.items())
    return f"""
# Programs: measured schedules of the subgraphs of networks

{described(platforms)}
A *task* is a subgraph on a platform, a *program* one of its schedules; drawn and measured by
`graph-net`, as TenSet did it in 2021.

{markdown(platforms)}

"Typical / best" is the time of a network's tasks with the median program of each, over that with
the best; a task counts as often as the network calls it. Torch runs eagerly, operator by operator.

## Splits

`splits.json` names the tasks to test with (values of the column `task`), by rule and platform;
every other task is for training. No id of a graph is on both sides, but within tasks and by
platform, where that is the question. Leave out tasks with one program when learning.

{rules}

Held-out networks:

{held}

## Reading it

    graph-net query -r {names[0]} "SELECT task, kernel, min(cost) FROM programs GROUP BY ALL"
    graph-net programs show TASK -r {names[0]}

{_reading(platforms)}
{_columns(platforms)}
`croissant.json` describes these files for tools that read Croissant. There are no personal data.
Made by `graph-net programs card`.
"""  # noqa: S608 - a page, not a question


def _held(platform: Platform) -> str:
    """Return the held-out networks of a platform, and what its split lacks."""
    missing = lacking(platform.tasks, platform.split)
    return (", ".join(platform.split.held_out) or "none") + (f" ({missing})" if missing else "")


def _reading(platforms: Sequence[Platform]) -> str:
    """Return how to read the files without GraphNet."""
    plain = [platform.name for platform in platforms if not platform.packed]
    packed = [platform.name for platform in platforms if platform.packed]
    text = ""
    if plain:
        text += f"""Without GraphNet, any reader of Parquet reads the programs, one per row:

```python
import pandas

programs = pandas.read_parquet("{plain[-1]}/programs-plain.parquet")
programs = programs[~programs["again"]]  # the first measurement of each
```

`again` marks second measurements, which tell the noise: leave them out where programs are counted
or learned from.
"""
    if packed:
        text += f"""`{", ".join(packed)}` is packed: `costs` (seconds of every run), their mean
`cost` and `schedule` are computed from smaller columns. DuckDB reads them with this view:

```sql
{view(packed[0])}
```
"""
    return text


def view(platform: str) -> str:
    """Return a DuckDB view of a platform's packed files, with the columns that queries use."""
    stored = ", ".join(name for name, how in COLUMNS.items() if name == how)
    computed = [
        f"{' '.join(how.split())} AS {name}" for name, how in COLUMNS.items() if name != how
    ]
    columns = ",\n  ".join([stored, *computed])
    return f"CREATE VIEW programs AS SELECT\n  {columns}\nFROM '{platform}/programs-*.parquet';"


def _columns(platforms: Sequence[Platform]) -> str:
    """Describe every column of the platforms, table by table."""
    present: dict[str, set[str]] = {}
    for platform in platforms:
        for table, schema in platform.schemas.items():
            kind = "packed" if table == "programs" and platform.packed else table
            present.setdefault(kind, set()).update(schema.names)
    parts = []
    for kind in (kind for kind in SCHEMAS if kind in present):
        names = [name for name in SCHEMAS[kind].names if name in present[kind]]
        rows = [f"| `{name}` | {DESCRIPTIONS[kind][name]} |" for name in names]
        title = "Programs, packed" if kind == "packed" else kind.capitalize()
        head = [f"## {title}", "", ABOUT[kind], "", "| column | what it is |"]
        parts += [*head, "|---|---|", *rows, ""]
    return "\n".join(parts)
