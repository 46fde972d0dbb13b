"""The price of an Asian option, by Monte Carlo.

Shows random numbers inside of a kernel: prices of all days of a path are drawn, followed and averaged without storing
any of them.

    python monte_carlo.py [PATHS]
"""
import sys

import laze

START, STRIKE, RATE, VOLATILITY, DAYS = 100.0, 100.0, 0.03, 0.2, 16


def data(paths):
    return (paths,)


def run(paths, seed=6):
    """The price and its standard error."""
    laze.manual_seed(seed)
    dt = 1.0 / DAYS
    log_price, total = laze.zeros(paths), laze.zeros(paths)
    for _ in range(DAYS):
        log_price = log_price + (RATE - 0.5 * VOLATILITY**2) * dt + VOLATILITY * dt**0.5 * laze.randn(paths)
        total = total + START * log_price.exp()
    payoff = (total / DAYS - STRIKE).relu()
    discount = laze.exp(laze.tensor(-RATE))
    return laze.stack([discount * payoff.mean(), discount * payoff.var().sqrt() / paths**0.5]).evaluate()


if __name__ == "__main__":
    price, error = run(*data(int(sys.argv[1]) if len(sys.argv) > 1 else 1000000)).tolist()
    print(f"price {price:.3f} +- {error:.3f}")
