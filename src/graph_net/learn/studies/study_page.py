"""Write the answer of a study: a page with its command, a plot and a table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from graph_net.learn.studies.study import StudyPicture
from graph_net.learn.studies.study_picture import draw_picture
from graph_net.store.atomic import write_text


@dataclass(frozen=True)
class StudyPage:
    """What a page says, in the order in which it stands there."""

    title: str
    about: str
    command: str
    picture: StudyPicture
    table: str

    def write(self, folder: Path, name: str) -> Path:
        """Write the page and its plot, and return the page."""
        folder.mkdir(parents=True, exist_ok=True)
        picture, page = folder / f"{name}.svg", folder / f"{name}.md"
        draw_picture(self.picture, picture)
        write_text(
            page,
            f"# {self.title}\n\n{self.about} Made by\n\n    {self.command}\n\n"
            f"![{self.title}]({picture.name})\n\n{self.table.strip()}\n",
        )
        return page
