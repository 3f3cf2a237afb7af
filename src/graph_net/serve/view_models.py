"""Cost models: their cards and training notes."""

from __future__ import annotations

import json

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from graph_net.learn.cost_model import ModelHeader, read_header
from graph_net.learn.learning_set import LearnError
from graph_net.learn.training_note import CARD, read_note
from graph_net.serve.commands import command, copied
from graph_net.serve.holdings import Held, HeldKind
from graph_net.serve.markdown import to_html
from graph_net.serve.markup import Child, Html, facts, link, table, tag
from graph_net.serve.shell import crumbs, heading, page
from graph_net.serve.state import ServedState
from graph_net.store.files import read_text

LONGEST_CARD = 1 << 20


def models(state: ServedState, request: Request) -> Response:
    """Return all models."""
    held = state.holdings().of(HeldKind.MODEL)
    hint = tag("p", "No models are served: graph-net learn makes one.")
    body = table(["model", "kind", "learned from", "operators"], map(_row, held)) if held else hint
    return HTMLResponse(page("Models", "/models", heading("Models"), body))


def _row(held: Held) -> list[Child]:
    name = link(held.name, "/model", name=held.name)
    try:
        header = read_header(held.path)
    except LearnError as error:
        return [name, tag("span", str(error), class_="warning"), "", ""]
    domain = header.domain
    learned = f"{domain.programs:,} programs of {domain.tasks:,} tasks"
    return [name, header.name, learned, ", ".join(domain.kinds)]


def model(state: ServedState, request: Request) -> Response:
    """Return the card of a model."""
    held = state.held(request.query_params.get("name", ""), HeldKind.MODEL)
    header = read_header(held.path)
    body: list[Child] = [
        crumbs(("Models", "/models")), heading(held.name, header.name), _facts(header),
        *_note(held), *_card(held),
        tag("section", tag("h2", "Features"),
            tag("details", tag("summary", f"{len(header.domain.columns):,} columns"),
                tag("p", ", ".join(header.domain.columns)))),
    ]  # fmt: skip
    return HTMLResponse(page(held.name, "/models", *body))


def _facts(header: ModelHeader) -> Html:
    try:
        settings = json.loads(header.settings)
    except (ValueError, RecursionError):
        settings = {}
    words = (
        [f"{key} = {value}" for key, value in settings.items()]
        if isinstance(settings, dict)
        else []
    )
    domain = header.domain
    return facts([
        ("settings", ", ".join(words)), ("seed", str(header.seed)),
        ("learned from", f"{domain.programs:,} programs of {domain.tasks:,} tasks"),
        ("operators", ", ".join(domain.kinds)), ("platforms", ", ".join(domain.platforms)),
    ])  # fmt: skip


def _note(held: Held) -> list[Child]:
    """Return the command that evaluates a model; commands from its files are never offered."""
    note = read_note(held.path)
    return [] if note is None else [copied(command("evaluate", str(held.path), note.data))]


def _card(held: Held) -> list[Child]:
    try:
        text = read_text(held.path / CARD, LONGEST_CARD)
    except FileNotFoundError:
        return []
    return [tag("section", tag("h2", "Card"), to_html(text), class_="card")]
