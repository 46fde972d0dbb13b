"""Heat in two plates, a thread each.

Shows that threads share what is compiled and nothing else: while one computes, the other records, and the results are
those of one thread.

    python two_threads.py [POINTS ON A SIDE]
"""
import sys
import threading

import laze


def data(n):
    """A warm stripe in one plate, a warm spot in the other."""
    x = laze.linspace(-1, 1, n)
    stripe = ((x > -0.2) & (x < 0.2)).float()[:, None] * laze.ones(n)
    spot = (x * x + x[:, None] ** 2 < 0.1).float()
    return stripe.evaluate(), spot.evaluate()


def diffuse(plate, steps):
    """Edges keep their temperature."""
    for _ in range(steps):
        with laze.step():
            middle = plate[1:-1, 1:-1]
            around = plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:]
            middle = middle + 0.2 * (around - 4 * middle)
            middle = laze.cat([plate[1:-1, :1], middle, plate[1:-1, -1:]], dim=1)
            plate = laze.cat([plate[:1], middle, plate[-1:]], dim=0)
    return plate


def run(stripe, spot, steps=100):
    results = {}
    threads = [threading.Thread(target=lambda name, plate: results.update({name: diffuse(plate, steps)}), args=pair)
               for pair in (("stripe", stripe), ("spot", spot))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results["stripe"], results["spot"]


if __name__ == "__main__":
    plates = data(int(sys.argv[1]) if len(sys.argv) > 1 else 64)
    for name, before, after in zip(("stripe", "spot"), plates, run(*plates)):
        print(f"{name}: mean {before.mean().item():.4f} -> {after.mean().item():.4f}, "
              f"middle {after[len(after) // 2, len(after) // 2].item():.3f}")
