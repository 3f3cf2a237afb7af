"""A study that costs nothing, where nodes can import it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graph_net.learn.studies.study import Settings, Study, StudyCell, StudyData, StudyPicture
from graph_net.results import Json


class Doubling(Study[StudyData]):
    """A study whose trainings are a multiplication."""

    name, title, about = "doubling", "Doubling", "Twice a seed."

    def cells(self, data: StudyData, seeds: Sequence[int]) -> list[Settings]:
        return [{"seed": seed} for seed in seeds]

    def compute(self, data: StudyData, settings: Settings) -> Mapping[str, Json]:
        if settings["seed"] == 3:
            raise ValueError("three is not learned")
        return {"result": 2 * int(str(settings["seed"]))}

    def table(self, cells: Sequence[StudyCell]) -> str:
        return ""

    def picture(self, cells: Sequence[StudyCell]) -> StudyPicture:
        raise NotImplementedError
