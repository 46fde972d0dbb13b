"""The programs of ../python as NumPy users write them: a function for each, of the same data.

Tests compare with these, and bench/peers.py takes the time of both.
"""
import collections
import threading

import numpy as np


def linear_regression(x, y, steps=100, rate=0.1):
    w, b = np.zeros(x.shape[1], x.dtype), x.dtype.type(0)
    rate = x.dtype.type(rate)
    for _ in range(steps):
        error = x @ w + b - y
        w = w - rate * (x.T @ error) / len(x)
        b = b - rate * error.mean()
    return w, b


def nearest(x, centres):
    distances = np.square(x[:, None, :] - centres).sum(axis=2)
    return distances.argmin(axis=1)


def k_means(x, centres, turns=10):
    for _ in range(turns):
        members = np.eye(len(centres), dtype=x.dtype)[nearest(x, centres)]
        centres = (members.T @ x) / members.sum(axis=0)[:, None]
    return centres, nearest(x, centres)


def laplace(u):
    result = 4 * u
    result[1:] -= u[:-1]
    result[:-1] -= u[1:]
    result[:, 1:] -= u[:, :-1]
    result[:, :-1] -= u[:, 1:]
    return result


def conjugate_gradient(b, steps=50):
    x = np.zeros_like(b)
    r = p = b
    rr = (r * r).sum()
    for _ in range(steps):
        q = laplace(p)
        alpha = rr / (p * q).sum()
        x, r = x + alpha * p, r - alpha * q
        before, rr = rr, (r * r).sum()
        p = r + (rr / before) * p
    return x


def pagerank(sources, degree, turns=30, damping=0.85):
    pages = len(degree)
    rank = np.full(pages, 1 / pages, dtype=degree.dtype)
    for _ in range(turns):
        share = rank / np.maximum(degree, 1)
        lost = rank[degree == 0].sum()
        rank = (1 - damping) / pages + damping * (share[sources].sum(axis=1) + lost / pages)
    return rank


def recurrent(parameters, sequences):
    wx, wh, bias, out = parameters
    results = []
    for sequence in sequences:
        h = np.zeros(len(wh), wh.dtype)
        for x in sequence @ wx + bias:
            h = np.tanh(x + h @ wh)
        scores = h @ out
        scores = scores - scores.max()
        results.append(scores - np.log(np.exp(scores).sum()))
    return np.stack(results)


def life(cells, turns=20):
    for _ in range(turns):
        rows = np.roll(cells, 1, axis=0) + cells + np.roll(cells, -1, axis=0)
        square = np.roll(rows, 1, axis=1) + rows + np.roll(rows, -1, axis=1)
        cells = ((square == 3) | ((square == 4) & (cells == 1))).astype(cells.dtype)
    return cells


def mandelbrot(re, im, turns=50):
    zr, zi = np.zeros((len(im), re.shape[1]), re.dtype), np.zeros((len(im), re.shape[1]), re.dtype)
    count = np.zeros(zr.shape, np.int32)
    for _ in range(turns):
        inside = zr * zr + zi * zi < 4
        zr, zi = np.where(inside, zr * zr - zi * zi + re, zr), np.where(inside, 2 * zr * zi + im, zi)
        count += inside
    return count


def pull(place, mass, soft=0.05):
    apart = place[None, :, :] - place[:, None, :]
    squares = (apart * apart).sum(axis=2) + soft**2
    return ((mass * squares**-1.5)[:, :, None] * apart).sum(axis=1)


def n_body(place, speed, mass, steps=10, dt=0.01):
    force = pull(place, mass)
    for _ in range(steps):
        half = speed + 0.5 * dt * force
        place = place + dt * half
        force = pull(place, mass)
        speed = half + 0.5 * dt * force
    return place, speed


def monte_carlo(paths, seed=6, days=16):
    rng = np.random.default_rng(seed)
    start, strike, rate, volatility, dt = 100.0, 100.0, 0.03, 0.2, 1.0 / days
    log_price, total = np.zeros(paths, np.float32), np.zeros(paths, np.float32)
    for _ in range(days):
        draw = rng.standard_normal(paths, dtype=np.float32)
        log_price += np.float32((rate - 0.5 * volatility**2) * dt) + np.float32(volatility * dt**0.5) * draw
        total += np.float32(start) * np.exp(log_price)
    payoff = np.maximum(total / np.float32(days) - np.float32(strike), 0)
    return np.exp(-rate) * np.array([payoff.mean(), payoff.std(ddof=1) / paths**0.5])


def window(image, weights, axis):
    length = image.shape[axis] - len(weights) + 1
    slices = (image[s : s + length] if axis == 0 else image[:, s : s + length] for s in range(len(weights)))
    return sum(weight * part for weight, part in zip(weights, slices) if weight)


def image_filters(image):
    gauss = [1 / 16, 4 / 16, 6 / 16, 4 / 16, 1 / 16]
    blurred = window(window(image, gauss, 0), gauss, 1)
    sharp = np.clip(1.5 * image[2:-2, 2:-2] - 0.5 * blurred, 0, 1)
    across = window(window(blurred, [1, 2, 1], 0), [-1, 0, 1], 1)
    down = window(window(blurred, [-1, 0, 1], 0), [1, 2, 1], 1)
    edges = np.sqrt(across * across + down * down)
    return sharp, edges, (edges > 0.5).mean()


def softmax(x):
    x = np.exp(x - x.max(axis=-1, keepdims=True))
    return x / x.sum(axis=-1, keepdims=True)


def attention(x, weights, heads=4):
    wq, wk, wv, wo = weights
    width = x.shape[1] // heads
    keys = values = np.zeros((heads, 0, width), x.dtype)
    row, rows = np.zeros(x.shape[1], x.dtype), []
    for token in x:
        row = np.tanh(token + row)
        q, k, v = ((row @ w).reshape(heads, 1, width) for w in (wq, wk, wv))
        keys, values = np.concatenate([keys, k], axis=1), np.concatenate([values, v], axis=1)
        scores = (q @ keys.transpose(0, 2, 1)) * width**-0.5
        row = (softmax(scores) @ values).reshape(-1) @ wo
        rows.append(row)
    return np.stack(rows)


def diffuse(plate, steps):
    for _ in range(steps):
        after = plate.copy()
        middle = plate[1:-1, 1:-1]
        around = plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:]
        after[1:-1, 1:-1] = middle + plate.dtype.type(0.2) * (around - 4 * middle)
        plate = after
    return plate


def two_threads(stripe, spot, steps=100):
    results = [None, None]

    def work(number, plate):
        results[number] = diffuse(plate, steps)

    threads = [threading.Thread(target=work, args=pair) for pair in enumerate((stripe, spot))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return tuple(results)


def far(ours, theirs):
    """The largest difference, in parts of the largest number."""
    return float(np.max(np.abs(ours - theirs.astype(np.float64))) / max(np.max(np.abs(theirs)), 1e-300))


def within(tolerance):
    """Arrays that differ by rounding alone: in what order sums are made, and the last digits of exp and tanh."""

    def agree(ours, theirs):
        return all(far(a, b) <= tolerance for a, b in zip(ours, theirs))

    return agree


def groups_agree(ours, theirs):
    """A point in the middle between two centres may go to either."""
    return far(ours[0], theirs[0]) < 1e-4 and np.mean(ours[1] != theirs[1]) < 0.001


def grids_agree(ours, theirs):
    """Conjugate gradients amplify rounding until they converge: with vdot for sums, NumPy's own differ by 1e-6."""
    return far(ours[0], theirs[0]) < 1e-5


def counts_agree(ours, theirs):
    """Orbits are chaotic at the edge of the set: a difference of rounding there changes when they leave."""
    return np.mean(ours[0] != theirs[0]) < 0.005


def prices_agree(ours, theirs):
    """Other random numbers: four standard errors, and the errors themselves within a tenth."""
    (price, error), (other, other_error) = ours[0], theirs[0]
    return abs(price - other) < 4 * np.hypot(error, other_error) and 0.9 < error / other_error < 1.1


def images_agree(ours, theirs):
    """A pixel at the threshold may count as an edge or not."""
    return within(1e-5)(ours[:2], theirs[:2]) and abs(ours[2] - theirs[2]) < 0.001


# What runs it in NumPy; the sizes that tests use and that are timed; whether results agree.
Case = collections.namedtuple("Case", ["run", "small", "timed", "agree"])
CASES = {
    "linear_regression": Case(linear_regression, 500, 20000, within(1e-5)),
    "k_means": Case(k_means, 400, 20000, groups_agree),
    "conjugate_gradient": Case(conjugate_gradient, 24, 256, grids_agree),
    "pagerank": Case(pagerank, 300, 20000, within(1e-5)),
    "recurrent": Case(recurrent, 30, 100, within(1e-5)),
    "life": Case(life, 31, 512, within(0)),
    "mandelbrot": Case(mandelbrot, 48, 512, counts_agree),
    "n_body": Case(n_body, 40, 256, within(1e-10)),
    "monte_carlo": Case(monte_carlo, 20000, 500000, prices_agree),
    "image_filters": Case(image_filters, 45, 512, images_agree),
    "attention": Case(attention, 24, 128, within(1e-4)),
    "two_threads": Case(two_threads, 24, 256, within(1e-5)),
}


def arrays(value):
    """The data or results of a program as NumPy's, in the same lists and tuples."""
    if isinstance(value, (list, tuple)):
        return type(value)(arrays(part) for part in value)
    return value if isinstance(value, int) else np.asarray(value)


def results(value):
    """Results as a list of arrays."""
    return [np.asarray(part) for part in (value if isinstance(value, tuple) else (value,))]
