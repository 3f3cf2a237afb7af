"""Encoders of programs: rows of several programs in one batch never mix."""

import pytest
import torch
from torch import nn

from graph_net.learn.networks import (
    MOST_ROWS,
    JoinedRows,
    RowAttention,
    RowLstm,
    SegmentSum,
    owners_of,
    pad_rows,
)

ENCODERS = [SegmentSum, RowLstm, RowAttention]
SIZES = torch.tensor([2, 1, 3])


def encoder(kind: type[nn.Module], features: int = 3) -> nn.Module:
    torch.manual_seed(0)
    return kind(features, 8).eval()


def test_rows_are_padded_in_their_order() -> None:
    rows = torch.arange(1.0, 7.0)[:, None]
    assert pad_rows(rows, SIZES)[:, :, 0].tolist() == [[1, 2, 0], [3, 0, 0], [4, 5, 6]]


def test_rows_know_their_program() -> None:
    assert owners_of(SIZES).tolist() == [0, 0, 1, 2, 2, 2]


@pytest.mark.parametrize("kind", ENCODERS)
def test_a_program_is_encoded_the_same_alone_and_among_others(kind: type[nn.Module]) -> None:
    rows, network = torch.randn(6, 3), encoder(kind)
    together = network(rows, SIZES)
    for index, (start, end) in enumerate([(0, 2), (2, 3), (3, 6)]):
        alone = network(rows[start:end], SIZES[index : index + 1])
        torch.testing.assert_close(alone[0], together[index])


@pytest.mark.parametrize(("kind", "ordered"), [(SegmentSum, False), (RowLstm, True)])
def test_the_order_of_rows_counts_for_an_lstm_and_not_for_a_sum(
    kind: type[nn.Module], ordered: bool
) -> None:
    rows, network = torch.randn(4, 3), encoder(kind)
    size = torch.tensor([4])
    same = torch.allclose(network(rows, size), network(rows.flip(0), size), atol=1e-6)
    assert same != ordered


def test_attention_looks_at_so_many_rows_and_no_more() -> None:
    rows, network = torch.randn(MOST_ROWS + 9, 3), encoder(RowAttention)
    found = network(rows, torch.tensor([len(rows)]))
    torch.testing.assert_close(found, network(rows[:MOST_ROWS], torch.tensor([MOST_ROWS])))


def joined() -> nn.Module:
    network = encoder(JoinedRows, 4)
    network.get_buffer("is_store")[1] = 1.0
    return network


def test_statements_and_primitives_may_be_mixed_in_any_order() -> None:
    rows = torch.randn(4, 4)
    rows[:, 1] = torch.tensor([1.0, 0.0, 1.0, 0.0])
    stores_first = rows[[0, 2, 1, 3]]
    size = torch.tensor([4])
    torch.testing.assert_close(joined()(rows, size), joined()(stores_first, size))


def test_a_program_may_lack_statements_or_primitives() -> None:
    rows = torch.randn(3, 4)
    rows[:, 1] = torch.tensor([1.0, 0.0, 0.0])
    found = joined()(rows, torch.tensor([1, 2]))
    assert found.shape == (2, 8)
    assert found.isfinite().all()
