#!/bin/sh
# Gives the PTX of all kernels of the tests to NVIDIA's assembler, which needs no GPU: PyPI's
# nvidia-cuda-nvcc-cu12 has it. Prints one `ok - SENTENCE` or `not ok - SENTENCE` per target; a
# table of registers, bytes of spills and of shared memory goes to a file.
#
#   ptxas.sh BUILD PTXAS [TABLE]
set -u
CDPATH='' cd -- "$(dirname -- "$0")/../.." || exit 1
broadloom=$1/tools/broadloom ptxas=$2 table=${3:-$1/gpu-registers.txt}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. tests/check.sh
: >"$table"

# The kernels of a file, each with its lets that are arrays; their entries as lines of the table.
assemble() { # FILE TARGET
  name=$(basename "$1" .loom) target=$2
  rm -f "$work"/part-*
  "$broadloom" show "$1" --target "$target" --stage asm --all >"$work/shown" 2>"$work/said" || return 2
  awk -v part="$work/part-" '/^\.version/ { ++n } n > 0 && !/^[#a-z]/ { print >part n ".ptx" }' "$work/shown"
  [ -e "$work/part-1.ptx" ] || return 2
  for part in "$work"/part-*.ptx; do
    "$ptxas" -arch="$target" -v -o /dev/null "$part" 2>"$work/said" || return 1
    awk -v name="$name" -v target="$target" '
      /Compiling entry function/ { split($0, q, "\047"); entry = q[2] }
      /bytes spill stores/ { spills = $5 }
      /Used [0-9]+ registers/ { shared = 0
        for (k = 1; k < NF; ++k) if ($k == "bytes" && $(k + 1) ~ /^smem/) shared = $(k - 1)
        for (k = 1; k < NF; ++k) if ($k == "Used") used = $(k + 1)
        printf "%s %-40s %s %3d registers %5d spilled %5d shared\n", target, name, entry, used, spills, shared }' "$work/said" >>"$table"
  done
}

# Kernels whose loops go by the extents of their inputs.
mkdir "$work/sized"
for dtype in f32 f64 i16; do
  echo "kernel k { in a : $dtype[i=500, j=700]; in b : $dtype[j, i]; out z[i, j] = a + b }" >"$work/sized/transposed_$dtype.loom"
done
echo 'kernel k { in x : f32[i=1000, j=1000]; out s = sum(x); out v = var(x); out m = argmax(x) }' >"$work/sized/folds.loom"
echo 'kernel k { in x : f32[i=1000000]; out y = scan(sum, x, i) }' >"$work/sized/cumsum.loom"

for target in ${TARGETS:-sm_80 sm_90}; do
  taken=0 left=0 refused=
  for file in tests/golden/*.loom tests/decisions/*.loom tests/blocks/*.loom "$work"/sized/*.loom; do
    assemble "$file" "$target"
    case $? in
    0) taken=$((taken + 1)) ;;
    1) refused="$refused $file: $(head -n 2 "$work/said")" ;;
    *) left=$((left + 1)) ;; # it is no single kernel, or needs inputs
    esac
  done
  all() { [ -z "$refused" ] && [ "$taken" -ge 100 ] || { echo "$refused"; false; }; }
  check "the assembler takes $taken kernels for $target ($left are not shown alone)" all
done
awk '{ n[$1]++; if ($4 > most[$1]) most[$1] = $4; if ($6 > 0) spilled[$1]++ }
  END { for (t in n) printf "%s: %d entries, at most %d registers, %d spill\n", t, n[t], most[t], spilled[t] }' "$table"
exit "$failed"
