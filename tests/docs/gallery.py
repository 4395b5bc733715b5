"""The pictures and the times of docs/gallery.md.

usage: gallery.py            compares the pictures with those in docs/gallery
       gallery.py --bless    makes them
       gallery.py --times    measures the kernels and NumPy, and writes the table of the page

Kernels are those of the page. What they compute has the same bits on every machine, and so have the
pictures.
"""

import pathlib
import re
import struct
import sys
import timeit
import zlib

import numpy as np

import broadloom as bl

DOCS = pathlib.Path(__file__).parents[2] / "docs"
PAGE, FOLDER = DOCS / "gallery.md", DOCS / "gallery"
WIDTH, HEIGHT = 240, 150  # of a picture, in pixels
COLORS = ["#1d4ed8", "#d97706", "#047857", "#be123c", "#7c3aed", "#0e7490", "#4d7c0f", "#334155"]
# From dark to light, as equally far apart as eyes see them.
RAMP = np.array([[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]])


def texts():
    return dict(re.findall(r"^```loom\n# (\w+)\.loom\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S))


def kernels():
    return {name: bl.compile(text) for name, text in texts().items()}


# --- data
# -------------------------------------------------------------------------------------------


def photo():
    """samples/data/spheres.png in grey."""
    data = (DOCS.parent / "samples" / "data" / "spheres.png").read_bytes()
    return pixels(data).astype("f4") @ np.array([0.25, 0.5, 0.25], "f4")


def exp(x):
    """NumPy's differs from processor to processor in the last place."""
    return bl.compile("kernel k { in x : f64[i]; out y = exp(x) }")(x.ravel()).reshape(x.shape)


def noise(*shape):
    """Numbers that look like those of chance, and are the same everywhere."""
    return ((np.arange(np.prod(shape), dtype="u8") * 2654435761 % 2**32) / 2**32).reshape(shape)


def scores():
    i, j = np.ogrid[:15, :24]
    return (6 * exp(-((j - 1.4 * i - 2) ** 2) / 18) + noise(15, 24)).astype("f4")


def prices(n=400):
    return 100 * exp(np.cumsum(bell(n) * 0.4 / n**0.5 + 0.4 / n))


def grid(w, h):
    y, x = np.mgrid[:h, :w]
    return np.stack([x, y], -1).reshape(-1, 2) / h


def glider():
    start = np.zeros((50, 80), "u1")
    start[18:32, 25:55] = noise(14, 30) > 0.6
    return start


def pictures():
    """What is drawn: lines by name, or an array."""
    k = kernels()
    x = np.linspace(-4, 4, 161)
    hot = np.zeros(120)
    hot[20:26] = hot[70:90] = 1
    steps = bl.compile(texts()["heat"].replace("out last[i] = u[-1, i]", "out history[t, i] = u[t, i]"))
    soft = bl.compile("kernel soft { in x : f64[i]; out y = softplus(x) }").grad("x")(x=x, d_y=np.ones_like(x))
    gelu = bl.compile("kernel gelu_of { in x : f64[i]; out y = gelu(x) }").grad("x")(x=x, d_y=np.ones_like(x))
    price = prices()
    values = k["slopes"](x)
    points = np.array([[0.3, 0.3], [1.2, 0.7], [0.7, 0.9]])
    rows = scores()
    return {
        "softmax": k["softmax"](rows),
        "layernorm": k["layernorm"](rows, np.ones(24, "f4"), np.zeros(24, "f4")),
        "distances": k["distances"](grid(80, 50), points).min(1).reshape(50, 80),
        "drawdown": {"price": price / 100, "peak": np.maximum.accumulate(price) / 100, "below": k["drawdown"](price)["below"]},
        "histogram": {"n": np.repeat(k["histogram"](bell(20000), np.zeros(40)), 4)},
        "blur": k["blur"](photo()),
        "edges": k["edges"](photo()),
        "walks": {str(n): walk for n, walk in enumerate(k["walks"](np.uint32(7)))},
        "heat": steps(hot)[::3],
        "life": k["life"](glider()),
        "mandelbrot": k["mandelbrot"](np.linspace(-2.1, 0.7, WIDTH), np.linspace(-0.875, 0.875, HEIGHT)),
        "slopes": {"softplus": values["soft"], "its slope": soft, "gelu": values["gelu_of"], "slope of gelu": gelu},
    }


def bell(n):
    k = bl.compile("kernel k { in seed : u32; axis i < %d\nout x[i] = normal(seed, iota(i)) }" % n)
    return k(np.uint32(3))


# --- pictures
# ---------------------------------------------------------------------------------------


def pixels(data):
    """Of a PNG of 8 bits, grey or in colours."""
    at, width, height, packed = 8, 0, 0, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, color = struct.unpack(">IIBB", body[:10])
        packed += body if kind == b"IDAT" else b""
        at += size + 12
    step = {0: 1, 2: 3}[color]
    lines, made, before = zlib.decompress(packed), [], np.zeros(width * step, "u1")
    for y in range(height):
        line = lines[y * (width * step + 1) : (y + 1) * (width * step + 1)]
        row = np.frombuffer(line[1:], "u1").copy()
        if line[0] == 2:
            row += before
        elif line[0] != 0:
            row = unfiltered(line[0], row, before, step)
        made.append(row)
        before = row
    made = np.array(made)
    return made if step == 1 else made.reshape(height, width, 3)


def unfiltered(kind, row, above, step):
    for x in range(len(row)):
        a = int(row[x - step]) if x >= step else 0
        b, c = int(above[x]), int(above[x - step]) if x >= step else 0
        near = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
        row[x] = (int(row[x]) + {1: a, 3: (a + b) // 2, 4: near}[kind]) % 256
    return row


def png(rgb):
    def part(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    height, width, _ = rgb.shape
    lines = b"".join(b"\0" + row.tobytes() for row in rgb)
    return (b"\x89PNG\r\n\x1a\n" + part(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
            part(b"IDAT", zlib.compress(lines, 9)) + part(b"IEND", b""))


def shaded(array):
    """Colours of an array, blown up or thinned out to about the size of a picture."""
    array = np.asarray(array, "f8")
    rows, columns = (np.arange(n) * size // n for n, size in zip((HEIGHT, WIDTH), array.shape))
    array = array[rows][:, columns]
    share = (array - array.min()) / max(array.max() - array.min(), 1e-300) * (len(RAMP) - 1)
    low = np.minimum(share.astype("i8"), len(RAMP) - 2)
    return np.round(RAMP[low] + (share - low)[..., None] * (RAMP[low + 1] - RAMP[low])).astype("u1")


def svg(lines):
    least = min(float(line.min()) for line in lines.values())
    most = max(float(line.max()) for line in lines.values())

    def place(line):
        return " ".join(f"{4 + (WIDTH - 8) * x / (len(line) - 1):.1f},{HEIGHT - 4 - (HEIGHT - 8) * (y - least) / (most - least):.1f}"
                        for x, y in enumerate(line))

    drawn = "".join(f'<polyline points="{place(line)}" fill="none" stroke="{color}" stroke-width="1.2"><title>{name}</title></polyline>\n'
                    for (name, line), color in zip(lines.items(), COLORS))
    names = [] if len(lines) > 4 or len(lines) == 1 else lines
    drawn += "".join(f'<text x="8" y="{14 + 12 * at}" font-family="sans-serif" font-size="10" fill="{COLORS[at]}">{name}</text>\n'
                     for at, name in enumerate(names))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}">\n'
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#f6f5f0"/>\n{drawn}</svg>\n').encode()


def files():
    """The bytes of each file of docs/gallery."""
    return {name + (".svg" if type(what) is dict else ".png"): svg(what) if type(what) is dict else png(shaded(what))
            for name, what in pictures().items()}


def same(made, there):
    """Whether two files show the same: how a picture is packed is up to zlib."""
    return np.array_equal(pixels(made), pixels(there)) if made[1:4] == b"PNG" else made == there


def different():
    made = files()
    there = {path.name: path.read_bytes() for path in FOLDER.iterdir()}
    return sorted({*made, *there} - {name for name in made if name in there and same(made[name], there[name])})


# --- times
# ------------------------------------------------------------------------------------------


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def layernorm(x, gain, offset):
    d = x - x.mean(1, keepdims=True)
    return d / np.sqrt((d * d).mean(1, keepdims=True) + 1e-5) * gain + offset


def distances(p, q):
    return np.sqrt(((p[:, None] - q) ** 2).sum(-1))


def drawdown(price):
    loss = 1 - price / np.maximum.accumulate(price)
    return loss, loss.max()


def histogram(x, bins):
    return np.bincount(np.clip(np.floor((x + 4) / 8 * len(bins)).astype("i4"), 0, len(bins) - 1), minlength=len(bins))


def edges(x):
    across, down = x[:, 2:] - x[:, :-2], x[2:] - x[:-2]
    return np.hypot(across[:-2] + 2 * across[1:-1] + across[2:], down[:, :-2] + 2 * down[:, 1:-1] + down[:, 2:])


def heat(start):
    u = start
    for _ in range(240):
        p = np.pad(u, 1, "edge")
        u = (p[:-2] + 2 * u + p[2:]) / 4
    return u


def life(a):
    for _ in range(60):
        p = np.pad(a, 1, "wrap")
        nine = sum(p[y : y + a.shape[0], x : x + a.shape[1]] for y in range(3) for x in range(3))
        a = ((nine == 3) | ((nine == 4) & (a == 1))).astype("u1")
    return a


def mandelbrot(re, im):
    c = re + 1j * im[:, None]
    z, steps = np.zeros_like(c), np.zeros(c.shape, "i8")
    for _ in range(60):
        inside = np.abs(z) < 2
        z = np.where(inside, z * z + c, z)
        steps += np.abs(z) < 2
    return steps


def timed(run):
    run()
    number = max(1, int(0.05 / max(timeit.timeit(run, number=1), 1e-6)))
    return min(timeit.repeat(run, number=number, repeat=7)) / number * 1e3


def table():
    k = kernels()
    row, column = np.ones(1024, "f4"), np.zeros(1024, "f4")
    big, picture = noise(4096, 1024).astype("f4"), noise(2048, 2048).astype("f4")
    x = np.linspace(-4, 4, 1000000)
    start = (noise(512, 512) > 0.6).astype("u1")
    lines = [
        ("softmax", "f32[4096, 1024]", (big,), softmax),
        ("layernorm", "f32[4096, 1024]", (big, row, column), layernorm),
        ("distances", "f64[2000, 3], f64[500, 3]", (noise(2000, 3), noise(500, 3)), distances),
        ("drawdown", "f64[1000000]", (prices(1000000),), drawdown),
        ("histogram", "f64[1000000], 40 bins", (bell(1000000), np.zeros(40)), histogram),
        ("blur", "f32[2048, 2048]", (picture,), None),
        ("edges", "f32[2048, 2048]", (picture,), edges),
        ("walks", "8 walks of 400 steps", (np.uint32(7),), None),
        ("heat", "f64[100000], 240 steps", (noise(100000),), heat),
        ("life", "u8[512, 512], 60 steps", (start,), life),
        ("mandelbrot", "480 x 300 points, 60 steps", (np.linspace(-2.1, 0.7, 480), np.linspace(-0.875, 0.875, 300)), mandelbrot),
        ("slopes", "f64[1000000]", (x,), None),
    ]
    text = "| kernel | data | Broadloom | NumPy |\n| --- | --- | --- | --- |\n"
    for name, data, inputs, numpy in lines:
        ours = timed(lambda: k[name](*inputs))
        theirs = f"{timed(lambda: numpy(*inputs)):.3g} ms" if numpy else ""
        text += f"| {name} | {data} | {ours:.3g} ms | {theirs} |\n"
    return text


def write_times():
    text = PAGE.read_text(encoding="utf-8")
    text = re.sub(r"(?s)(<!-- times, [^\n]*-->\n).*?(<!-- end of the times -->)", lambda found: found[1] + "\n" + table() + "\n" + found[2], text)
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["--times"]:
        write_times()
    elif sys.argv[1:] == ["--bless"]:
        FOLDER.mkdir(exist_ok=True)
        made = files()
        for path in FOLDER.iterdir():
            if path.name not in made:
                path.unlink()
        for name in different():
            (FOLDER / name).write_bytes(made[name])
    elif names := different():
        sys.exit(f"tests/docs/gallery.py: other pictures than in docs/gallery: {', '.join(names)}; --bless makes them")
