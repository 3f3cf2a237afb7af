"""The glossary: one word, one meaning, and the words that have several are named."""

from __future__ import annotations

import re
from collections import Counter

from docs.snippets import ROOT

TEXT = (ROOT / "docs/glossary.md").read_text("utf-8")
ENTRIES = re.findall(r"^\| (\*\*.*?) \|", TEXT, re.MULTILINE)
WORDS = Counter(word for entry in ENTRIES for word in re.findall(r"\*\*(.+?)\*\*", entry))


def test_the_nouns_everything_is_made_of_have_an_entry() -> None:
    nouns = {"graph", "config", "device", "record", "program", "task", "schedule", "trial", "pack"}
    assert nouns <= WORDS.keys()


def test_a_word_with_two_entries_says_which_is_meant_and_is_named_at_the_end() -> None:
    twice = {word for word, entries in WORDS.items() if entries > 1}
    for word in twice:
        senses = [entry for entry in ENTRIES if f"**{word}**" in entry]
        assert sum("(" not in sense for sense in senses) <= 1, senses
    last = TEXT.rpartition("several senses")[2]
    assert twice <= set(re.findall(r"\*(\w+)\*", last))


def test_a_word_in_italics_has_an_entry() -> None:
    listed = {re.sub(r"\s.*", "", word) for word in WORDS}
    defined_in_place = {"role", "kind", "mini selection", "curve", "weight", "italics"}
    used = set(re.findall(r"(?<!\*)\*([a-z ]+)\*(?!\*)", TEXT))
    assert used - listed - set(WORDS) == defined_in_place
