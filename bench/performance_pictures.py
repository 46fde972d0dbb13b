"""The pictures of docs/performance.md, as SVG: how fast laze is beside the best peer, a line for each row, and how fast
beside the limits of the machine. Needs the standard library alone; the same results give the same bytes."""

import html
import math

import results

# Blue and orange are told apart by all eyes.
MET, PART, MISSED = "#0969da", "#7d6fb3", "#d1570a"
INK, GREY, LINE = "#1f2328", "#59636e", "#d1d9e0"
SECTIONS = ("#0969da", "#d1570a", "#1a7f37", "#8250df", "#9a6700", "#cf222e", "#57606a", "#0a7ea4")
NAMES = {"torch eager": "PyTorch", "torch inductor": "inductor", "numpy": "NumPy", "jax": "JAX",
         "onnxruntime": "ONNX Runtime"}
LETTER = 6.3  # the width of one of size 11, rather too large than too small


def threads_of(run):
    count = run["threads"]
    return {1: "one thread", 2: "two threads"}.get(count, f"{count} threads")


class Picture:
    """SVG of a size, on white, so that it can be read on pages of any colour."""

    def __init__(self, width, height, title):
        self.parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
                      f'width="{width:.0f}" height="{height:.0f}" '
                      'font-family="Helvetica, Arial, \'DejaVu Sans\', sans-serif" font-size="11">',
                      f"<title>{html.escape(title)}</title>",
                      f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>']

    def text(self, x, y, words, anchor="start", fill=INK, weight="normal", size=11):
        style = f' font-weight="{weight}"' * (weight != "normal") + f' font-size="{size}"' * (size != 11)
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}"{style}>'
                          f"{html.escape(words)}</text>")

    def line(self, x1, y1, x2, y2, stroke=LINE, width=1.0, dashes=None):
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{stroke}" '
                          f'stroke-width="{width:g}"{dashed}/>')

    def dot(self, x, y, radius, colour, hollow=False, title=None):
        fill = f'fill="#ffffff" stroke="{colour}" stroke-width="1.5"' if hollow else f'fill="{colour}"'
        hint = f"<title>{html.escape(title)}</title>" if title else ""
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" {fill}>{hint}</circle>')

    def finish(self):
        return "\n".join([*self.parts, "</svg>"]) + "\n"


class Scale:
    """Of logarithms: values from `low` to `high` lie between two places."""

    def __init__(self, low, high, first, last):
        self.low, self.high, self.first, self.last = low, high, first, last

    def at(self, value):
        part = math.log(min(max(value, self.low), self.high) / self.low) / math.log(self.high / self.low)
        return self.first + part * (self.last - self.first)

    def ticks(self, steps):
        """Round numbers on it: steps times powers of ten."""
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        values = [step * 10.0 ** power for power in powers for step in steps]
        return [value for value in values if self.low * 0.999 <= value <= self.high * 1.001]


def round_outwards(low, high):
    """The nearest of 1, 2 and 5 times powers of ten that have both between them."""
    numbers = [step * 10.0 ** power for power in range(-6, 16) for step in (1, 2, 5)]
    return max(number for number in numbers if number <= low), min(number for number in numbers if number >= high)


# ---- Ratios

LABELS, PLOT, ROW, HEAD = 300, 470, 16, 30  # widths of the columns, heights of a row and of a section's name


def colour_of(row):
    if results.misses_ratio(row):
        return MISSED
    return PART if results.misses_share(row) else MET


def grouped(runs):
    """[(section, [(row of each run or None)])], in the order of the first run."""
    by_name = [{row["row"]: row for row in run["rows"]} for run in runs]
    names = dict.fromkeys(name for rows in by_name for name in rows)
    sections = {}
    for name in names:
        rows = [rows.get(name) for rows in by_name]
        sections.setdefault(next(row for row in rows if row)["group"], []).append(rows)
    return list(sections.items())


def draw_legend(picture, runs, y):
    x = LABELS + 10
    for colour, words in ((MET, "meets its targets"), (PART, "meets its ratio, not its share of the limit"),
                          (MISSED, "misses its ratio")):
        picture.dot(x, y - 4, 4, colour)
        picture.text(x + 9, y, words)
        x += 28 + 0.92 * LETTER * len(words)
    x = LABELS + 10
    for index, run in enumerate(runs if len(runs) > 1 else []):
        picture.dot(x, y + 14, 4, GREY, hollow=index > 0)
        picture.text(x + 9, y + 18, threads_of(run))
        x += 24 + LETTER * len(threads_of(run))
    picture.line(x, y + 9, x, y + 19, GREY, 2)
    picture.text(x + 9, y + 18, "the ratio that is the target")


def draw_row(picture, rows, scale, y, columns):
    first = next(row for row in rows if row)
    picture.text(LABELS, y + 4, first["row"], "end")
    picture.line(scale.at(first["target"]), y - 5, scale.at(first["target"]), y + 5, GREY, 2)
    for index, row in reversed(list(enumerate(rows))):  # the first run lies on top
        if row is None:
            continue
        colour = colour_of(row)
        picture.line(scale.at(row["ratio_low"]), y, scale.at(row["ratio_high"]), y, colour, 1.5)
        title = f"{row['row']}: {row['ratio']:.2f} ({row['ratio_low']:.2f} to {row['ratio_high']:.2f})"
        picture.dot(scale.at(row["ratio"]), y, 4, colour, index > 0, title)
        picture.text(columns[index], y + 4, f"{row['ratio']:.2f} {NAMES[row['best_peer']]}", fill=colour)


def ratios(runs):
    """A line for each row: the best peer's time / laze's, in each run."""
    sections, top = grouped(runs), 92
    measured = [row for run in runs for row in run["rows"]]
    low, high = round_outwards(min([0.5, *(row["ratio_low"] for row in measured)]),
                               max([2, *(row["ratio_high"] for row in measured)]))
    columns = [LABELS + PLOT + 35 + 125 * index for index in range(len(runs))]
    bottom = top + HEAD * len(sections) + ROW * sum(len(rows) for _, rows in sections)
    picture = Picture(columns[-1] + 130, bottom + 12, "laze beside the best peer")
    picture.text(LABELS + 10, 20, "The best peer's time divided by laze's", weight="bold", size=14)
    draw_legend(picture, runs, 40)
    scale = Scale(low, high, LABELS + 15, LABELS + PLOT + 15)
    for value in scale.ticks((1, 2, 5)):
        picture.line(scale.at(value), top - 8, scale.at(value), bottom, INK if value == 1 else LINE,
                     1.5 if value == 1 else 1)
        picture.text(scale.at(value), top - 14, f"{value:g}", "middle", GREY)
    for column, run in zip(columns, runs):
        picture.text(column, top - 14, f"best, {threads_of(run)}", fill=GREY)
    y = top
    for section, rows in sections:
        picture.text(LABELS, y + HEAD - 12, section, "end", weight="bold")
        y += HEAD
        for each in rows:
            draw_row(picture, each, scale, y, columns)
            y += ROW
    return picture.finish()


# ---- Limits

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 1100, 720, 64, 24, 92, 56
SIZE = 10  # of names beside points


def points_of(run):
    """[(row, operations a byte, operations a second)] of the rows that have operations."""
    return [(row, row["operations"] / row["bytes"], 1e6 * row["operations"] / row["us"]["laze"]["median"])
            for row in run["rows"] if row.get("operations") and row.get("bytes")]


def overlaps(box, others):
    return any(box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3] for other in others)


def place_of_name(words, x, y, taken):
    """(x, y, anchor, box) of a name beside its point, where it covers nothing; None: nowhere."""
    width = LETTER * SIZE / 11 * len(words)
    for anchor, dx, dy in (("start", 8, 3.5), ("end", -8, 3.5), ("middle", 0, -7), ("middle", 0, 14), ("start", 6, -5),
                           ("start", 6, 12), ("end", -6, -5), ("end", -6, 12)):
        left = x + dx - {"start": 0, "middle": width / 2, "end": width}[anchor]
        box = (left, y + dy - SIZE + 1, left + width, y + dy + 2)
        inside = LEFT < box[0] and box[2] < WIDTH - RIGHT and TOP < box[1] and box[3] < HEIGHT - BOTTOM
        if inside and not overlaps(box, taken):
            return x + dx, y + dy, anchor, box
    return None


def draw_axes(picture, across, up):
    for value in across.ticks((1,)):
        picture.line(across.at(value), TOP, across.at(value), HEIGHT - BOTTOM)
        picture.text(across.at(value), HEIGHT - BOTTOM + 16, f"{value:g}", "middle", GREY)
    for value in up.ticks((1,)):
        picture.line(LEFT, up.at(value), WIDTH - RIGHT, up.at(value))
        picture.text(LEFT - 8, up.at(value) + 4, f"{value * 1e-9:g}", "end", GREY)
    picture.text((LEFT + WIDTH) / 2, HEIGHT - 16, "operations for each byte of inputs and results", "middle")
    picture.text(LEFT - 40, TOP - 12, "GFLOP/s")


def draw_roofs(picture, limits, across, up):
    """The speed of memory, and that of multiply-adds; boxes that no name may cover."""
    roof, memory = limits["flops"], limits["read_64"]
    corner = roof / memory
    start = max(across.low, up.low / memory)
    picture.line(across.at(start), up.at(start * memory), across.at(corner), up.at(roof), INK, 2)
    picture.line(across.at(corner), up.at(roof), across.last, up.at(roof), INK, 2)
    words = f"multiply-adds: {roof * 1e-9:.0f} GFLOP/s"
    picture.text(across.last - 6, up.at(roof) - 7, words, "end", weight="bold")
    x, y = across.at(corner) - 12, up.at(roof) - 7
    picture.text(x, y, f"memory: {memory * 1e-9:.1f} GB/s", "end", weight="bold")
    boxes = [(across.last - 8 * len(words), y - 12, across.last, y + 9), (x - 160, y - 12, x, y + 4)]
    for step in range(101):  # the line itself, in pieces
        value = start * (corner / start) ** (step / 100)
        boxes.append((across.at(value) - 3, up.at(value * memory) - 3, across.at(value) + 3, up.at(value * memory) + 3))
    return boxes


def roofline(run):
    """A point for each row whose operations and bytes are known. Names stand where there is room for them, those
    farthest below the limit first."""
    points, limits = points_of(run), run["limits"]
    at_limit = {row["row"]: rate / min(limits["flops"], intensity * limits["read_64"])
                for row, intensity, rate in points}
    lowest = min([limits["flops"] / 100, *(0.8 * rate for _, _, rate in points)])
    across = Scale(*round_outwards(min([0.2, *(x for _, x, _ in points)]) * 0.9,
                                   max([100, *(x for _, x, _ in points)])), LEFT, WIDTH - RIGHT)
    up = Scale(round_outwards(lowest, lowest)[0], limits["flops"] * 1.6, HEIGHT - BOTTOM, TOP)
    picture = Picture(WIDTH, HEIGHT, "laze beside the limits of the machine")
    picture.text(LEFT - 40, 24, f"laze beside the limits of the machine, {threads_of(run)}", weight="bold", size=14)
    draw_axes(picture, across, up)
    taken = draw_roofs(picture, limits, across, up)
    sections = list(dict.fromkeys(row["group"] for row, _, _ in points))
    colours = dict(zip(sections, SECTIONS))
    x = LEFT - 36
    for section in sections:
        picture.dot(x, 44, 4, colours[section])
        picture.text(x + 9, 48, section)
        x += 28 + LETTER * len(section)
    places = [(row, across.at(intensity), up.at(rate)) for row, intensity, rate in points]
    for row, x, y in places:
        picture.dot(x, y, 3.5, colours[row["group"]], title=f"{row['row']}: {at_limit[row['row']]:.0%} of the limit")
    for row, x, y in sorted(places, key=lambda place: at_limit[place[0]["row"]]):
        others = [(u - 14, v - 5, u + 14, v + 5) for _, u, v in places if math.hypot(u - x, v - y) > 4]
        found = place_of_name(row["row"], x, y, taken + others)
        if found:
            picture.text(*found[:2], row["row"], found[2], colours[row["group"]], size=SIZE)
            taken.append(found[3])
    return picture.finish()
