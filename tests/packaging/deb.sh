#!/bin/sh
# Tries the Debian packages of `./dev deb`: lintian has no errors, apt would install them, and they
# are installed below another root, used and removed. Prints one `ok - SENTENCE` or `not ok -
# SENTENCE: what was seen` per check; fails if one of them does.
#
#   deb.sh FOLDER PYTHON     the four packages, and a Python of theirs that has NumPy 2
set -u
CDPATH='' cd -- "$(dirname -- "$0")/../.." || exit 1
packages=$(CDPATH='' cd -- "$1" && pwd) || exit 1
python=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset PKG_CONFIG_PATH PKG_CONFIG_LIBDIR LD_LIBRARY_PATH PYTHONPATH
export BROADLOOM_STRICT=1 BROADLOOM_CACHE=0 PYTHONDONTWRITEBYTECODE=1

. tests/check.sh

names='broadloom libbroadloom-dev libbroadloom0 python3-broadloom'
root=$work/root
multiarch=$(dpkg-architecture -qDEB_HOST_MULTIARCH)

all_are_there() {
  seen=$(for file in "$packages"/*.deb; do dpkg-deb --field "$file" Package; done | paste -s -d ' ')
  [ "$seen" = "$names" ] || { echo "$seen"; return 1; }
}

# What lintian calls an error, unless packaging/deb/*.overrides says why.
lintian_has_no_errors() { lintian --fail-on error --no-tag-display-limit "$packages"/*.deb; }

# Nothing is installed; apt sees whether Debian has what they need.
apt_finds_what_they_need() { apt-get --simulate --no-install-recommends install "$packages"/*.deb; }

# dpkg_below OPTION...: the root is the caller's, and has the packages alone.
dpkg_below() {
  dpkg --root="$root" --force-not-root --force-depends --force-script-chrootless --force-bad-path --log=/dev/null "$@"
}

installed() {
  mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates" && : >"$root/var/lib/dpkg/status" && : >"$root/var/lib/dpkg/available" &&
    dpkg_below --install "$packages"/*.deb || return 1
  for name in $names; do
    dpkg-query --admindir="$root/var/lib/dpkg" -W -f '${db:Status-Status}\n' "$name" | grep -qx installed || { echo "$name"; return 1; }
  done
}

each_file_is_as_it_was() { [ -z "$(dpkg_below --verify)" ]; }

program_runs() {
  "$root/usr/bin/broadloom" run -e 'kernel k { in x : f64[i]; out y = x * x }' --in 'x=arange(4)' --json >"$work/said" &&
    grep -q '"engine": "jit"' "$work/said" &&
    "$root/usr/bin/broadloom" explain E0102 | grep -q E0102 && zcat "$root/usr/share/man/man1/broadloom.1.gz" | grep -q '^\.SS run'
}

# The program of docs/c.md, with headers and library of the packages.
c_program() {
  block_of docs/c.md c >"$work/main.c" && block_of docs/c.md text >"$work/wanted" || return 1
  flags=$(PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_PATH=$root/usr/lib/$multiarch/pkgconfig PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 \
    PKG_CONFIG_ALLOW_SYSTEM_LIBS=1 pkg-config --cflags --libs broadloom) || return 1
  # shellcheck disable=SC2086 # a list of words
  cc -std=c11 "$work/main.c" $flags -o "$work/main" && LD_LIBRARY_PATH=$root/usr/lib/$multiarch "$work/main" >"$work/lines" 2>"$work/error" &&
    cat "$work/lines" "$work/error" | diff "$work/wanted" -
}

# A program that is linked with the library gets a dependency on its package.
library_is_known() {
  mkdir -p "$work/debian" && printf 'Source: main\n\nPackage: main\nArchitecture: any\n' >"$work/debian/control" &&
    dpkg-deb --raw-extract "$packages"/libbroadloom0_*.deb "$work/library" &&
    (cd "$work" && dpkg-shlibdeps -O -S"$work/library" -l"$work/library/usr/lib/$multiarch" main) | grep 'libbroadloom0 (>= 0.1'
}

python_runs() {
  seen=$(PYTHONPATH=$root/usr/lib/python3/dist-packages "$python" -c '
import importlib.metadata, numpy, broadloom as bl
k = bl.compile("kernel k { in x : f64[i, j]; out s = sum(x, j) }")
print(k(numpy.ones((2, 3))), k.engine, importlib.metadata.version("broadloom"))') || return 1
  [ "$seen" = "[3. 3.] jit $(sed -n "s/^  version: '\(.*\)',/\1/p" meson.build)" ] || { echo "$seen"; return 1; }
}

says_what_it_needs() { # where the system's NumPy is an older one, or there is none
  PYTHONPATH=$root/usr/lib/python3/dist-packages /usr/bin/python3 -c 'import broadloom' >"$work/said" 2>&1 ||
    tail -n 1 "$work/said" | grep -E "Broadloom needs NumPy 2.*pip install|No module named 'numpy'"
}

removed() {
  # shellcheck disable=SC2086 # a list of words
  dpkg_below --purge $names || return 1
  left=$(find "$root" -not -path "$root/var/lib/dpkg*" \( -type f -o -type l \))
  [ -z "$left" ] || { echo "$left"; return 1; }
}

all_checks() {
  check 'four packages are made' all_are_there
  check 'lintian finds no error' lintian_has_no_errors
  check 'apt finds all that they need' apt_finds_what_they_need
  check 'they are installed below another root' installed
  check 'each file is as its package has it' each_file_is_as_it_was
  check 'the program runs native code and has its manual' program_runs
  check 'the program of docs/c.md is built with headers and library of the packages' c_program
  check 'what is linked with the library depends on its package' library_is_known
  check 'Python imports its package and runs native code' python_runs
  check 'Python says what is missing where NumPy is too old' says_what_it_needs
  check 'they are removed, and nothing stays' removed
}

all_checks
exit "$failed"
