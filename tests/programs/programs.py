"""The programs of this folder from the definitions of their benchmarks, in plain NumPy: writes
programs.txt.

    python3 tests/programs/programs.py > tests/programs/programs.txt

PolyBench (Pouchet and Yuki) and NPBench (Ziogas et al., 2021) define them; sizes here are small.
programs_test.cpp runs the .loom files in every engine, in f64 and in f32, and compares. Not here,
since an element depends on others of its own array in ways that no scan has: seidel_2d, lu,
cholesky, trisolv, durbin, gramschmidt, nussinov. The form of programs.txt:

    program NAME            the file NAME.loom
    buffer B 3 : 5 6        elements ((37 * k + 11 * 3) % 23 - 9) / 8, k in C order; `+ 3` gives
                            (.. % 23 + 1) / 8, `= 1.5` that number
    call KERNEL A x -> B@1.1,0.2      inputs and outputs by position; this output is B without so
                            many elements at both ends of each dim; a number alone is the only
                            position there. Inputs have such parts, too
    expect B 8 : ..         within 8 units in the last place of the greatest of these numbers
    gradient KERNEL A x     its gradients agree with measured slopes, on these inputs
"""
import numpy as np


def grid(number, shape, low=-9):
    k = np.arange(int(np.prod(shape)))
    return (((37 * k + 11 * number) % 23 + low) / 8).reshape(shape)


def program(name, buffers, calls, expected, units=8, gradient=None):
    """buffers: a shape, ("+", shape), ("0", shape), ("1", shape) or a number, by name.
    expected(arrays) changes or adds arrays and says which to look at."""
    print("program", name)
    arrays = {}
    for number, (buffer, what) in enumerate(buffers.items()):
        if isinstance(what, float):
            arrays[buffer] = np.array(what)
            print("buffer %s = %r :" % (buffer, what))
        else:
            sign, shape = what if what and isinstance(what[0], str) else ("", what)
            arrays[buffer] = np.full(shape, float(sign)) if sign in ("0", "1") else grid(number, shape, 1 if sign == "+" else -9)
            print("buffer %s %s :" % (buffer, "= " + sign if sign in ("0", "1") else (sign + " " if sign else "") + str(number)), *shape)
    for call in calls:
        print("call", call)
    for buffer in expected(arrays):
        print("expect %s %d :" % (buffer, units), *("%.17g" % v for v in np.asarray(arrays[buffer]).ravel()))
    if gradient:
        print("gradient", gradient)


def fresh(function):
    """Of a function that gives new arrays instead: expected as `program` takes it."""
    def expected(a):
        found = function(a)
        a.update(found)
        return found
    return expected


def relu(x):
    return np.maximum(x, 0)


# ---- stencils


def jacobi_1d(a):
    A, B = a["A"], a["B"]
    for _ in range(3):
        B[1:-1] = 0.33333 * (A[:-2] + A[1:-1] + A[2:])
        A[1:-1] = 0.33333 * (B[:-2] + B[1:-1] + B[2:])
    return ["A", "B"]


def jacobi_2d(a):
    A, B = a["A"], a["B"]
    for _ in range(2):
        B[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
        A[1:-1, 1:-1] = 0.2 * (B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1])
    return ["A", "B"]


def heat_3d(a):
    c = slice(1, -1)
    for A, B in [(a["A"], a["B"]), (a["B"], a["A"])] * 2:
        B[c, c, c] = (0.125 * (A[2:, c, c] - 2.0 * A[c, c, c] + A[:-2, c, c]) + 0.125 * (A[c, 2:, c] - 2.0 * A[c, c, c] + A[c, :-2, c])
                      + 0.125 * (A[c, c, 2:] - 2.0 * A[c, c, c] + A[c, c, :-2]) + A[c, c, c])
    return ["A", "B"]


def fdtd_2d(a):
    ex, ey, hz = a["ex"], a["ey"], a["hz"]
    for _ in range(3):
        ey[0, :] = 0.5
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return ["ex", "ey", "hz"]


def hdiff(a):
    x, coeff = a["x"], a["coeff"]
    I, J, K = coeff.shape
    lap = 4.0 * x[1:I + 3, 1:J + 3, :] - (x[2:I + 4, 1:J + 3, :] + x[0:I + 2, 1:J + 3, :] + x[1:I + 3, 2:J + 4, :] + x[1:I + 3, 0:J + 2, :])
    res = lap[1:, 1:J + 1, :] - lap[:-1, 1:J + 1, :]
    flx = np.where((res * (x[2:I + 3, 2:J + 2, :] - x[1:I + 2, 2:J + 2, :])) > 0, 0, res)
    res = lap[1:I + 1, 1:, :] - lap[1:I + 1, :-1, :]
    fly = np.where((res * (x[2:I + 2, 2:J + 3, :] - x[2:I + 2, 1:J + 2, :])) > 0, 0, res)
    return {"y": x[2:I + 2, 2:J + 2, :] - coeff * (flx[1:, :, :] - flx[:-1, :, :] + fly[:, 1:, :] - fly[:, :-1, :])}


def vadv(a):
    utens, u_stage, wcon, u_pos, utens_stage, dtr = (a[n] for n in ("utens", "u_stage", "wcon", "u_pos", "utens_stage", "dtr"))
    K, BET = u_pos.shape[2], 0.5
    ccol, dcol, out = np.zeros(u_pos.shape), np.zeros(u_pos.shape), np.zeros(u_pos.shape)
    for k in range(K):
        gav = -0.25 * (wcon[1:, :, k] + wcon[:-1, :, k]) if k > 0 else 0.0
        gcv = 0.25 * (wcon[1:, :, k + 1] + wcon[:-1, :, k + 1]) if k < K - 1 else 0.0
        acol, cs = gav * BET, gcv * BET
        bcol = dtr - acol - cs
        correction = np.zeros(u_pos.shape[:2])
        if k > 0:
            correction += -acol * (u_stage[:, :, k - 1] - u_stage[:, :, k])
        if k < K - 1:
            correction += -cs * (u_stage[:, :, k + 1] - u_stage[:, :, k])
        d = dtr * u_pos[:, :, k] + utens[:, :, k] + utens_stage[:, :, k] + correction
        divided = 1.0 / (bcol - (ccol[:, :, k - 1] * acol if k > 0 else 0))
        ccol[:, :, k] = cs * divided
        dcol[:, :, k] = (d - (dcol[:, :, k - 1] * acol if k > 0 else 0)) * divided
    data = dcol[:, :, K - 1].copy()
    for k in range(K - 1, -1, -1):
        if k < K - 1:
            data = dcol[:, :, k] - ccol[:, :, k] * data
        out[:, :, k] = dtr * (data - u_pos[:, :, k])
    return {"y": out}


def cavity_flow(a):
    u, v, p, dt, dx, dy, rho = (a[n] for n in ("u", "v", "p", "dt", "dx", "dy", "rho"))
    b = np.zeros_like(p)
    b[1:-1, 1:-1] = (rho * (1 / dt * ((u[1:-1, 2:] - u[1:-1, 0:-2]) / (2 * dx) + (v[2:, 1:-1] - v[0:-2, 1:-1]) / (2 * dy))
                            - ((u[1:-1, 2:] - u[1:-1, 0:-2]) / (2 * dx)) ** 2
                            - 2 * ((u[2:, 1:-1] - u[0:-2, 1:-1]) / (2 * dy) * (v[1:-1, 2:] - v[1:-1, 0:-2]) / (2 * dx))
                            - ((v[2:, 1:-1] - v[0:-2, 1:-1]) / (2 * dy)) ** 2))
    for _ in range(3):
        pn = p.copy()
        p[1:-1, 1:-1] = (((pn[1:-1, 2:] + pn[1:-1, 0:-2]) * dy**2 + (pn[2:, 1:-1] + pn[0:-2, 1:-1]) * dx**2) / (2 * (dx**2 + dy**2))
                         - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1, 1:-1])
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
    return ["p"]


def channel_flow(a):
    u, v, p = a["u0"].copy(), a["v0"].copy(), np.pad(a["q0"], ((1, 1), (0, 0)), "edge")
    dt, dx, dy, rho, nu, F = (float(a[n]) for n in ("dt", "dx", "dy", "rho", "nu", "F"))
    rows, udiff, count = slice(1, -1), 1.0, 0

    def right(x):
        return np.roll(x, -1, axis=1)[rows]

    def left(x):
        return np.roll(x, 1, axis=1)[rows]

    while udiff > a["growth"]:
        un, vn = u.copy(), v.copy()
        ux, vy = (right(u) - left(u)) / (2 * dx), (v[2:] - v[:-2]) / (2 * dy)
        uy, vx = (u[2:] - u[:-2]) / (2 * dy), (right(v) - left(v)) / (2 * dx)
        b = rho * (1 / dt * (ux + vy) - ux**2 - 2 * (uy * vx) - vy**2)
        for _ in range(3):
            pn = p.copy()
            p[rows] = (((right(pn) + left(pn)) * dy**2 + (pn[2:] + pn[:-2]) * dx**2) / (2 * (dx**2 + dy**2))
                       - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b)
            p[-1], p[0] = p[-2], p[1]
        for x, xn, slope in ((u, un, dt / (2 * rho * dx) * (right(p) - left(p)) - F * dt), (v, vn, dt / (2 * rho * dy) * (p[2:] - p[:-2]))):
            c = xn[rows]
            x[rows] = (c - un[rows] * dt / dx * (c - left(xn)) - vn[rows] * dt / dy * (c - xn[:-2]) - slope
                       + nu * (dt / dx**2 * (right(xn) - 2 * c + left(xn)) + dt / dy**2 * (xn[2:] - 2 * c + xn[:-2])))
            x[0] = x[-1] = 0
        udiff = (np.sum(u) - np.sum(un)) / np.sum(u)
        count += 1
    a.update(uT=u, vT=v, qT=p[rows], n=float(count))
    return ["uT", "vT", "qT", "n"]


def deriche(a):
    alpha = a["alpha"]
    e = np.exp(-alpha)
    k = (1.0 - e) * (1.0 - e) / (1.0 + alpha * e - np.exp(2.0 * alpha))
    a1, a2, a3, a4 = k, k * e * (alpha - 1.0), k * e * (alpha + 1.0), -k * np.exp(-2.0 * alpha)
    b1, b2 = 2.0 ** -alpha, -np.exp(-2.0 * alpha)

    def along_rows(x):
        y1, y2, width = np.zeros(x.shape), np.zeros(x.shape), x.shape[1]
        y1[:, 0] = a1 * x[:, 0]
        y1[:, 1] = a1 * x[:, 1] + a2 * x[:, 0] + b1 * y1[:, 0]
        for j in range(2, width):
            y1[:, j] = a1 * x[:, j] + a2 * x[:, j - 1] + b1 * y1[:, j - 1] + b2 * y1[:, j - 2]
        y2[:, -1] = 0.0
        y2[:, -2] = a3 * x[:, -1]
        for j in range(width - 3, -1, -1):
            y2[:, j] = a3 * x[:, j + 1] + a4 * x[:, j + 2] + b1 * y2[:, j + 1] + b2 * y2[:, j + 2]
        return y1 + y2

    return {"y": along_rows(along_rows(a["x"]).T).T}


def adi(a):
    u, v, N = a["u"], a["v"], len(a["u"])
    a, d = float(a["a"]), float(a["d"])
    b, c, e, f = 1.0 - 2.0 * a, a, 1.0 - 2.0 * d, d
    for _ in range(2):
        p, q = np.zeros((N, N)), np.zeros((N, N))
        v[0, 1:N - 1] = 1.0
        q[1:N - 1, 0] = v[0, 1:N - 1]
        for j in range(1, N - 1):
            p[1:N - 1, j] = -c / (a * p[1:N - 1, j - 1] + b)
            q[1:N - 1, j] = (-d * u[j, 0:N - 2] + (1.0 + 2.0 * d) * u[j, 1:N - 1] - f * u[j, 2:N] - a * q[1:N - 1, j - 1]) / (
                a * p[1:N - 1, j - 1] + b)
        v[N - 1, 1:N - 1] = 1.0
        for j in range(N - 2, 0, -1):
            v[j, 1:N - 1] = p[1:N - 1, j] * v[j + 1, 1:N - 1] + q[1:N - 1, j]
        u[1:N - 1, 0] = 1.0
        p[1:N - 1, 0] = 0.0
        q[1:N - 1, 0] = u[1:N - 1, 0]
        for j in range(1, N - 1):
            p[1:N - 1, j] = -f / (d * p[1:N - 1, j - 1] + e)
            q[1:N - 1, j] = (-a * v[0:N - 2, j] + (1.0 + 2.0 * a) * v[1:N - 1, j] - c * v[2:N, j] - d * q[1:N - 1, j - 1]) / (
                d * p[1:N - 1, j - 1] + e)
        u[1:N - 1, N - 1] = 1.0
        for j in range(N - 2, 0, -1):
            u[1:N - 1, j] = p[1:N - 1, j] * u[1:N - 1, j + 1] + q[1:N - 1, j]
    return ["u", "v"]


def floyd_warshall(a):
    path = a["path"]
    for k in range(len(path)):
        for i in range(len(path)):
            for j in range(len(path)):
                path[i, j] = min(path[i, j], path[i, k] + path[k, j])
    return ["path"]


# ---- networks


def conv(x, w):
    rows, columns = x.shape[1] - w.shape[0] + 1, x.shape[2] - w.shape[1] + 1
    y = np.empty((x.shape[0], rows, columns, w.shape[3]))
    for i in range(rows):
        for j in range(columns):
            y[:, i, j, :] = np.sum(x[:, i:i + w.shape[0], j:j + w.shape[1], :, None] * w[None], axis=(1, 2, 3))
    return y


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def mlp(a):
    x = relu(a["x"] @ a["w1"] + a["b1"])
    x = relu(x @ a["w2"] + a["b2"])
    return {"p": softmax(x @ a["w3"] + a["b3"])}


def batch_norm(x, eps=1e-5):
    return (x - np.mean(x, axis=0, keepdims=True)) / np.sqrt(np.std(x, axis=0, keepdims=True) + eps)


def resnet(a):
    N, H, W, _ = a["x"].shape
    padded = np.zeros((N, H + 2, W + 2, a["w1"].shape[1]))
    padded[:, 1:-1, 1:-1, :] = conv(a["x"], a["w1"][None, None])
    x = relu(batch_norm(padded))
    x = relu(batch_norm(conv(x, a["w2"])))
    x = batch_norm(conv(x, a["w3"][None, None]))
    return {"y": relu(x + a["x"])}


# ---- linear algebra and statistics


def correlation(a):
    data = a["data"].copy()
    stddev = data.std(axis=0)
    stddev[stddev <= 0.1] = 1.0
    data -= data.mean(axis=0)
    data /= np.sqrt(data.shape[0]) * stddev
    corr = np.eye(data.shape[1])
    for i in range(data.shape[1] - 1):
        corr[i + 1:, i] = corr[i, i + 1:] = data[:, i] @ data[:, i + 1:]
    return {"corr": corr}


def covariance(a):
    data = a["data"] - a["data"].mean(axis=0)
    return {"cov": data.T @ data / (len(data) - 1)}


def gemver(a):
    A = a["A"] + np.outer(a["u1"], a["v1"]) + np.outer(a["u2"], a["v2"])
    x = a["x"] + a["beta"] * a["y"] @ A + a["z"]
    return {"A1": A, "x1": x, "w1": a["w"] + a["alpha"] * A @ x}


def symm(a):
    C, A, B, alpha = a["C"] * a["beta"], a["A"], a["B"], a["alpha"]
    for i in range(C.shape[0]):
        below = np.empty(C.shape[1])
        for j in range(C.shape[1]):
            C[:i, j] += alpha * B[i, j] * A[i, :i]
            below[j] = B[:i, j] @ A[i, :i]
        C[i, :] += alpha * B[i, :] * A[i, i] + alpha * below
    return {"D": C}


def syrk(a):
    C, A = a["C"].copy(), a["A"]
    for i in range(len(A)):
        C[i, :i + 1] *= a["beta"]
        for k in range(A.shape[1]):
            C[i, :i + 1] += a["alpha"] * A[i, k] * A[:i + 1, k]
    return {"D": C}


def syr2k(a):
    C, A, B = a["C"].copy(), a["A"], a["B"]
    for i in range(len(A)):
        C[i, :i + 1] *= a["beta"]
        for k in range(A.shape[1]):
            C[i, :i + 1] += A[:i + 1, k] * a["alpha"] * B[i, k] + B[:i + 1, k] * a["alpha"] * A[i, k]
    return {"D": C}


def trmm(a):
    A, B = a["A"], a["B"].copy()
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] += A[i + 1:, i] @ B[i + 1:, j]
    return {"C": B * a["alpha"]}


# ---- the others


def nbody(a):
    mass, pos, vel, dt, G, softening = (a[n] for n in ("mass", "pos", "vel", "dt", "G", "softening"))

    def acceleration(pos):
        d = [pos[:, k:k + 1].T - pos[:, k:k + 1] for k in range(3)]
        inverse = d[0] ** 2 + d[1] ** 2 + d[2] ** 2 + softening**2
        inverse[inverse > 0] = inverse[inverse > 0] ** -1.5
        return np.stack([G * (dk * inverse) @ mass for dk in d], axis=1)

    vel = vel + acceleration(pos) * dt / 2.0
    pos = pos + vel * dt
    vel = vel + acceleration(pos) * dt / 2.0
    d = [pos[:, k:k + 1].T - pos[:, k:k + 1] for k in range(3)]
    r = np.sqrt(d[0] ** 2 + d[1] ** 2 + d[2] ** 2)
    r[r > 0] = 1.0 / r[r > 0]
    potential = G * np.sum(np.triu(-(np.outer(mass, mass)) * r, 1))
    return {"pos1": pos, "vel1": vel, "kinetic": 0.5 * np.sum(mass[:, None] * vel**2), "potential": potential}


def azimint(a):
    data, radius, count = a["data"], a["radius"], len(a["rings"])
    means = np.zeros(count)
    for i in range(count):
        r1, r2 = radius.max() * i / count, radius.max() * (i + 1) / count
        means[i] = data[np.logical_and(r1 <= radius, radius < r2)].mean()
    return {"means": means}


def azimint_hist(a):
    data, radius, count = a["data"], a["radius"], len(a["rings"])
    return {"means": np.histogram(radius, count, weights=data)[0] / np.histogram(radius, count)[0]}


def mandelbrot(a):
    c = a["re"] + 1j * a["im"][:, None]
    z, count = np.zeros(c.shape, complex), np.zeros(c.shape)
    for n in range(6):
        inside = abs(z) < 2
        count[inside] = n
        z[inside] = z[inside] ** 2 + c[inside]
    a["x"], a["y"], a["count"] = z.real, z.imag, count
    return ["x", "y", "count"]


def arc_distance(a):
    t1, p1, t2, p2 = a["theta_1"], a["phi_1"], a["theta_2"], a["phi_2"]
    t = np.sin((t2 - t1) / 2) ** 2 + np.cos(t1) * np.cos(t2) * np.sin((p2 - p1) / 2) ** 2
    return {"d": 2 * np.arctan2(np.sqrt(t), np.sqrt(1 - t))}


def main():
    print("# Written by programs.py, which says what the lines mean.")
    program("jacobi_1d", {"A": (12,), "B": (12,)}, ["jacobi_1d A -> B@1.1", "jacobi_1d B -> A@1.1"] * 3, jacobi_1d, 8, "jacobi_1d A")
    program("jacobi_2d", {"A": (6, 9), "B": (6, 9)}, ["jacobi_2d A -> B@1.1,1.1", "jacobi_2d B -> A@1.1,1.1"] * 2, jacobi_2d)
    program("heat_3d", {"A": (5, 6, 7), "B": (5, 6, 7)}, ["heat_3d A -> B@1.1,1.1,1.1", "heat_3d B -> A@1.1,1.1,1.1"] * 2, heat_3d)
    program("fdtd_2d", {"ex": (6, 8), "ey": (6, 8), "hz": (6, 8), "source": 0.5},
            ["row source ey -> ey@0,0.0", "electric ex ey hz -> ey@1.0,0.0 ex@0.0,1.0", "magnetic ex ey hz -> hz@0.1,0.1"] * 3, fdtd_2d)
    program("cavity_flow", {"u": (7, 8), "v": (7, 8), "p": (7, 8), "dt": 0.125, "dx": 0.5, "dy": 0.25, "rho": 1.5},
            ["pressure u v p dt dx dy rho -> p@1.1,1.1", "right p -> p@0.0,7", "top p -> p@0,0.0"] * 3, cavity_flow)
    program("channel_flow", {"u0": ("0", (6, 7)), "v0": (6, 7), "q0": (4, 7), "dt": 0.03125, "dx": 0.5, "dy": 0.5, "rho": 1.0, "nu": 0.125, "F": 1.0, "growth": 0.0625},
            ["channel_flow u0 v0 q0 dt dx dy rho nu F growth -> uT vT qT n"], channel_flow, 32)
    program("hdiff", {"x": (8, 9, 3), "coeff": (4, 5, 3)}, ["hdiff x coeff -> y"], fresh(hdiff))
    program("vadv", {"utens": (3, 4, 6), "u_stage": (3, 4, 6), "wcon": (4, 4, 6), "u_pos": (3, 4, 6), "utens_stage": (3, 4, 6), "dtr": 3.0},
            ["vadv utens u_stage wcon u_pos utens_stage dtr -> y"], fresh(vadv), 16, "vadv utens u_stage wcon u_pos utens_stage dtr")
    program("deriche", {"x": (7, 9), "alpha": 0.25}, ["deriche x alpha -> y"], fresh(deriche), 16, "deriche x alpha")
    program("adi", {"u": (8, 8), "v": ("1", (8, 8)), "one": 1.0, "a": -0.75, "d": -0.375},
            ["columns u@1.1,0.0 a d -> v@1.1,1.1", "rows v@0.0,1.1 a d -> u@1.1,1.1", "border one u@1.1,0.0 -> u@1.1,0 u@1.1,7"] * 2, adi, 16)
    program("conv2d", {"x": (2, 5, 6, 3), "w": (2, 3, 3, 4), "bias": (4,)}, ["conv2d x w bias -> y"],
            fresh(lambda a: {"y": conv(a["x"], a["w"]) + a["bias"]}), 8, "conv2d x w bias")
    program("softmax", {"x": (2, 2, 3, 7)}, ["softmax x -> p"], fresh(lambda a: {"p": softmax(a["x"])}), 8, "softmax x")
    program("mlp", {"x": (4, 5), "w1": (5, 6), "b1": (6,), "w2": (6, 4), "b2": (4,), "w3": (4, 3), "b3": (3,)},
            ["mlp x w1 b1 w2 b2 w3 b3 -> p"], fresh(mlp), 8, "mlp x w1 b1 w2 b2 w3 b3")
    program("resnet", {"x": (3, 4, 5, 4), "w1": (4, 3), "w2": (3, 3, 3, 3), "w3": (3, 4), "padded": ("0", (3, 6, 7, 3))},
            ["first x w1 -> padded@0.0,1.1,1.1,0.0", "rest padded x w2 w3 -> y"], fresh(resnet), 16, "rest padded x w2 w3")
    program("correlation", {"data": (9, 5)}, ["correlation data -> corr"], fresh(correlation), 8, "correlation data")
    program("covariance", {"data": (9, 5)}, ["covariance data -> cov"], fresh(covariance))
    program("gemm", {"alpha": 1.5, "beta": 1.25, "C": (5, 6), "A": (5, 4), "B": (4, 6)}, ["gemm alpha beta C A B -> D"],
            fresh(lambda a: {"D": a["alpha"] * a["A"] @ a["B"] + a["beta"] * a["C"]}), 8, "gemm alpha beta C A B")
    vectors = {"u1": (5,), "v1": (5,), "u2": (5,), "v2": (5,), "w": (5,), "x": (5,), "y": (5,), "z": (5,)}
    program("gemver", {"alpha": 1.5, "beta": 1.25, "A": (5, 5), **vectors},
            ["gemver alpha beta A u1 v1 u2 v2 w x y z -> A1 x1 w1"], fresh(gemver))
    program("gesummv", {"alpha": 1.5, "beta": 1.25, "A": (6, 6), "B": (6, 6), "x": (6,)}, ["gesummv alpha beta A B x -> y"],
            fresh(lambda a: {"y": a["alpha"] * a["A"] @ a["x"] + a["beta"] * a["B"] @ a["x"]}))
    program("k2mm", {"alpha": 1.5, "beta": 1.25, "A": (4, 5), "B": (5, 6), "C": (6, 3), "D": (4, 3)}, ["k2mm alpha beta A B C D -> E"],
            fresh(lambda a: {"E": a["alpha"] * a["A"] @ a["B"] @ a["C"] + a["beta"] * a["D"]}))
    program("k3mm", {"A": (4, 5), "B": (5, 6), "C": (6, 3), "D": (3, 7)}, ["k3mm A B C D -> G"],
            fresh(lambda a: {"G": a["A"] @ a["B"] @ a["C"] @ a["D"]}), 8, "k3mm A B C D")
    program("doitgen", {"A": (3, 4, 5), "C4": (5, 5)}, ["doitgen A C4 -> B"], fresh(lambda a: {"B": a["A"] @ a["C4"]}))
    program("mvt", {"x1": (6,), "x2": (6,), "y1": (6,), "y2": (6,), "A": (6, 6)}, ["mvt x1 x2 y1 y2 A -> z1 z2"],
            fresh(lambda a: {"z1": a["x1"] + a["A"] @ a["y1"], "z2": a["x2"] + a["y2"] @ a["A"]}))
    program("atax", {"A": (5, 7), "x": (7,)}, ["atax A x -> y"], fresh(lambda a: {"y": (a["A"] @ a["x"]) @ a["A"]}))
    program("bicg", {"A": (5, 7), "p": (7,), "r": (5,)}, ["bicg A p r -> s q"],
            fresh(lambda a: {"s": a["r"] @ a["A"], "q": a["A"] @ a["p"]}))
    program("symm", {"alpha": 1.5, "beta": 1.25, "C": (5, 6), "A": (5, 5), "B": (5, 6)}, ["symm alpha beta C A B -> D"], fresh(symm), 8,
            "symm alpha beta C A B")
    program("syrk", {"alpha": 1.5, "beta": 1.25, "C": (5, 5), "A": (5, 7)}, ["syrk alpha beta C A -> D"], fresh(syrk))
    program("syr2k", {"alpha": 1.5, "beta": 1.25, "C": (5, 5), "A": (5, 7), "B": (5, 7)}, ["syr2k alpha beta C A B -> D"], fresh(syr2k))
    program("trmm", {"alpha": 1.5, "A": (5, 5), "B": (5, 6)}, ["trmm alpha A B -> C"], fresh(trmm))
    program("floyd_warshall", {"path": ("+", (7, 7))},
            ["floyd_warshall path path@0.0,%d path@%d,0.0 -> path" % (k, k) for k in range(7)], floyd_warshall)
    program("nbody", {"mass": ("+", (6,)), "pos": (6, 3), "vel": (6, 3), "dt": 0.0625, "G": 1.0, "softening": 0.5},
            ["nbody mass pos vel dt G softening -> pos1 vel1 kinetic potential"], fresh(nbody), 16, "nbody mass pos vel dt G softening")
    program("azimint", {"data": (40,), "radius": ("+", (40,)), "rings": (7,)}, ["azimint data radius rings -> means"], fresh(azimint))
    program("azimint_hist", {"data": (40,), "radius": ("+", (40,)), "rings": (7,)}, ["azimint_hist data radius rings -> means"],
            fresh(azimint_hist), gradient="azimint_hist data radius rings")
    program("go_fast", {"a": (6, 6)}, ["go_fast a -> y"], fresh(lambda a: {"y": a["a"] + np.tanh(np.diagonal(a["a"])).sum()}))
    program("compute", {"x": (5, 6), "y": (5, 6), "a": 1.5, "b": -0.75, "c": 0.25}, ["compute x y a b c -> z"],
            fresh(lambda a: {"z": np.clip(a["x"], -0.5, 1) * a["a"] + a["y"] * a["b"] + a["c"]}))
    program("arc_distance", {"theta_1": (12,), "phi_1": (12,), "theta_2": (12,), "phi_2": (12,)},
            ["arc_distance theta_1 phi_1 theta_2 phi_2 -> d"], fresh(arc_distance))
    program("mandelbrot", {"re": (9,), "im": (7,), "x": ("0", (7, 9)), "y": ("0", (7, 9)), "count": ("0", (7, 9)), "n": 0.0},
            ["mandelbrot re im x y count n -> x y count n"] * 6, mandelbrot, 16)


if __name__ == "__main__":
    main()
