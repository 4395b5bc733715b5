#!/bin/sh
# Checks that what `meson install` puts down is all that a stranger needs: a consumer is built
# against it by pkg-config, by CMake and as a meson project, with the shared and with the static
# library; the shared library exports the public interface and nothing else; the programs of shells
# find what is for them. Prints one `ok - SENTENCE` or `not ok - SENTENCE: what was seen` per check;
# fails if one of them does.
#
#   packaging.sh BUILD     a build folder that is up to date, with default_library=both
set -u
CDPATH='' cd -- "$(dirname -- "$0")/../.." || exit 1
sources=$PWD
here=$sources/tests/packaging
build=$(CDPATH='' cd -- "${1:-build}" && pwd) || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset PKG_CONFIG_PATH CMAKE_PREFIX_PATH LD_LIBRARY_PATH LD_RUN_PATH DESTDIR
expected=$(printf 's = 1.5 3\nE0003')

. tests/check.sh

# if_there PROGRAM SENTENCE COMMAND...: a check that needs what not every machine has
if_there() {
  if command -v "$1" >/dev/null; then
    shift
    check "$@"
  else
    echo "NOT RUN: $2, as there is no $1"
  fi
}

# if_python MODULE SENTENCE COMMAND...: the same for a package of Python, which $python has
if_python() {
  for python in python3 /usr/bin/python3; do
    "$python" -c "import $1" 2>/dev/null || continue
    shift
    check "$@"
    return
  done
  echo "NOT RUN: $2, as there is no Python with $1"
}

# The folders of an installation are those that the build was set up with, below another root.
installed() { # OPTION: bindir, libdir, ..
  meson introspect "$build" --buildoptions |
    python3 -c 'import json, sys; print(next(o["value"] for o in json.load(sys.stdin) if o["name"] == sys.argv[1]))' "$1"
}
prefix=$(installed prefix) libdir=$(installed libdir)

# install_to ROOT: a copy, which may lie anywhere.
install_to() { meson install -C "$build" --no-rebuild --destdir "$1" --quiet; }
root=$work/both$prefix static_root=$work/static$prefix

pc() { # ROOT OPTION...
  dir=$1
  shift
  PKG_CONFIG_PATH="$dir/$libdir/pkgconfig" pkg-config "$@" broadloom
}

runs() { # PROGRAM: prints what it should, as a user starts it: nothing is said of where libraries are
  seen=$("$1" 2>&1)
  [ "$seen" = "$expected" ] || { echo "$seen"; return 1; }
}

loads_broadloom() { readelf -d "$1" | grep -q 'NEEDED.*libbroadloom\.so\.0\.1\]'; }

# --- consumers ------------------------------------------------------------------------------------

pkg_config_shared() {
  flags=$(pc "$root" --cflags --libs) || return 1
  # shellcheck disable=SC2086 # a list of words
  g++ -std=c++20 "$here/consumer.cpp" $flags "-Wl,-rpath,$(pc "$root" --variable=libdir)" -o "$work/by_pkg_config" &&
    loads_broadloom "$work/by_pkg_config" && runs "$work/by_pkg_config"
}

# The README's own line on the README's own example, with a library that is not installed.
readme_line() {
  mkdir -p "$work/readme" && cp samples/example.cpp "$work/readme/main.cpp" || return 1
  line=$(sed -n '/^g++ -std=c++20 main.cpp/p' README.md)
  [ -n "$line" ] || { echo 'the README has no such line'; return 1; }
  (cd "$work/readme" && PKG_CONFIG_PATH=$build/packaging sh -ec "$line" && ./a.out) >"$work/readme/seen" 2>&1 ||
    { cat "$work/readme/seen"; return 1; }
  grep -q '^s = \[1.5, 3.0\]' "$work/readme/seen"
}

pkg_config_static() {
  flags=$(pc "$static_root" --static --cflags --libs) || return 1
  # shellcheck disable=SC2086 # a list of words
  g++ -std=c++20 "$here/consumer.cpp" $flags -o "$work/by_pkg_config_static" &&
    ! loads_broadloom "$work/by_pkg_config_static" && runs "$work/by_pkg_config_static"
}

# The program of docs/c.md, by a compiler of C that takes nothing but C11, prints what the page
# says.
c_program() {
  mkdir -p "$work/c" && block_of docs/c.md c >"$work/c/main.c" && block_of docs/c.md text >"$work/c/wanted" || return 1
  [ -s "$work/c/main.c" ] && [ -s "$work/c/wanted" ] || { echo 'docs/c.md has no program'; return 1; }
  flags=$(pc "$root" --cflags --libs) || return 1
  # shellcheck disable=SC2086 # a list of words
  cc -std=c11 -pedantic -Wall -Wextra -Wconversion -Wshadow -Werror "$work/c/main.c" $flags -o "$work/c/main" &&
    LD_LIBRARY_PATH=$root/$libdir "$work/c/main" >"$work/c/seen" 2>"$work/c/error" &&
    cat "$work/c/seen" "$work/c/error" | diff "$work/c/wanted" -
}

# Without a package, as the page has it.
ctypes_program() {
  block_of docs/c.md python >"$work/c/main.py" && [ -s "$work/c/main.py" ] || return 1
  seen=$(LD_LIBRARY_PATH=$root/$libdir python3 "$work/c/main.py") || return 1
  [ "$seen" = 14.0 ] || { echo "$seen"; return 1; }
}

# prints_the_page PROGRAM: what the program of docs/c.md prints, which those in other languages do
# as well
prints_the_page() {
  block_of docs/c.md text >"$work/wanted" && [ -s "$work/wanted" ] &&
    LD_LIBRARY_PATH=$root/$libdir "$1" >"$work/lines" 2>"$work/error" && cat "$work/lines" "$work/error" | diff "$work/wanted" -
}

# The samples as they are installed, by the commands of docs/c.md.
rust_program() {
  line=$(sed -n 's/^\(rustc softmax.rs .*\) && .*/\1/p' docs/c.md)
  mkdir -p "$work/rust" && cp "$root/share/doc/broadloom/samples/rust/softmax.rs" "$work/rust" && [ -n "$line" ] &&
    (cd "$work/rust" && PKG_CONFIG_PATH=$root/$libdir/pkgconfig sh -ec "$line -D warnings") &&
    loads_broadloom "$work/rust/softmax" && prints_the_page "$work/rust/softmax"
}

go_program() {
  line=$(sed -n 's/^\(go build .*\) && .*/\1/p' docs/c.md)
  mkdir -p "$work/go" && cp -R "$root/share/doc/broadloom/samples/go" "$work/go/softmax" && [ -n "$line" ] &&
    (cd "$work/go/softmax" && export GOCACHE="$work/go/cache" GOPATH="$work/go/path" GOFLAGS=-mod=mod GOTOOLCHAIN=local GOPROXY=off &&
      PKG_CONFIG_PATH=$root/$libdir/pkgconfig sh -ec "$line && go vet") &&
    loads_broadloom "$work/go/softmax/softmax" && prints_the_page "$work/go/softmax/softmax"
}

pkg_config_is_clean() { # the flags of a user of the shared library name nothing else
  for option in --cflags --define-prefix; do
    # shellcheck disable=SC2046 # a list of words
    set -- $(pc "$root" $option --cflags --libs)
    [ $# -eq 4 ] && [ "$1" = -isystem ] && [ "$(realpath "$2")" = "$root/include" ] &&
      [ "$(realpath "${3#-L}")" = "$root/$libdir" ] && [ "$4" = -lbroadloom ] || { echo "$@"; return 1; }
  done
}

# What a user's compiler is told to find in the user's code it does not find in ours.
headers_are_of_the_system() {
  echo '#include <broadloom/broadloom.hpp>' >"$work/include.cpp"
  # shellcheck disable=SC2046 # a list of words
  g++ -std=c++20 -Wpadded -Werror -fsyntax-only "$work/include.cpp" $(pc "$root" --cflags) &&
    ! g++ -std=c++20 -Wpadded -Werror -fsyntax-only "$work/include.cpp" -I"$root/include" 2>"$work/padded" &&
    grep -q 'Werror=padded' "$work/padded"
}

CONSUMER_WANTS=0.1

cmake_consumer() { # NAME ROOT TARGET
  cmake -S "$here" -B "$work/$1" -DCMAKE_PREFIX_PATH="$2" -DCONSUMER_LINKS="$3" \
    -DCONSUMER_WANTS=$CONSUMER_WANTS &&
    cmake --build "$work/$1"
}

cmake_shared() {
  cmake_consumer cmake_shared "$root" broadloom::broadloom &&
    loads_broadloom "$work/cmake_shared/consumer" && runs "$work/cmake_shared/consumer"
}

cmake_static() {
  cmake_consumer cmake_static "$root" broadloom::broadloom_static &&
    ! loads_broadloom "$work/cmake_static/consumer" && runs "$work/cmake_static/consumer"
}

cmake_static_only() {
  cmake_consumer cmake_static_only "$static_root" broadloom::broadloom &&
    runs "$work/cmake_static_only/consumer"
}

cmake_version() { # 0.2 may have another interface
  CONSUMER_WANTS=0.2
  ! cmake_consumer cmake_version "$root" broadloom::broadloom >"$work/refused" 2>&1 &&
    grep -q 'requested version "0.2"' "$work/refused"
}

# The project of docs/ship.md, with a kernel that is built ahead of time.
cmake_kernel() {
  mkdir -p "$work/ship" && block_of docs/ship.md loom >"$work/ship/softmax.loom" && block_of docs/ship.md c >"$work/ship/main.c" &&
    echo 'x=(*, *)' >"$work/ship/layouts.txt" && printf 'cmake_minimum_required(VERSION 3.16)\nproject(ship C)\n' >"$work/ship/CMakeLists.txt" &&
    block_of docs/ship.md cmake >>"$work/ship/CMakeLists.txt" &&
    cmake -S "$work/ship" -B "$work/ship/build" -DCMAKE_PREFIX_PATH="$root" && cmake --build "$work/ship/build" &&
    loads_broadloom "$work/ship/build/main" && "$work/ship/build/main" | grep '^0.333 0.333 0.333$'
}

# A subproject is set up and its targets are listed; that its sources compile the build folder
# shows.
meson_subproject() {
  mkdir -p "$work/parent/subprojects" && ln -s "$sources" "$work/parent/subprojects/broadloom" &&
    cp "$here/consumer.cpp" "$work/parent" && cat >"$work/parent/meson.build" <<'END' &&
project('consumer', 'cpp', default_options: ['cpp_std=c++20'])
broadloom = dependency('broadloom', fallback: ['broadloom', 'broadloom_dep'],
  default_options: ['tests=false', 'samples=false', 'bench=disabled', 'prove=disabled'])
executable('consumer', 'consumer.cpp', dependencies: broadloom)
END
    meson setup "$work/parent/build" "$work/parent" --wrap-mode=forcefallback "$@" &&
    ninja -C "$work/parent/build" -n consumer | grep -q 'subprojects/broadloom/jit/libbroadloom'
}

meson_installed() { # the same program, with the installed library
  mkdir -p "$work/other" && cp "$here/consumer.cpp" "$work/other" &&
    printf '%s\n' "project('consumer', 'cpp', default_options: ['cpp_std=c++20'])" \
      "executable('consumer', 'consumer.cpp', dependencies: dependency('broadloom', version: '>=0.1'))" \
      >"$work/other/meson.build" &&
    PKG_CONFIG_PATH="$root/$libdir/pkgconfig" meson setup "$work/other/build" "$work/other" &&
    ninja -C "$work/other/build" && runs "$work/other/build/consumer"
}

# --- the library ----------------------------------------------------------------------------------

# But for what its own part with LLVM asks for, under a version of its own.
exported() {
  nm -DC --defined-only "$root/$libdir/libbroadloom.so" | grep ' [A-TV-Zuvw] ' | grep -v 'BROADLOOM_PRIVATE_' | cut -c 20-
}

exports_only_public() {
  exported | sed -E 's/^(vtable|typeinfo name|typeinfo|guard variable) for //; s/@.*//' |
    grep -vE '^broadloom::[A-Za-z_0-9]+(::|\(|\[|$)|^broadloom::operator|^bl_[a-z_]+$|^BROADLOOM_0\.1$' >"$work/strangers"
  # Of namespaces within only what code in the headers calls.
  exported | grep -E '^(typeinfo for |vtable for )?broadloom::[a-z]+::' |
    grep -vE '^broadloom::(float16|bfloat16|detail::(fold_mode|input_of_rank|layout_within|scan_along))(::|\()' >>"$work/strangers"
  [ ! -s "$work/strangers" ] || { cat "$work/strangers"; return 1; }
}

exports_the_c_interface() {
  grep -oE '\bbl_[a-z_]+\(' include/broadloom.h | tr -d '(' | sort -u >"$work/c_declared"
  exported | grep -oE '^bl_[a-z_]+' | sort -u | diff "$work/c_declared" -
}

# Functions, numbers and the members of structs. A change wants a look at docs/c.md, and another
# BL_ABI_VERSION unless the interface only grew.
interface_is_as_it_was() { diff -u tests/packaging/c_interface.golden - <<TEXT
$(sh tests/packaging/c_interface.sh)
TEXT
}

exports_the_errors() {
  for class in Error SpecError ShapeError DTypeError DataError CompileError; do
    exported | grep -qF "typeinfo for broadloom::$class" || { echo "$class"; return 1; }
  done
}

# LLVM is loaded where code is made, and a process that finds its code on disk does without.
loads_llvm_once() { # PROGRAM
  libraries() { BROADLOOM_CACHE=1 BROADLOOM_CACHE_DIR=$work/cache-of-$(basename "$1") LD_DEBUG=files "$@" 2>&1; }
  libraries "$@" >"$work/first" && libraries "$@" >"$work/second" || { tail -n 3 "$work/first" "$work/second"; return 1; }
  grep -q 'calling init: .*\(libLLVM\|libbroadloom.*-llvm-\)' "$work/first" || { echo 'the first process does not load LLVM'; return 1; }
  ! grep -q 'libLLVM\|libbroadloom.*-llvm-' "$work/second" || { echo 'the second process loads LLVM'; return 1; }
}

consumer_loads_llvm_once() { loads_llvm_once "$work/by_pkg_config"; }

program_loads_llvm_once() {
  loads_llvm_once "$root/bin/broadloom" run -e 'kernel k { in x : f32[i]; out y = exp(x) }' --in 'x=rand(9)'
}

# Whatever a program was called by, and whatever lies in the folder that it was started in.
takes_its_own_part() {
  mkdir -p "$work/trap" && cp "$root/bin/broadloom" "$work/trap/broadloom" &&
    echo 'no library' >"$work/trap/libbroadloom-program-llvm-0.1.so" || return 1
  (cd "$work/trap" && BROADLOOM_CACHE=0 BROADLOOM_STRICT=1 bash -c 'exec -a broadloom "$1" run -e "$2" --in "x=rand(9)" --json' \
    bash "$root/bin/broadloom" 'kernel k { in x : f32[i]; out y = exp(x) }') | grep '"engine": "jit"'
}

runs_without_llvm() { # the answer is right, and the log says why it is slow
  mkdir -p "$work/alone" && cp "$root/$libdir"/libbroadloom.so* "$work/alone" || return 1
  seen=$(LD_LIBRARY_PATH=$work/alone "$work/by_pkg_config" any 2>"$work/alone/log")
  [ "$seen" = "$expected" ] && grep -q 'there is no libbroadloom-llvm-0.1.so in' "$work/alone/log" ||
    { echo "$seen"; cat "$work/alone/log"; return 1; }
}

static_has_all() { # no object of ours is left behind in another archive
  nm -C --undefined-only "$static_root/$libdir/libbroadloom.a" | sed -n 's/^ *U \(broadloom::.*\)/\1/p' | sort -u >"$work/u"
  nm -C --defined-only "$static_root/$libdir/libbroadloom.a" | sed -n 's/^[0-9a-f]* [A-Z] \(broadloom::.*\)/\1/p' |
    sort -u >"$work/d"
  comm -23 "$work/u" "$work/d" >"$work/lost"
  [ ! -s "$work/lost" ] || { cat "$work/lost"; return 1; }
}

default_library() { # KIND: what a build with only this kind of library would install
  meson setup "$work/$1" "$sources" --prefix=/usr -Ddefault_library="$1" -Dtests=false -Dsamples=false -Dbench=disabled \
    -Dprove=disabled >/dev/null &&
    meson introspect "$work/$1" --installed >"$work/$1.json" || return 1
  case $1 in
  static) ! grep -q 'libbroadloom\.so' "$work/static.json" && grep -q 'libbroadloom\.a' "$work/static.json" &&
    grep -q '^Libs: .*-lLLVM' "$work/static/packaging/broadloom.pc" ;;
  shared)
    grep -q 'libbroadloom\.so' "$work/shared.json" && ! grep -q 'libbroadloom\.a"' "$work/shared.json" &&
      # Folders that each compiler searches are not named: -isystem /usr/include would hide the
      # headers of C.
      PKG_CONFIG_DISABLE_UNINSTALLED=1 PKG_CONFIG_PATH=$work/shared/packaging \
        pkg-config --cflags --libs broadloom | grep -x -- '-lbroadloom *'
    ;;
  esac
}

# --- what is for people ---------------------------------------------------------------------------

bash_completes() { # WORD... -> EXPECTED: the last word is completed, in a bash of its own
  BASH_COMPLETION=$root/share/bash-completion/completions/broadloom bash -c '
    . "$BASH_COMPLETION"
    COMP_WORDS=(broadloom "${@:2}") COMP_CWORD=$(($# - 1))
    _broadloom
    [ "${COMPREPLY[*]}" = "$1" ] || { echo "${COMPREPLY[*]}"; exit 1; }' bash "$@"
}

documents_are_there() { # and what one page says of another
  docs=$root/share/doc/broadloom
  for file in LICENSE README.md CHANGELOG.md docs/language.md docs/errors.md docs/ideas/modes.md samples/example.cpp \
    samples/softmax.loom samples/data/digits_images.npy; do
    [ -s "$docs/$file" ] || { echo "$file is missing"; return 1; }
  done
  sed -n 's/.*](\(docs[^)#]*\).*/\1/p' "$docs/README.md" | while read -r page; do
    [ -e "$docs/$page" ] || { echo "$page is missing"; exit 1; }
  done
}

sample_is_built() {
  flags=$(pc "$root" --cflags --libs) || return 1
  # shellcheck disable=SC2086 # a list of words
  (cd "$root/share/doc/broadloom/samples" && g++ -std=c++20 example.cpp $flags "-Wl,-rpath,$root/$libdir" -o "$work/sample") &&
    "$work/sample" | grep -q '^s = '
}

help_names_what_is_there() { # PROGRAM
  seen=$("$1" --help | tail -n 3)
  page=$(printf '%s' "$seen" | sed -n 's/.*The language is in \([^;]*\);.*/\1/p')
  [ -s "$page" ] || { echo "$seen"; return 1; }
}

installed_to_home() { # the line of docs/install.md, after `./dev build`
  grep -q 'meson configure build -Dprefix="$HOME/.local"' docs/install.md || { echo 'docs/install.md has other words'; return 1; }
  mkdir -p "$work/home" && meson setup "$work/again" "$sources" -Dtests=false -Dsamples=false -Dbench=disabled -Dprove=disabled >/dev/null &&
    meson configure "$work/again" -Dprefix="$work/home/.local" &&
    ninja -C "$work/again" build.ninja >/dev/null && meson introspect "$work/again" --installed | grep -q "$work/home/.local/bin/broadloom"
}

man_page_is_sound() {
  page=$root/share/man/man1/broadloom.1
  grep "^[.']" "$page" | grep -vE '^\.(TH|SH|SS|TP|BR|br)( |$)' && return 1 # a stray request
  grep -q '^\.SS run' "$page" || return 1
  # Where man is at hand it has no complaint.
  ! command -v man >/dev/null || [ -z "$(man --warnings -E UTF-8 -l "$page" 2>&1 >/dev/null)" ]
}

colours() {
  PYTHONDONTWRITEBYTECODE=1 "$python" packaging/editors/make.py "$build/tools/broadloom" --check &&
    PYTHONDONTWRITEBYTECODE=1 "$python" tests/packaging/editors.py "$build/tools/broadloom"
}

# pip asks for what is there, and where things are missing it says so in seconds, with Debian's
# names.
pip_says_what_is_missing() {
  mkdir -p "$work/nothing" && interpreter=$(python3 -c 'import sys; print(sys.executable)') || return 1
  hook='import sys; sys.path.insert(0, "packaging/pip"); import broadloom_build; print(broadloom_build.get_requires_for_build_wheel())'
  PYTHONDONTWRITEBYTECODE=1 timeout 20 env PATH="$work/nothing" "$interpreter" -c "$hook" >"$work/asks" 2>"$work/lacks" && return 1
  [ ! -s "$work/asks" ] && grep -q '^Debian 12: apt-get install g++ .*pkgconf libtbb-dev .*llvm-19-dev clang-19$' "$work/lacks" || { cat "$work/lacks"; return 1; }
  PYTHONDONTWRITEBYTECODE=1 "$interpreter" -c "$hook" 2>"$work/lacks" | grep -q 'meson-python' || grep '^Debian 12: apt-get install python3-dev$' "$work/lacks"
}

recipe() { PYTHONDONTWRITEBYTECODE=1 "${python:-python3}" tests/packaging/recipes.py "$1"; }

all_checks() {
  check 'meson installs into another root' install_to "$work/both"
  mkdir -p "$static_root" && cp -R "$root/." "$static_root" && rm -f "$static_root/$libdir"/libbroadloom.so*

  check 'a consumer is built with pkg-config and the shared library' pkg_config_shared
  check 'a consumer is built with pkg-config --static and the static library' pkg_config_static
  check 'a program with the shared library loads LLVM where code is made, and not where it is on disk' consumer_loads_llvm_once
  check 'so does the installed program' program_loads_llvm_once
  check 'the installed program takes its own part with LLVM, wherever it was started' takes_its_own_part
  check 'without the part that needs LLVM a program says so and has the right answer' runs_without_llvm
  check "the README's line builds a program that runs, without installing" readme_line
  check 'the program of docs/c.md is built by a C compiler and prints what the page says' c_program
  check 'Python calls the C interface by ctypes, as docs/c.md has it' ctypes_program
  if_there rustc 'a program in Rust calls the C interface and prints what docs/c.md says' rust_program
  if_there go 'a program in Go calls the C interface and prints what docs/c.md says' go_program
  check 'pkg-config finds an installation anywhere and names no library and no macro of others for the shared library' pkg_config_is_clean
  check 'headers that pkg-config finds are those of a system' headers_are_of_the_system
  check 'a consumer is built with CMake and the shared library' cmake_shared
  check 'a consumer is built with CMake and the static library' cmake_static
  check 'a consumer is built with CMake where only the static library is installed' cmake_static_only
  check 'a kernel is built ahead of time by a CMake project in C' cmake_kernel
  check 'CMake is not given this version for a later one' cmake_version
  check 'a meson project builds a consumer with the installed library' meson_installed
  check 'a meson project has Broadloom as a subproject' meson_subproject
  check 'the shared library exports the public interface only' exports_only_public
  check 'the shared library exports the types of all errors' exports_the_errors
  check 'the shared library exports each function of broadloom.h' exports_the_c_interface
  check 'functions, numbers and structs of broadloom.h are those of its golden' interface_is_as_it_was
  check 'the static library is complete' static_has_all
  check 'a build with default_library=static installs the static library only' default_library static
  check 'a build with default_library=shared installs the shared library only' default_library shared
  check 'the installed program runs' "$root/bin/broadloom" --version
  check 'licence, pages and samples are installed' documents_are_there
  check 'an installed sample is built with what is installed' sample_is_built
  check 'the installed program names pages that are there' help_names_what_is_there "$root/bin/broadloom"
  check 'a program in its build folder names pages that are there' help_names_what_is_there "$build/tools/broadloom"
  check 'a build folder that is there is set up for another prefix' installed_to_home
  check 'the manual page is sound' man_page_is_sound
  if_python pygments 'editors and Pygments colour every kernel of the tests and pages, by the words of the language' colours
  check 'pip says within seconds what is missing' pip_says_what_is_missing
  if_python yaml 'the recipe of conda asks for what the build looks for' recipe conda
  if_there ruby 'the formula of Homebrew is Ruby and asks for what the build looks for' recipe homebrew
  check 'bash completes commands' bash_completes 'show' sh
  check 'bash completes options' bash_completes '--threads' run a.loom --thr
  check 'bash completes the words that an option takes' bash_completes 'interpreter' run --engine in
}

all_checks | tee "$work/verdicts"
! grep -q '^not ok' "$work/verdicts"
