#!/usr/bin/env python3
"""Prints basic.hpp: the constants of exp, log, sin, cos and what is made of them (see remez.py)."""
import mpmath as mp

from remez import (relative, series, show_array, show_constant, show_end, show_opening,
                   show_polynomial, show_split, split)


def main():
    show_opening("basic.py", ["<cstdint>"])

    ln2 = mp.log(2)
    show_constant("inverse_ln2", 1 / ln2)
    show_split(["ln2_1", "ln2_2", "ln2_3"], ln2)
    print("// The first part has 11 zero bits at the end: its product with an exponent is exact.")
    show_split(["ln2_short_1", "ln2_short_2"], ln2, 42)
    show_constant("inverse_pi", 1 / mp.pi)
    show_split(["pi_1", "pi_2"], mp.pi)
    show_constant("two_over_pi", 2 / mp.pi)
    show_split(["half_pi_1", "half_pi_2", "half_pi_3"], mp.pi / 2)
    show_split(["third_1", "third_2"], mp.mpf(1) / 3)
    gelu_linear = 2 * mp.sqrt(2 / mp.pi)
    show_split(["gelu_linear_1", "gelu_linear_2"], gelu_linear)
    show_split(["gelu_cubic_1", "gelu_cubic_2"], gelu_linear * mp.mpf("0.044715"))

    # Intervals are stretched a little for arguments that the reduction leaves just outside. The
    # weights give the error of the whole function in units of its value: a power of z where zero is
    # an end of the interval, none where it lies inside, since Remez needs a positive weight there.
    stretch = mp.mpf("1.0001")
    near_zero = mp.mpf("1e-4")
    half_ln2 = ln2 / 2 * stretch
    square_quotient = lambda x: series(x, lambda i: 1 / mp.factorial(i + 2), 1)
    cube_quotient = lambda x: series(x, lambda i: 1 / mp.factorial(i + 3), 1)
    show_polynomial(
        "exp_short_tail", "(exp(r) - 1 - r) / r^2 on |r| <= ln2/2, relative to the tail",
        square_quotient, relative(square_quotient), 7, -half_ln2, half_ln2)
    show_polynomial(
        "exp_tail", "(exp(r) - 1 - r - r^2/2) / r^3 on |r| <= ln2/2, relative to the tail",
        cube_quotient, relative(cube_quotient), 10, -half_ln2, half_ln2)

    factorials = [1 / mp.factorial(n) for n in range(1, 24)]
    print("\n// 1/n! for n = 1, 2, .. as pairs, and on to 23, whose term is 2^-106 of the first.")
    show_array("exp_pair_head_1", [split(c, 2)[0] for c in factorials[:11]])
    show_array("exp_pair_head_2", [split(c, 2)[1] for c in factorials[:11]])
    show_array("exp_pair_tail", factorials[11:])

    # s = f / (2 + f) for 1 + f in [sqrt(1/2), sqrt(2)]
    s_max = (mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)
    z_max = s_max**2 * stretch
    log_rest = lambda z: series(z, lambda i: mp.mpf(1) / (2 * i + 3), 2)
    pair_rest = lambda z: series(z, lambda i: mp.mpf(1) / (2 * i + 5), 1)
    show_polynomial(
        "log_short_tail", "(2 atanh(s) - 2 s) / s^3 in z = s^2, relative to log",
        log_rest, lambda z: z / 2 + near_zero, 5, 0, z_max)
    show_polynomial(
        "log_tail", "the same for f64, relative to log",
        log_rest, lambda z: z / 2 + near_zero, 7, 0, z_max)
    show_polynomial(
        "log_pair_tail", "(atanh(s) - s - s^3/3) / s^5 in z = s^2, relative to log",
        pair_rest, lambda z: z**2 + near_zero**2, 8, 0, z_max)

    sin_rest = lambda z: series(z, lambda i: (-1) ** (i + 1) / mp.factorial(2 * i + 3), 1)
    cos_rest = lambda z: series(z, lambda i: (-1) ** i / mp.factorial(2 * i + 4), 1)
    sin_quotient = lambda z: mp.sin(mp.sqrt(z)) / mp.sqrt(z) if z > 0 else mp.mpf(1)
    sin_weight = lambda z: (z + near_zero) / sin_quotient(z)
    half_turn = (mp.pi / 2 * stretch) ** 2
    quarter_turn = (mp.pi / 4 * stretch) ** 2
    show_polynomial(
        "sin_short_tail", "(sin(r) - r) / r^3 in z = r^2 on |r| <= pi/2, relative to sin",
        sin_rest, sin_weight, 6, 0, half_turn)
    show_polynomial(
        "sin_tail", "(sin(r) - r) / r^3 in z = r^2 on |r| <= pi/4, relative to sin",
        sin_rest, sin_weight, 6, 0, quarter_turn)
    show_polynomial(
        "cos_tail", "(cos(r) - 1 + r^2/2) / r^4 in z = r^2 on |r| <= pi/4, relative to cos",
        cos_rest, lambda z: (z + near_zero) ** 2 / mp.cos(mp.sqrt(z)), 6, 0, quarter_turn)

    # A double is M * 2^e with e <= 971; its window of 192 bits starts two bits before the bit e.
    print("\n// 2/pi in fixed point: a word before the binary point (zero), then 64 digits a word.")
    words = 19
    mp.mp.dps = 420
    digits = int(mp.floor(2 / mp.pi * mp.mpf(2) ** (64 * words)))
    print("inline constexpr std::uint64_t two_over_pi_bits[] = {")
    print("    0,")
    for i in range(words):
        print(f"    0x{(digits >> (64 * (words - 1 - i))) & (2**64 - 1):016x},")
    print("};")

    # With x <= 0.87 the term after the last one is 0.87^44 / 45! < 2^-194.
    print("\n// log 2, and 1/n! for n = 2, 3, .. 44: 192 digits after the binary point, the first ones first.")
    words_of = lambda x: ", ".join(
        f"0x{(int(mp.floor(x * mp.mpf(2) ** 192)) >> shift) & (2**64 - 1):016x}"
        for shift in (128, 64, 0))
    print(f"inline constexpr std::uint64_t ln2_bits[] = {{{words_of(mp.log(2))}}};")
    print("inline constexpr std::uint64_t inverse_factorial_bits[][3] = {")
    for n in range(2, 45):
        print(f"    {{{words_of(1 / mp.factorial(n))}}},")
    print("};")
    show_end()


main()
