"""A Gaussian process over the parameters of a listed space.

The covariance is a product over parameters of 1 - c + c k, where k is Matérn 5/2 over the features
of that parameter and c is learned. Its terms are the effects of single parameters, of pairs, of
triples and so on, so that little is learned about a pair before both single effects are. All is
computed from tables over a parameter's few values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graph_net.learn.metrics import Floats, Ints
from graph_net.search.descent import descend
from graph_net.search.gaussian import (
    HIGHEST,
    JITTER,
    LOG_NOISE,
    LOWEST,
    LOWEST_NOISE,
    NOISE_SPREAD,
    likely_mean,
    matern,
)
from graph_net.search.parameters import Parameter

MEAN_SCALE, SCALE_SPREAD = -1.7, 0.7
"""Prior mean and deviation of the log of an inverse length scale."""
MEAN_SHARE, SHARE_SPREAD, MOST_SHARE = 1.0, 1.0, 5.0
"""Prior mean, deviation and bound of the logit of c."""
FIRST_STEPS, LATER_STEPS = 30, 12
"""Steps of the descent from the prior, and from the settings of some measurements ago."""


@dataclass(frozen=True)
class _Factor:
    """One parameter's factor of the covariance, and its derivatives, by pairs of values."""

    covariance: Floats
    by_scales: Floats
    """By the log inverse length scale of each feature: features × values × values."""
    by_share: Floats
    """By the logit of c."""


@dataclass(frozen=True)
class ParameterProcess:
    """The process given the values of some programs."""

    factors: Sequence[_Factor]
    parameters: Sequence[Parameter]
    programs: Ints
    """Indices of the programs whose values are known."""
    inverse: Floats
    weights: Floats
    mean: float
    variance: float

    def predict(self) -> tuple[Floats, Floats]:
        """Return the mean and the deviation of every program of the space."""
        covariance = np.ones((self.parameters[0].codes.size, self.programs.size))
        for factor, one in zip(self.factors, self.parameters, strict=True):
            covariance *= factor.covariance[:, one.codes[self.programs]][one.codes]
        left = 1 - np.einsum("ij,ij->i", covariance @ self.inverse, covariance)
        deviation = np.sqrt(self.variance * np.maximum(left, 1e-9))
        return self.mean + covariance @ self.weights, deviation


def fit_settings(
    parameters: Sequence[Parameter], programs: Ints, values: Floats, start: Floats | None = None
) -> Floats:
    """Return the settings that best explain values: log inverse length scales, shares, noise."""
    scales, shares = sum(len(one.squares) for one in parameters), len(parameters)
    counts = (scales, shares, 1)
    centre = np.repeat([MEAN_SCALE, MEAN_SHARE, LOG_NOISE], counts)
    width = np.repeat([SCALE_SPREAD, SHARE_SPREAD, NOISE_SPREAD], counts)

    def loss(settings: Floats) -> tuple[float, Floats]:
        value, slope = _loss(parameters, programs, values, settings)
        away = (settings - centre) / width
        return value + float(0.5 * away @ away), slope + away / width

    return descend(
        loss,
        centre if start is None else start,
        np.repeat([LOWEST, -MOST_SHARE, LOWEST_NOISE], counts),
        np.repeat([HIGHEST, MOST_SHARE, 0.0], counts),
        FIRST_STEPS if start is None else LATER_STEPS,
    )


def condition_parameters(
    parameters: Sequence[Parameter], programs: Ints, values: Floats, settings: Floats
) -> ParameterProcess:
    """Return the process with given settings."""
    factors = _factors(parameters, settings)
    covariance = np.ones((programs.size, programs.size))
    for factor, one in zip(factors, parameters, strict=True):
        codes = one.codes[programs]
        covariance *= factor.covariance[np.ix_(codes, codes)]
    inverse = _inverse(covariance, settings)
    mean, weights, variance = likely_mean(inverse, values)
    return ParameterProcess(factors, parameters, programs, inverse, weights, mean, variance)


def _inverse(covariance: Floats, settings: Floats) -> Floats:
    noise = float(np.exp(settings[-1])) + JITTER
    return np.asarray(np.linalg.inv(covariance + noise * np.eye(len(covariance))), np.float64)


def _factors(parameters: Sequence[Parameter], settings: Floats) -> list[_Factor]:
    factors, first = [], 0
    scales = sum(len(one.squares) for one in parameters)
    shares = 1 / (1 + np.exp(-settings[scales:-1]))
    for one, share in zip(parameters, shares.tolist(), strict=True):
        last = first + len(one.squares)
        scaled = np.exp(2 * settings[first:last])[:, None, None] * one.squares
        covariance, slope = matern(scaled.sum(axis=0))
        by_share = share * (1 - share) * (covariance - 1)
        factors.append(
            _Factor(1 - share + share * covariance, 2 * share * slope * scaled, by_share)
        )
        first = last
    return factors


def _loss(
    parameters: Sequence[Parameter], programs: Ints, values: Floats, settings: Floats
) -> tuple[float, Floats]:
    """Return the negative log likelihood of settings, and its gradient."""
    factors, count = _factors(parameters, settings), programs.size
    pairs = [
        (one.codes[programs][:, None] * len(one.squares[0]) + one.codes[programs]).ravel()
        for one in parameters
    ]
    single = [
        factor.covariance.ravel()[pair].reshape(count, count)
        for factor, pair in zip(factors, pairs, strict=True)
    ]
    covariance = np.prod(single, axis=0)
    inverse = _inverse(covariance, settings)
    _, weights, variance = likely_mean(inverse, values)
    loss = 0.5 * count * np.log(variance) - 0.5 * np.linalg.slogdet(inverse)[1]
    outer = 0.5 * (inverse - np.outer(weights, weights) / variance)
    by_scales, by_shares = [], []
    for factor, pair, mine in zip(factors, pairs, single, strict=True):
        others = outer * covariance / np.maximum(mine, 1e-9)
        table = np.bincount(pair, others.ravel(), factor.covariance.size)
        table = table.reshape(factor.covariance.shape)
        by_scales.extend((table * factor.by_scales).sum(axis=(1, 2)).tolist())
        by_shares.append(float((table * factor.by_share).sum()))
    by_noise = float(np.trace(outer) * np.exp(settings[-1]))
    return float(loss), np.array([*by_scales, *by_shares, by_noise])
