"""Makes spheres.png: three lit spheres above a chequered floor, 240 by 160 pixels. python3
samples/data/spheres.py > samples/data/spheres.png"""
import math
import struct
import sys
import zlib

WIDTH, HEIGHT = 240, 160
SPHERES = [((-1.1, 0.1, 4.2), 1.0, (230, 80, 60)), ((0.9, -0.25, 3.4), 0.65, (70, 140, 230)), ((2.0, 0.5, 6.0), 1.4, (240, 200, 80))]
LIGHT = tuple(v / math.sqrt(14) for v in (-2, 3, -1))


def hit(origin, ray):
    found = None
    for centre, radius, colour in SPHERES:
        to = [o - c for o, c in zip(origin, centre)]
        b = sum(r * t for r, t in zip(ray, to))
        inside = b * b - sum(t * t for t in to) + radius * radius
        distance = -b - math.sqrt(inside) if inside > 0 else -1
        if distance > 1e-6 and (found is None or distance < found[0]):
            found = distance, centre, radius, colour
    return found


def pixel(column, row):
    ray = ((column + 0.5 - WIDTH / 2) / HEIGHT, (HEIGHT / 2 - row - 0.5) / HEIGHT, 1.0)
    size = math.sqrt(sum(r * r for r in ray))
    ray = tuple(r / size for r in ray)
    sphere = hit((0, 0, 0), ray)
    if sphere:
        distance, centre, radius, colour = sphere
        normal = [(distance * r - c) / radius for r, c in zip(ray, centre)]
        light = 0.2 + 0.8 * max(0, sum(n * l for n, l in zip(normal, LIGHT)))
    elif ray[1] < -0.02:
        distance = -0.9 / ray[1]
        at = tuple(distance * r for r in ray)
        colour = (210, 210, 200) if (math.floor(at[0]) + math.floor(at[2])) % 2 else (70, 75, 80)
        light = 0.35 if hit(at, LIGHT) else 1.0
    else:
        colour, light = (150, 180, 220), 0.7 + 0.3 * ray[1]
    return bytes(int(min(255, c * light)) for c in colour)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


rows = b"".join(b"\0" + b"".join(pixel(column, row) for column in range(WIDTH)) for row in range(HEIGHT))
sys.stdout.buffer.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0))
                        + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))
