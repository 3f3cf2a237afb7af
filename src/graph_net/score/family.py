"""Model families: their members behave alike, so they are drawn together."""

from __future__ import annotations

import re
from functools import lru_cache

_GENERIC = frozenset("tiny random hf internal testing test my the model models".split())
_CLASS = re.compile(r"(?<=[a-z0-9])(?:For[A-Z]|Model|Text|Vision|Audio|Encoder|Decoder|LMHead).*")
_WORD = re.compile(r"[A-Za-z]+")
_VERSION = re.compile(r"([A-Za-z]{2,})[vV]\d")


@lru_cache(maxsize=1 << 16)
def family_of(library: str, model: str) -> str:
    """Return ``library/name``, where name is the model's first word without version or size.

    resnet18 and resnet50d are resnet; BertModel and BertForMaskedLM are bert; mobilenetv3_small
    and mobilenetv4_large are mobilenet; org/tiny-random-Swinv2ForImageClassification is swin.
    """
    name = model.rsplit("/", 1)[-1]
    words = re.split(r"[-_.\s]+", name)
    while len(words) > 1 and (words[0].lower() in _GENERIC or not _WORD.search(words[0])):
        words = words[1:]
    first = _CLASS.sub("", words[0]) or words[0]
    versioned = _VERSION.match(first)
    family = versioned[1] if versioned else (_WORD.match(first) or [first])[0]
    return f"{library}/{family.lower()}"
