#!/bin/sh
# Makes four Debian packages of a build folder that was set up with --prefix=/usr, a libdir of
# Debian's and the Python package.
#
#   make.sh BUILD OUT PYTHON      libbroadloom0, libbroadloom-dev, broadloom, python3-broadloom:
#                                 OUT/*.deb
#
# Each file that `meson install` puts down goes into one package; one that goes into none is an
# error.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
build=$1 out=$2 python=$3
sources=$here/../..
version=$(sed -n "s/^  version: '\(.*\)',/\1/p" "$sources/meson.build")
series=${version%.*}
architecture=$(dpkg --print-architecture)
maintainer=${DEBEMAIL:-the builder <builder@localhost>}
: "${SOURCE_DATE_EPOCH:=$(git -C "$sources" log -1 --format=%ct 2>/dev/null || date +%s)}"
export SOURCE_DATE_EPOCH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
stage=$work/stage
meson install -C "$build" --no-rebuild --destdir "$stage" --quiet
libdir=$(cd "$stage" && find usr/lib -name 'libbroadloom.so' -printf '%h\n')
[ -n "$libdir" ] || { echo "$build was set up for another prefix than /usr" >&2; exit 1; }
rm "$stage/usr/share/doc/broadloom/LICENSE" # what Debian has in one place
gzip -9n "$stage/usr/share/man/man1/broadloom.1"

# take PACKAGE PATTERN...: moves what matches from the stage to the tree of a package
take() {
  tree=$work/$1
  shift
  (
    cd "$stage"
    for path in "$@"; do
      [ -e "$path" ] || [ -L "$path" ] || { echo "meson installs no $path" >&2; exit 1; }
      mkdir -p "$tree/$(dirname "$path")"
      mv "$path" "$tree/$path"
    done
  )
}

take libbroadloom0 "$libdir/libbroadloom.so.$version" "$libdir/libbroadloom.so.$series" "$libdir/libbroadloom-llvm-$series.so"
take libbroadloom-dev "$libdir/libbroadloom.so" "$libdir/libbroadloom.a" "$libdir/pkgconfig" "$libdir/cmake" \
  usr/include/broadloom usr/include/broadloom.h
take broadloom usr/bin/broadloom "$libdir/libbroadloom-program-llvm-$series.so" usr/share/man usr/share/bash-completion \
  usr/share/zsh usr/share/fish usr/share/doc/broadloom
take python3-broadloom usr/lib/python3/dist-packages/broadloom
left=$(find "$stage" -type f -o -type l)
[ -z "$left" ] || { echo "in no package: $left" >&2; exit 1; }

strip --strip-unneeded --remove-section=.comment --remove-section=.note "$work"/*/usr/bin/* "$work"/*/"$libdir"/*.so.*.*.* \
  "$work"/*/"$libdir"/*-llvm-*.so "$work"/python3-broadloom/usr/lib/python3/dist-packages/broadloom/*.so
strip --strip-debug --enable-deterministic-archives "$work/libbroadloom-dev/$libdir/libbroadloom.a"

# What tells pip, importlib.metadata and Pygments of the package.
"$python" - "$sources/pyproject.toml" "$work/python3-broadloom/usr/lib/python3/dist-packages" <<'PYTHON'
import pathlib, sys, tomllib
project = tomllib.loads(pathlib.Path(sys.argv[1]).read_text())["project"]
folder = pathlib.Path(sys.argv[2]) / f"broadloom-{project['version']}.dist-info"
folder.mkdir()
(folder / "METADATA").write_text("Metadata-Version: 2.1\nName: broadloom\nVersion: {version}\nSummary: {description}\n".format(**project)
                                 + f"Requires-Python: {project['requires-python']}\n")
(folder / "INSTALLER").write_text("dpkg\n")
(folder / "entry_points.txt").write_text("".join(
    f"[{group}]\n" + "".join(f"{name} = {place}\n" for name, place in entries.items())
    for group, entries in project["entry-points"].items()))
PYTHON

# needs PACKAGE FILE...: the packages of the shared libraries that these ask for
needs() {
  package=$1
  shift
  mkdir -p "$work/debian"
  printf 'Source: broadloom\n\nPackage: %s\nArchitecture: any\n' "$package" >"$work/debian/control"
  # The part with LLVM asks for the library beside it, of the same package.
  (cd "$work" && dpkg-shlibdeps -O -x"$package" -S"$work/libbroadloom0" -l"$work/libbroadloom0/$libdir" --ignore-missing-info "$@") >"$work/needs" 2>"$work/said" ||
    { cat "$work/said" >&2; exit 1; }
  sed -n 's/^shlibs:Depends=//p' "$work/needs" | grep . || { echo "$package needs no libraries?" >&2; exit 1; }
}

# package NAME SECTION DEPENDS DESCRIPTION [FIELD]..., with the long description on standard input
package() {
  name=$1 section=$2 depends=$3 short=$4
  shift 4
  tree=$work/$name
  doc=$tree/usr/share/doc/$name
  mkdir -p "$tree/DEBIAN" "$doc"
  cp "$here/copyright" "$doc/copyright"
  printf 'broadloom (%s-1) unstable; urgency=medium\n\n  * Release %s.\n\n -- %s  %s\n' "$version" "$version" "$maintainer" \
    "$(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")" | gzip -9n >"$doc/changelog.Debian.gz"
  mkdir -p "$tree/usr/share/lintian/overrides"
  [ ! -f "$here/$name.overrides" ] || cat "$here/$name.overrides" >"$tree/usr/share/lintian/overrides/$name"
  # It is nobody's package in Debian; $DEBEMAIL is who answers for it.
  [ -n "${DEBEMAIL:-}" ] || printf "$name: %s\n" bogus-mail-host bogus-mail-host-in-debian-changelog initial-upload-closes-no-bugs \
    >>"$tree/usr/share/lintian/overrides/$name"
  for script in postinst prerm triggers shlibs; do
    [ ! -f "$here/$name.$script" ] || sed "s/@VERSION@/$version/; s/@SERIES@/$series/" "$here/$name.$script" >"$tree/DEBIAN/$script"
  done
  find "$tree" -type d -exec chmod 755 {} +
  find "$tree" -type f -exec chmod 644 {} +
  chmod -f 755 "$tree"/usr/bin/* "$tree"/DEBIAN/p* || true
  {
    printf 'Package: %s\nSource: broadloom\nVersion: %s-1\nArchitecture: %s\nMaintainer: %s\n' "$name" "$version" "$architecture" "$maintainer"
    printf 'Installed-Size: %s\nDepends: %s\n' "$(du -sk --apparent-size "$tree" | cut -f 1)" "$depends"
    [ $# -eq 0 ] || printf '%s\n' "$@"
    printf 'Section: %s\nPriority: optional\nDescription: %s\n' "$section" "$short"
    sed 's/^/ /'
  } >"$tree/DEBIAN/control"
  (cd "$tree" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum >DEBIAN/md5sums)
  find "$tree" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
  dpkg-deb --root-owner-group -z3 --build "$tree" "$out" >/dev/null
}

mkdir -p "$out"
rm -f "$out"/*.deb
long='Kernels are stated as what each output is: an expression, how operands of
different rank meet, and which axes fold. Broadloom builds the loops and
compiles native code for the layouts that it is called with, vectorised and
parallel. Results have the same bits on any number of threads.'

depends=$(needs libbroadloom0 "$work/libbroadloom0/$libdir"/*.so.*.*.* "$work/libbroadloom0/$libdir"/*-llvm-*.so)
package libbroadloom0 libs "$depends" 'run-time compiler for loops over n-d arrays' <<TEXT
$long
.
This package has the shared library.
TEXT
package libbroadloom-dev libdevel "libbroadloom0 (= $version-1)" 'run-time compiler for loops over n-d arrays (development)' \
  'Suggests: broadloom, libtbb-dev, libspdlog-dev, libfmt-dev, libzip-dev' <<TEXT
$long
.
This package has the headers for C++ and C, the static library, and what
pkg-config and CMake find them by.
TEXT
depends=$(needs broadloom "$work/broadloom/usr/bin/broadloom" "$work/broadloom/$libdir"/*-llvm-*.so)
package broadloom devel "$depends" 'run-time compiler for loops over n-d arrays (program)' <<TEXT
$long
.
This package has the program, with a REPL and a command that builds kernels
ahead of time, and the manual.
TEXT
next=$("$python" -c 'import sys; print(f"3.{sys.version_info[1] + 1}")')
this=$("$python" -c 'import sys; print(f"3.{sys.version_info[1]}")')
depends=$(needs python3-broadloom "$work"/python3-broadloom/usr/lib/python3/dist-packages/broadloom/*.so)
# Debian 12 has no NumPy 2; the package says at its import how to get it.
package python3-broadloom python "python3 (<< $next), python3 (>= $this~), $depends" 'run-time compiler for loops over n-d arrays (Python 3)' \
  'Recommends: python3-numpy (>= 1:2.0)' 'Suggests: broadloom' <<TEXT
$long
.
This package calls kernels on NumPy's arrays from Python.
TEXT
ls "$out"
