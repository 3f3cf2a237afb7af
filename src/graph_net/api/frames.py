"""Rows as a pandas data frame; pandas is optional."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def data_frame(
    rows: Iterable[Mapping[str, Any] | tuple[Any, ...]], columns: list[str] | None = None
) -> pd.DataFrame:
    """Return rows as a data frame."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("data frames need pandas: pip install pandas") from error
    return pd.DataFrame(list(rows), columns=columns)
