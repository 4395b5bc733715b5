#!/bin/sh
# Packs what checks a GPU for a machine that has its driver and nothing else: the program and the
# random kernels, with LLVM inside and the libraries that not every Linux has, the kernels of the
# tests, and run.sh. Linux with a glibc as old as this machine's, or newer, runs it.
#
#   pack.sh BUILD FILE.tar.gz
set -eu
build=$(CDPATH='' cd -- "$1" && pwd)
case $2 in /*) file=$2 ;; *) file=$PWD/$2 ;; esac
CDPATH='' cd -- "$(dirname -- "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
to=$work/broadloom-gpu
mkdir -p "$to/tools" "$to/tests/gpu" "$to/samples" "$to/lib"

cp "$build"/tools/broadloom "$build"/tools/libbroadloom-program-llvm-*.so "$to/tools"
cp "$build"/tests/fuzz_kernels "$to/tests"
cp -r tests/golden tests/regressions tests/check.sh "$to/tests"
cp tests/gpu/gpu.sh "$to/tests/gpu"
cp samples/*.loom "$to/samples"
cp tests/gpu/run.sh LICENSE "$to"
strip "$to"/tools/* "$to/tests/fuzz_kernels"

# Not the parts of glibc: those are of one piece with the loader, which is the machine's.
for binary in "$to"/tools/* "$to/tests/fuzz_kernels"; do
  ldd "$binary" | awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 }'
done | sort -u | while read -r name path; do
  case $name in
  libc.so.* | libm.so.* | libdl.so.* | librt.so.* | libpthread.so.* | libresolv.so.*) ;;
  libLLVM*)
    echo "pack.sh: $name is needed, which is too large: see the option llvm in meson_options.txt" >&2
    exit 1
    ;;
  *) cp -L "$path" "$to/lib/$name" ;;
  esac
done
tar -C "$work" --owner=0 --group=0 -czf "$file" broadloom-gpu
