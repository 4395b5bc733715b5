#!/bin/sh
# Kernels that are built ahead of time, as a C program sees them: docs/ship.md's own program and
# commands, a program with several kernels, states, threads and freed handles, layouts that were not
# built, objects of other versions, and build systems. No program loads LLVM. Prints one `ok -
# SENTENCE` or `not ok - SENTENCE: what was seen` per check; fails if one of them does.
#
#   ship.sh BUILD     a build folder that is up to date
set -u
CDPATH='' cd -- "$(dirname -- "$0")/../.." || exit 1
here=$PWD/tests/ship
page=$PWD/docs/ship.md
build=$(CDPATH='' cd -- "${1:-build}" && pwd) || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
PATH=$build/tools:$PATH
export PATH
unset BROADLOOM_TARGET BROADLOOM_CACHE_DIR
export BROADLOOM_CACHE=0 # what runs was built
export PKG_CONFIG_PATH="$work:$build/packaging"
strict='-std=c11 -Wall -Wextra -pedantic -Wconversion -Wshadow -Werror'
. "$here/../check.sh"

# What the libraries of a program that runs are.
no_llvm() { # PROGRAM
  ldd "$1" >libraries || return 1
  grep -q 'libbroadloom\.so' libraries || { cat libraries; return 1; }
  ! grep -qi 'llvm' libraries
  LD_DEBUG=files "$@" 2>&1 | grep -qi 'calling init: .*llvm' && { echo 'it loads LLVM'; return 1; }
  return 0
}

page_program() {
  block_of "$page" loom 1 >softmax.loom && block_of "$page" c 1 >main.c && block_of "$page" sh 1 >commands && block_of "$page" text 1 >wanted || return 1
  [ -s commands ] && [ -s wanted ] || { echo 'the page has no program'; return 1; }
  sed "s/^cc -std=c11/cc $strict/" commands | sh -eu >found || return 1
  diff -u wanted found
}

without_llvm() { no_llvm ./main; }

meson_project() { # of the page
  mkdir -p project && cp softmax.loom main.c project/ &&
    { echo "project('ship', 'c', default_options: ['c_std=c11', 'warning_level=3', 'werror=true'])" && block_of "$page" meson 1; } >project/meson.build &&
    meson setup project/build project && ninja -C project/build && project/build/main >found && tail -n 2 wanted | diff - found
}

# The run-time library alone: nobody can load what is not there.
without_the_backend() {
  mkdir -p alone && cp "$build"/jit/libbroadloom.so.0.1 alone/ && LD_LIBRARY_PATH=$work/alone ./main >found &&
    tail -n 2 wanted | diff - found
}

built_from_gradient() {
  block_of "$page" sh 2 | sh -eu && [ -s softmax_gradient.o ] && [ -s softmax_gradient.h ]
}

kernels() { # NAME.. : each of kernels.loom
  for name in "$@"; do
    broadloom build "$here/kernels.loom" --kernel "$name" --layouts "$here/$name.txt" -o "$name" || return 1
  done
}

program_of_all() {
  kernels scale memory times histogram picks cumulated functions matmul || return 1
  # shellcheck disable=SC2046,SC2086 # lists of words
  cc $strict "$here/all.c" -I. scale.o memory.o times.o histogram.o picks.o cumulated.o functions.o matmul.o softmax_gradient.o \
    $(pkg-config --cflags --libs broadloom) -pthread -o all && ./all && no_llvm ./all
}

same_bits_at_each_level() { # none of which is that of another
  ./all >native && for level in x86-64-v3 x86-64-v4; do
    BROADLOOM_TARGET=$level ./all >"$level" 2>"$level.log" || grep -q E0503 "$level.log" || { cat "$level.log"; return 1; }
    [ ! -s "$level" ] || diff native "$level" || return 1
  done && grep -q '^bits' native
}

in_an_arena() {
  # shellcheck disable=SC2046 # a list of words
  cc -std=c11 -Wall -Wextra "$here/arena.c" -I. times.o $(pkg-config --cflags --libs broadloom) -o arena && ./arena
}

for_aarch64() { # from here, where this is x86-64: of bytes 18 and 19 of a file ELF reads the architecture, 183
  [ "$(uname -m)" = x86_64 ] || return 0
  broadloom build softmax.loom -o there --target aarch64 >seen.txt && cat seen.txt &&
    grep -qx 'there.o, there.h, there.pc: code for aarch64' seen.txt && grep -q 'there.o has code for aarch64' there.h &&
    [ "$(od -An -tu1 -j18 -N2 there.o | tr -d ' ')" = 1830 ] && [ "$(od -An -tu1 -j18 -N2 softmax.o | tr -d ' ')" = 620 ] &&
    readelf -s there.o | grep -q there_built && broadloom build --help | grep -q 'x86-64-v4|x86-64-v3|aarch64'
}

targets_that_do_not_go() {
  ! broadloom build softmax.loom -o both --target x86-64-v3 --target aarch64 2>said && grep -q 'E0503.*one architecture' said &&
    ! broadloom build softmax.loom -o both --target sm_90 2>said && grep -q "E0503.*builds no code for 'sm_90'" said && [ ! -e both.o ]
}

as_cpp() { # the headers are C++, too
  # shellcheck disable=SC2046 # a list of words
  sed 's/<stdio.h>/<cstdio>/' main.c >main.cpp && g++ -std=c++11 -Wall -Wextra -pedantic -Wconversion -Werror main.cpp -I. softmax.o \
    $(pkg-config --cflags --libs broadloom) -o main_cpp && ./main_cpp >found && tail -n 2 wanted | diff - found
}

for_each_level() { # with the bits of the kernel that is compiled
  for level in x86-64-v3 x86-64-v4; do
    BROADLOOM_TARGET=$level ./main >"$level" 2>"$level.log" || grep -q E0503 "$level.log" || { cat "$level.log"; return 1; }
    [ ! -s "$level" ] || tail -n 2 wanted | diff - "$level" || return 1
  done
}

lacks_the_processor() { # asked for what was not built; by itself it takes the interpreter
  broadloom build softmax.loom -o only --target x86-64-v3 >seen.txt &&
    sed 's/softmax/only/g' main.c >only.c || return 1
  # shellcheck disable=SC2046 # a list of words
  cc only.c -I. only.o $(pkg-config --cflags --libs broadloom) -o only_main && ./only_main >found && tail -n 2 wanted | diff - found &&
    ! BROADLOOM_TARGET=x86-64-v4 ./only_main 2>said && grep -q E0503 said
}

on_older_processors() { # one without AVX2, and one without AVX-512
  qemu-x86_64 -cpu Nehalem ./main >found 2>said && tail -n 2 wanted | diff - found && grep -q 'this machine cannot run code' said &&
    qemu-x86_64 -cpu Haswell ./main >found 2>said && tail -n 2 wanted | diff - found && ! grep -q interpreter said
}

other_version() { # of either: it stands in the object, as text
  for change in 's/code generator [0-9a-f]*/code generator 0123456789abcdef/' 's/C interface 1/C interface 2/'; do
    sed "$change" softmax.o >other.o && ! cmp -s softmax.o other.o || return 1
    # shellcheck disable=SC2046 # a list of words
    cc main.c -I. other.o $(pkg-config --cflags --libs broadloom) -o main_other && ! ./main_other >found 2>said &&
      grep 'E0504.*was built by Broadloom' said | grep -q "$(echo "$change" | cut -d/ -f3)" && [ ! -s found ] || return 1
  done
}

other_header() {
  mkdir -p next && sed 's/BL_ABI_VERSION 1/BL_ABI_VERSION 2/' "$here/../../include/broadloom.h" >next/broadloom.h || return 1
  # shellcheck disable=SC2046 # a list of words
  ! cc -c main.c -Inext -I. $(pkg-config --cflags broadloom) -o /dev/null 2>said &&
    grep -q 'error.*softmax was built for version 1 of broadloom.h: build it again' said
}

wrong_layouts() {
  printf 'x=(3, 4)\nx=(3, *, 2)\n' >wrong.txt
  ! broadloom build softmax.loom --layouts wrong.txt -o wrong 2>said && grep -q 'wrong.txt:2:3: error\[E0070\]' said &&
    grep -q '\^' said && [ ! -e wrong.o ]
}

nothing_half_written() {
  mkdir -p taken/softmax.pc && ! broadloom build softmax.loom -o taken/softmax 2>said && grep -q E0303 said &&
    [ "$(ls taken)" = softmax.pc ]
}

wrong_text() {
  echo 'kernel k { in x : f32[i]; out y = x + w }' >bad.loom
  ! broadloom build bad.loom -o bad 2>said && grep -q 'bad.loom:1:39: error\[E0003\]' said && [ ! -e bad.o ]
}

same_object_twice() {
  broadloom build softmax.loom -o twice >seen.txt && cp twice.o first.o && broadloom build softmax.loom -o twice >seen.txt && cmp first.o twice.o
}

all_checks() {
  check 'the commands of docs/ship.md build a program in C, which prints what the page says' page_program
  check 'this program loads no LLVM' without_llvm
  check 'it runs where the library without LLVM is all that there is' without_the_backend
  check 'a gradient is built from standard input' built_from_gradient
  check 'states, loops over time, scatters, gathers, scans, products and threads run as built, in one program' program_of_all
  check 'this program prints the same bits with AVX2 and AVX-512' same_bits_at_each_level
  check 'a call in an arena of its caller asks the system for no memory, and one that is too small is told' in_an_arena
  check 'an object for aarch64 is built on x86-64' for_aarch64
  check 'targets of two architectures, and those that no object has, are refused' targets_that_do_not_go
  check 'the header is C++, too' as_cpp
  check 'code for AVX2 and for AVX-512 gives the same' for_each_level
  check 'the meson project of the page builds' meson_project
  check 'an object without code for the processor runs in the interpreter, and says so where it is asked for code' lacks_the_processor
  if command -v qemu-x86_64 >/dev/null; then
    check 'processors without AVX-512 and without AVX2 give the same' on_older_processors
  else
    echo 'NOT RUN: older processors, as there is no qemu-x86_64'
  fi
  check 'an object of another version, of Broadloom or its C interface, is refused by the first call' other_version
  check 'a program that includes another version of broadloom.h is not compiled' other_header
  check 'a wrong line of layouts is told with its place, and nothing is written' wrong_layouts
  check 'where one file cannot be written none is' nothing_half_written
  check 'a text that is wrong is told with its place' wrong_text
  check 'a kernel that is built twice gives the same bytes' same_object_twice
}

all_checks
exit "$failed"
