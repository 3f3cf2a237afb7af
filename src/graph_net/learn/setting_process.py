"""A Gaussian process over settings, with similarity counted setting by setting.

The kernel has an additive part (the weighted share of equal settings) and an exponential part (of
the weighted number of different ones). Weights, scales and noise maximise the likelihood on a
sample. The noise of a cost decreases with the number of its runs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graph_net.learn.metrics import Floats, Ints

STEPS, RATE, PRIOR = 40, 0.1, 0.02
SAMPLE = 300
"""Configurations that weights are fitted to."""
MOST = 2000
"""Most configurations that a prediction uses."""
JITTER = 1e-4
AT_ONCE = 1 << 24
Codes = NDArray[np.int32]


@dataclass(frozen=True)
class SettingProcess:
    """A fitted process: weights of settings, scales, and the training configurations."""

    codes: Codes
    """Shape: configurations × settings."""
    weights: Floats
    shares: Floats
    scales: Floats
    """Scales of the exponential and of the additive part."""
    solved: Floats
    """Inverse of the kernel matrix times the values."""

    @staticmethod
    def fit(codes: Codes, values: Floats, runs: Ints, seed: int = 0) -> SettingProcess:
        """Fit to configurations and their values, each the median of ``runs`` runs."""
        generator = np.random.default_rng(seed)
        kept = np.sort(generator.permutation(len(codes))[:MOST])
        codes, values, runs = codes[kept], values[kept], runs[kept]
        sample = generator.permutation(len(codes))[:SAMPLE]
        found = _fit_weights(codes[sample], values[sample], runs[sample])
        with torch.no_grad():
            kernel = found.kernel(_differences(codes, codes))
            kernel += torch.diag(found.noise(torch.from_numpy(runs.astype(np.float64))))
            solved = torch.linalg.solve(kernel, torch.from_numpy(values))
        return SettingProcess(
            codes,
            found.weights.exp().detach().numpy(),
            torch.softmax(found.shares, 0).detach().numpy(),
            found.scales[:2].exp().detach().numpy(),
            solved.numpy(),
        )

    def predict(self, codes: Codes) -> Floats:
        """Return the posterior mean at configurations."""
        step = max(1, AT_ONCE // max(1, self.codes.size))
        parts = [self._mean(codes[at : at + step]) for at in range(0, len(codes), step)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _mean(self, codes: Codes) -> Floats:
        differ = (codes[:, None, :] != self.codes[None]).astype(np.float64)
        kernel = self.scales[0] * np.exp(-(differ @ self.weights))
        kernel += self.scales[1] * ((1 - differ) @ self.shares)
        return np.asarray(kernel @ self.solved)


class _Weights:
    """The parameters of the likelihood, as logarithms."""

    def __init__(self, settings: int) -> None:
        self.first = float(-np.log(max(1, settings)))
        self.weights = _parameter(torch.full((settings,), self.first, dtype=torch.float64))
        self.shares = _parameter(torch.full((settings,), self.first, dtype=torch.float64))
        self.scales = _parameter(torch.tensor([0.0, 0.0, -2.0, -4.0], dtype=torch.float64))

    def kernel(self, differ: Tensor) -> Tensor:
        """Return the kernel; ``differ`` is (one, other, setting), 1 where settings differ."""
        apart = torch.exp(-(differ @ self.weights.exp()))
        alike = (1 - differ) @ torch.softmax(self.shares, 0)
        return self.scales[0].exp() * apart + self.scales[1].exp() * alike

    def noise(self, runs: Tensor) -> Tensor:
        """Return the variance of values that are medians of ``runs`` runs."""
        return self.scales[2].exp() / runs + self.scales[3].exp() + JITTER

    def penalty(self) -> Tensor:
        """Return a penalty on unequal weights."""
        one, other = self.weights - self.first, self.shares - self.first
        return PRIOR * ((one**2).sum() + (other**2).sum())


def _fit_weights(codes: Codes, values: Floats, runs: Ints) -> _Weights:
    found = _Weights(codes.shape[1])
    differ = _differences(codes, codes)
    target, counts = torch.from_numpy(values), torch.from_numpy(runs.astype(np.float64))
    optimizer = torch.optim.Adam([found.weights, found.shares, found.scales], lr=RATE)
    for _ in range(STEPS):
        factor = torch.linalg.cholesky(found.kernel(differ) + torch.diag(found.noise(counts)))
        solved = torch.cholesky_solve(target[:, None], factor)[:, 0]
        likelihood = 0.5 * (target @ solved) + factor.diagonal().log().sum()
        optimizer.zero_grad()
        torch.autograd.backward(likelihood + found.penalty())
        optimizer.step()
    return found


def _differences(one: Codes, other: Codes) -> Tensor:
    return torch.from_numpy((one[:, None, :] != other[None]).astype(np.float64))


def _parameter(values: Tensor) -> Tensor:
    return values.requires_grad_()
