"""Train a model of Inductor's choices from a collection, and say how well it would have chosen.

    python -m graph_net.search.inductor.train -o MODEL

Our own kernels' programs are learned beside Inductor's. How many choices are kept is calibrated on
networks that the members did not learn from; held-out networks, where the collection has them, are
judged once, by the model that is saved.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from graph_net.learn.cost_model import check_new
from graph_net.learn.learning_set import LearningSet
from graph_net.programs.collection.kernel_tasks import HELD_OUT
from graph_net.programs.triton.target import H200
from graph_net.search.inductor.case import FILE, load_cases
from graph_net.search.inductor.choice_judge import UnseenScores, judge
from graph_net.search.inductor.choice_model import ChoiceModel, model_of, save_choices
from graph_net.search.inductor.choice_rule import ChoiceRule
from graph_net.search.inductor.timed_call import read_timed
from graph_net.search.inductor.training import (
    MEAN,
    REPEATS,
    WORST,
    calibrate,
    cross_validate,
    fixed,
    random_scores,
    roofline_scores,
    rule_of,
    score_unseen,
    train_texts,
)
from graph_net.search.inductor.training_data import TimedTiles, kernel_set, timed_tiles

HEADER = "| rule | tiles offered | kept | effort | time, mean ratio | worst | within 2 % |"
LINE = "|---|---|---|---|---|---|---|"
COUNTS = (1, 2, 3, 5, 8)
TIMINGS = Path("dataset/inductor/h200.jsonl.gz")


def main(arguments: Sequence[str] | None = None) -> int:
    """Train, judge and save a model."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("timings", type=Path, nargs="?", default=TIMINGS)
    parser.add_argument("-o", "--output", type=Path, help="a new folder for the model")
    parser.add_argument("--cases", type=Path, default=FILE)
    parser.add_argument("--programs", type=Path, default=Path("dataset/programs/h200"))
    parser.add_argument("--alone", action="store_true", help="without our own kernels' programs")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    if given.output is not None:
        check_new(given.output)
    learned, tested = (_operations(given, held_out) for held_out in (False, True))
    if len(learned) < 2:
        print(f"{given.timings} has no timed operations of {given.cases}: collect them first")
        return 2
    before = None if given.alone else kernel_set(given.programs, HELD_OUT)
    scored = cross_validate(learned, before, H200, given.seed)
    texts = train_texts(learned, before, given.seed)
    model = calibrate(model_of(rule_of(learned, H200), texts), scored)
    tables = _tables(model, scored, tested)
    print(tables)
    if given.output is not None:
        card = _card(model, learned, before, tables, given)
        save_choices(model.rule, texts, given.output, card)
    return 0


def _operations(given: argparse.Namespace, held_out: bool) -> list[TimedTiles]:
    cases = [case for case in load_cases(given.cases) if case.held_out == held_out]
    return timed_tiles(read_timed(given.timings), H200, cases)


def _tables(
    model: ChoiceModel, scored: Sequence[UnseenScores], tested: Sequence[TimedTiles]
) -> str:
    texts = []
    unseen = f"unseen folds, {REPEATS} times"
    parts = [(unseen, scored), ("held-out networks", score_unseen(model, tested))]
    for kind in dict.fromkeys(one.operation.kind for one in scored):
        for name, all_of in parts:
            if part := [one for one in all_of if one.operation.kind == kind]:
                texts.append(_table(f"{kind} of {name}", model, part))
    return "\n\n".join(texts)


def _table(name: str, model: ChoiceModel, scored: Sequence[UnseenScores]) -> str:
    count = len({one.operation.key for one in scored})
    rows = [f"{count} {name}:", "", HEADER, LINE]
    spaces = [(True, "default"), (False, "widened")]
    if all(all(one.operation.default) for one in scored):  # nothing was drawn
        spaces = spaces[:1]
    for default, space in spaces:
        rows += [
            judge(fixed(model, count), scored, default).line(f"{space}, {count} always")
            for count in COUNTS
        ]
        rows.append(judge(model, scored, default).line(f"{space}, by its rule"))
        rows += _baselines(model, scored, default, space)
    return "\n".join(rows)


def _baselines(
    model: ChoiceModel, scored: Sequence[UnseenScores], default: bool, space: str
) -> list[str]:
    """Return table rows of untrained models that keep as many, on average."""
    most = max(1, round(judge(model, scored, default).tiles))
    operations = list({one.operation.key: one.operation for one in scored}.values())
    same, chances = fixed(model, most), [random_scores(operations, seed) for seed in range(20)]
    chance = judge(same, [one for drawn in chances for one in drawn], default)
    return [
        judge(same, roofline_scores(operations), default).line(f"{space}, {most} by a roofline"),
        chance.line(f"{space}, {most} at random"),
    ]


def _card(
    model: ChoiceModel,
    learned: Sequence[TimedTiles],
    before: LearningSet | None,
    tables: str,
    given: argparse.Namespace,
) -> str:
    """Return the model card."""
    rule = model.rule
    most = max(one.most for one in rule.kernels.values())
    tiles = sum(len(one.tiles) for one in learned)
    beside = "nothing else" if before is None else f"{len(before):,} programs of our own kernels"
    return f"""# A model of Inductor's choices

Keeps 1 to {most} Triton tiles of an operation before Inductor compiles them.

- Learned from {tiles:,} tiles of {len(learned)} operations (`{given.timings.name}`, torch 2.11 and
  Triton 3.6 on an NVIDIA H200) and {beside}; {rule.members} members of LightGBM, seed {given.seed}.
- Domain: {rule.arch}; the kernels and dtypes of the table; static shapes whose sizes are at most
  twice beyond those of training, of products and convolutions together. Everything else is left
  as it is.
- Rule: a tile is kept where its predicted log time is within a margin of the best, and more for
  each standard deviation between the members. A tile's effort is its seconds of compiling over
  those of the median tile: the margin is divided by it, and all that is kept has at most the
  budget's. A rule has the least effort at a loss of at most {MEAN - 1:.1%} on average and
  {WORST - 1:.0%} for one operation, on unseen folds of the training operations, in each of
  {REPEATS} cross-validations.

{kernel_table(rule)}

The tables replay the times of the data set. A ratio is the best time that is left over the best
that was offered, ATen among both; effort is the seconds of compiling what is kept over those of
what is offered. Rules are calibrated on the folds, so held-out networks are the test.

{tables}
"""


def kernel_table(rule: ChoiceRule) -> str:
    """Return the rules of a model's kernels as a table."""
    names = ("kernel", "dtypes", "margin", "for doubt", "budget", "seconds of a tile")
    rows = [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    for name, one in rule.kernels.items():
        numbers = f"{one.margin:g} | {one.doubt:g} | {one.budget:g} | {one.seconds:g}"
        rows.append(f"| `{name}` | {', '.join(one.dtypes)} | {numbers} |")
    return "\n".join(rows)


if __name__ == "__main__":
    raise SystemExit(main())
