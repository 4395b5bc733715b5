#!/bin/sh
# What pack.sh has packed, unpacked in an empty folder and run on the device that this processor
# plays, with nothing of the environment. Prints lines as gpu.sh does.
#
#   packed.sh FILE.tar.gz
set -u
case $1 in /*) file=$1 ;; *) file=$PWD/$1 ;; esac
CDPATH='' cd -- "$(dirname -- "$0")/../.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. tests/check.sh

tar -C "$work" -xzf "$file" || exit 1
there=$work/broadloom-gpu
bytes=$(wc -c <"$file") unpacked=$(du -sb "$there" | cut -f1)
check "the package has $((bytes / 1000000)) MB, less than 60, and $((unpacked / 1000000)) MB unpacked" \
  test "$bytes" -lt 60000000

alone() { (cd "$work" && env -i PATH=/usr/bin:/bin HOME="$work" "$@"); }
alone GPU_KERNELS="${GPU_KERNELS:-20}" "$there/run.sh" played figures.txt >"$work/said" 2>&1
grep '^ok - \|^not ok - ' "$work/said" | grep -v 'the table of speeds'
held() { [ "$(grep -c '^ok - ' "$work/said")" -eq 4 ] && ! grep '^not ok - ' "$work/said"; }
check "run.sh passes from an empty folder" held
check "its figures are in a file" grep -q 'launch of 16 elements' "$work/figures.txt"

# The files that the loader maps, of a run that makes code.
alone LD_DEBUG=files LD_LIBRARY_PATH="$there/lib" "$there/tools/broadloom" run --device played \
  -e 'kernel k { in x : f32[i]; out z = sum(x) }' --in 'x=arange(9)' >"$work/mapped" 2>&1
sees() { # whether it names what it should, so that the next check can fail
  grep -q 'libbroadloom-program-llvm.*generating link map' "$work/mapped"
}
check "the code is made by the package's own LLVM" sees
none() { ! grep -i 'libLLVM' "$work/mapped"; }
check "no library of LLVM is loaded" none
foreign() {
  sed -n 's/.*calling init: *//p' "$work/mapped" | grep -v "^$there/" |
    grep -v '/lib\(c\|m\|dl\|rt\|pthread\|resolv\)\.so\|/ld-linux' | grep .
}
own() { ! foreign; }
check "all other libraries but glibc's are the package's" own
exit "$failed"
