#!/usr/bin/env python3
"""Prints the coefficients that native_functions/special.yaml and its like have: sums of Chebyshev polynomials.

usage: special_coefficients.py     with mpmath

Each is the interpolation of a function at the zeros of T_N, N twice as many as are kept; what is left out is below
2^-54 of the largest. The functions are those of the Digital Library of Mathematical Functions (dlmf.nist.gov), which
mpmath computes to 40 digits.
"""
from mpmath import airyai, airybi, atanh, besseli, besselj, besseljzero, besselk, bessely, cos, digamma, erfc, erfinv, exp
from mpmath import findroot, log, loggamma, mp, mpf, pi, sin, sqrt

mp.dps = 40


def coefficients(function, count, bound=mpf(2)**-54):
    nodes = [cos(pi * (2 * k + 1) / (2 * count)) for k in range(count)]
    values = [function(t) for t in nodes]
    found = [2 * sum(v * cos(pi * j * (2 * k + 1) / (2 * count)) for k, v in enumerate(values)) / count for j in range(count)]
    found[0] /= 2
    largest = max(map(abs, found))
    while abs(found[-1]) < bound * largest:
        found.pop()
    return found


def show(name, function, count=64, bound=mpf(2)**-54):
    found = coefficients(function, count, bound)
    if len(found) > count * 3 / 4:
        raise SystemExit(f"{name}: {len(found)} of {count} coefficients matter")
    print(f"{name} ({len(found)}): [{', '.join(repr(float(c)) for c in found)}]")


def between(low, high):
    """From [-1, 1] to [low, high]."""
    return lambda t: low + (high - low) * (t + 1) / 2


def bessel_far(order):
    """The factors P and x Q of Hankel's expansions (DLMF 10.17.3, 10.17.4), of t = 128 / x^2 - 1."""

    def pair(t):
        x = sqrt(128 / (t + 1))
        angle, scale = x - pi / 4 - order * pi / 2, sqrt(pi * x / 2)
        j, y = besselj(order, x) * scale, bessely(order, x) * scale
        return j * cos(angle) + y * sin(angle), x * (y * cos(angle) - j * sin(angle))

    show(f"J{order} and Y{order}, P, x >= 8, t = 128/x^2 - 1", lambda t: pair(t)[0])
    show(f"J{order} and Y{order}, x Q, x >= 8, t = 128/x^2 - 1", lambda t: pair(t)[1])


def bessel_near(order):
    roots = [besseljzero(order, 1), besseljzero(order, 2)]
    for root in roots:
        print(f"zero of J{order}: {float(root)!r}, and {float(root - mpf(float(root)))!r} more")
    x = lambda t: sqrt(32 * (t + 1))
    show(f"J{order} / x^{order} / (x^2 - r1^2) / (x^2 - r2^2), x <= 8, t = x^2/32 - 1",
         lambda t: besselj(order, x(t)) / x(t)**order / (x(t)**2 - roots[0]**2) / (x(t)**2 - roots[1]**2))
    if order == 0:
        show("Y0 - 2/pi log(x) J0, x <= 8, t = x^2/32 - 1", lambda t: bessely(0, x(t)) - 2 / pi * log(x(t)) * besselj(0, x(t)))
    else:
        show("(Y1 - 2/pi (log(x) J1 - 1/x)) / x, x <= 8, t = x^2/32 - 1",
             lambda t: (bessely(1, x(t)) - 2 / pi * (log(x(t)) * besselj(1, x(t)) - 1 / x(t))) / x(t))


def modified():
    for order in (0, 1):
        near, far = between(0, 8), lambda t: 16 / (t + 1)
        show(f"e^-x I{order} / x^{order}, x <= 8, t = x/4 - 1", lambda t: exp(-near(t)) * besseli(order, near(t)) / near(t)**order)
        show(f"sqrt(x) e^-x I{order}, x >= 8, t = 16/x - 1", lambda t: sqrt(far(t)) * exp(-far(t)) * besseli(order, far(t)))
        x, beyond = lambda t: sqrt(2 * (t + 1)), lambda t: 4 / (t + 1)
        sign = (-1)**order
        show(f"x^{order} (K{order} + {sign} log(x/2) I{order}), x <= 2, t = x^2/2 - 1",
             lambda t: x(t)**order * (besselk(order, x(t)) + sign * log(x(t) / 2) * besseli(order, x(t))))
        show(f"sqrt(x) e^x K{order}, x >= 2, t = 4/x - 1", lambda t: sqrt(beyond(t)) * exp(beyond(t)) * besselk(order, beyond(t)))


def airy():
    start, wave = 2 * sqrt(mpf(8)) / 3, mpf(16) / 3

    def falling(t):
        zeta = 2 * start / (t + 1)
        x = (3 * zeta / 2)**(mpf(2) / 3)
        return 2 * sqrt(pi) * x**mpf("0.25") * exp(zeta) * airyai(x)

    def waves(t):
        zeta = wave * sqrt(2 / (t + 1))
        x = (3 * zeta / 2)**(mpf(2) / 3)
        angle, scale = zeta + pi / 4, sqrt(pi) * x**mpf("0.25")
        a, b = airyai(-x) * scale, airybi(-x) * scale
        return a * sin(angle) + b * cos(angle), zeta * (b * sin(angle) - a * cos(angle))

    show("Ai, -4 <= x <= 2, t = (x + 1)/3", lambda t: airyai(3 * t - 1))
    show("2 sqrt(pi) x^(1/4) e^zeta Ai, x >= 2, t = 2 zeta(2)/zeta - 1", falling)
    show("f of Ai(-x), x >= 4, t = 2 (zeta(4)/zeta)^2 - 1", lambda t: waves(t)[0])
    show("zeta g of Ai(-x), x >= 4, t = 2 (zeta(4)/zeta)^2 - 1", lambda t: waves(t)[1])


def error_function():
    x = lambda t: mpf("3.5") * (1 + t) / (1 - t)
    show("(1 + 2 x) e^(x^2) erfc(x), x >= 0, t = (x - 3.5)/(x + 3.5)", lambda t: (1 + 2 * x(t)) * exp(x(t)**2) * erfc(x(t)))
    show("erfinv(x) / x, x <= 0.5, t = 8 x^2 - 1", lambda t: erfinv(sqrt((t + 1) / 8)) / sqrt((t + 1) / 8))

    def tail(t):
        u = t * mpf("0.75") + mpf("0.05")
        s = 4 * (1 + u) / (1 - u)
        return findroot(lambda y: log(erfc(y)) + s * s, max(s - 0.2, mpf("0.3"))) / s

    show("y / s of erfc(y) = e^(-s^2), t = ((s - 4)/(s + 4) - 0.05) / 0.75", tail, 48, mpf(10)**-8)


def uniform_gamma():
    """The coefficients of Temme's expansion (DLMF 8.12.9 to 8.12.12), as series in eta: with mu = x/a - 1, mu mu' =
    eta (1 + mu), and each is the derivative of the one before, divided by eta, without the pole of g/mu there."""
    count = 48
    mu = [mpf(0), mpf(1)]
    for n in range(2, count + 2):
        mu.append((mu[n - 1] - sum(mu[i] * (n + 1 - i) * mu[n + 1 - i] for i in range(2, n))) / (n + 1))
    pole = [mpf(1)]  # eta / mu
    for n in range(1, count + 1):
        pole.append(-sum(mu[k + 1] * pole[n - k] for k in range(1, n + 1)))
    series = pole[1:]
    for k in range(7):
        show(f"c{k}, |eta| <= 1/2, t = 2 eta", lambda t: sum(c * (t / 2)**n for n, c in enumerate(series)), 48,
             mpf(2)**-56 * mpf(64)**min(k, 5) / abs(series[0]))
        slope = [n * c for n, c in enumerate(series)][1:]
        series = [s - slope[0] * p for s, p in zip(slope, pole)][1:]


def gamma():
    odd = lambda t: sqrt((t + 1) / 25)
    show("2 (atanh(y) - y) / y^3, y^2 <= 0.08, t = 25 y^2 - 1", lambda t: 2 * (atanh(odd(t)) - odd(t)) / odd(t)**3,
         32, mpf(2)**-52)
    root = findroot(digamma, mpf("1.46"))
    print(f"zero of digamma: {float(root)!r}, and {float(root - mpf(float(root)))!r} more")
    show("digamma / (x - root), 1 <= x <= 3, t = x - 2", lambda t: digamma(2 + t) / (2 + t - root))
    show("log(gamma(2 + z)) / z, |z| <= 0.5, t = 2 z", lambda t: loggamma(2 + t / 2) / (t / 2))


if __name__ == "__main__":
    gamma()
    uniform_gamma()
    error_function()
    modified()
    for order in (0, 1):
        bessel_near(order)
        bessel_far(order)
    airy()
