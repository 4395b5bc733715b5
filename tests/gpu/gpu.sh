#!/bin/sh
# What a GPU gives, held against this processor: goldens, regressions and random kernels must have
# equal bits, and a table of speeds goes to a file. Needs two programs and this folder's kernels,
# nothing else: no compiler, no CUDA but the driver. Prints one `ok - SENTENCE` or `not ok -
# SENTENCE` per check; fails if one of them does. Without a device it says NOT RUN, and runs the
# same on the device that this processor plays, so that the script itself is tested.
#
#   gpu.sh BUILD [DEVICE [FIGURES]]     DEVICE: cuda (the default), cuda:1 .., played
set -u
CDPATH='' cd -- "$(dirname -- "$0")/../.." || exit 1
broadloom=$1/tools/broadloom fuzz=$1/tests/fuzz_kernels
device=${2:-cuda} figures=${3:-$1/gpu-figures.txt}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. tests/check.sh
export BROADLOOM_STRICT=1

if ! why=$("$broadloom" run --device "$device" -e 'kernel k { in x : f32[i]; out z = sum(x) }' --in 'x=arange(9)' 2>&1); then
  echo "NOT RUN: nothing ran on the device '$device' ($(printf '%s\n' "$why" | head -n 1))"
  [ "$device" = played ] && exit 1
  device=played
fi

# Inputs of a kernel, from the first `#@ NAME EXTENT..` lines of its file.
inputs_of() { # FILE
  awk '/^kernel|^def|^fn/ { exit } /^#@ / { if ($2 in seen) exit; seen[$2]
    if (NF < 3) { print "--in"; print $2 "=2"; next }
    list = $3; for (k = 4; k <= NF; ++k) list = list "," $k
    if (list ~ /^[0-9,]+$/) { print "--in"; print $2 "=rand(" list ")" } }' "$1"
}

call() { # FOLDER FILE OPTION..: writes each output there
  folder=$1 file=$2
  shift 2
  mkdir -p "$folder"
  # shellcheck disable=SC2046 # words
  "$broadloom" run "$file" $(inputs_of "$file") "$@" --json >"$folder.json" 2>"$folder.said" || return 1
  set -- "$@"
  for name in $(grep -o '"[A-Za-z0-9_]*": {"dtype"' "$folder.json" | cut -d'"' -f2); do
    set -- "$@" --out "$name=$folder/$name.npy"
  done
  # shellcheck disable=SC2046
  "$broadloom" run "$file" $(inputs_of "$file") "$@" >/dev/null 2>"$folder.said"
}

compared=0 left=0 wrong=
for file in tests/golden/*.loom samples/*.loom; do
  [ -e "$file" ] || continue
  rm -rf "$work/here" "$work/there"
  if ! call "$work/here" "$file"; then # no inputs are said, or it wants other data
    left=$((left + 1))
  elif ! call "$work/there" "$file" --device "$device"; then
    if grep -q 'E0506\|E0322' "$work/there.said"; then left=$((left + 1)); else wrong="$wrong $file"; fi
  elif diff -r "$work/here" "$work/there" >/dev/null; then
    compared=$((compared + 1))
  else
    wrong="$wrong $file"
  fi
done
many() { [ -z "$wrong" ] && [ "$compared" -ge 30 ] || { echo "$compared equal;$wrong"; false; }; }
check "$compared goldens and samples have equal bits on $device and here ($left need other data)" many

export BROADLOOM_TEST_DEVICE="$device"
regressions() {
  for file in tests/regressions/*.loom; do "$fuzz" --file "$file" || { echo "$file"; return 1; }; done
}
check "regressions have equal bits on $device" regressions
[ "$device" = played ] && count=${GPU_KERNELS:-100} || count=${GPU_KERNELS:-4000}
check "$count random kernels have equal bits on $device" \
  "$fuzz" --style small --count "$count" --seed 1 --jobs 2 --state "$work/fuzz"

[ "$device" = played ] && floats=8 || floats=${GPU_FLOATS:-16384} # 16384: all of f32
check "functions of f32 have equal bits on $device" "$fuzz" --floats "$floats"

# The speeds: medians of calls that are waited for, in milliseconds, and the bytes of inputs and
# outputs.
[ "$device" = played ] && side=64 repeat=2 || side=16384 repeat=30
{
  "$broadloom" --version | head -n 1
  echo "device $device: sides of $side, $repeat calls"
} >"$figures"
speed() { # NAME TEXT INPUTS..
  name=$1 text=$2
  shift 2
  for source; do
    shift
    set -- "$@" --in "$source"
  done
  "$broadloom" run --device "$device" -e "$text" "$@" --repeat "$repeat" --json >"$work/speed" 2>"$work/said" ||
    { cat "$work/said"; return 1; }
  ms=$(sed 's/.*"run_ms": {[^}]*"median": \([0-9.]*\).*/\1/' "$work/speed")
  bytes=$(sed 's/.*"bytes": \([0-9]*\).*/\1/' "$work/speed")
  awk -v name="$name" -v ms="$ms" -v bytes="$bytes" 'BEGIN {
    printf "%-28s %10.4f ms %8.1f GB/s\n", name, ms, (ms > 0 ? bytes / ms / 1e6 : 0) }' >>"$figures"
}
m="rand($side,$side)" rows="rand($((side * side / 64)),64)" v="rand($((side * side)))"
p='kernel k { in x : f32[i, j];'
softmax="$p let e = exp(x - max(x, j)); out y[i, j] = e / sum(e, j) }"
layernorm="$p out y[i, j] = (x - mean(x, j)) * rsqrt(var(x, j) + 1e-5) }"
# What a first call takes to compile: with nothing on disk, and by another process after that.
first_calls() {
  for name in 'compile, cold' 'compile, from disk'; do
    BROADLOOM_CACHE="$work/cache" "$broadloom" run --device "$device" -e "$softmax" --in 'x=rand(64,64)' --repeat 1 --json >"$work/speed" 2>"$work/said" ||
      { cat "$work/said"; return 1; }
    sed 's/.*"compile_ms": \([0-9.]*\).*"cache": "\([a-z]*\)".*/\1 \2/' "$work/speed" | awk -v name="$name" '{ printf "%-28s %10.4f ms %8s\n", name, $1, $2 }' >>"$figures"
  done
}
speeds() {
  speed 'a*b + c' 'kernel k { in a : f32[i, j]; in b : f32[i, j]; in c : f32[i, j]; out z = a * b + c }' "a=$m" "b=$m" "c=$m" &&
    speed 'exp(-x*x)*sin(y) + sqrt|z|' 'kernel k { in x : f32[i, j]; in y : f32[i, j]; in z : f32[i, j]; out w = exp(-x * x) * sin(y) + sqrt(abs(z)) }' "x=$m" "y=$m" "z=$m" &&
    speed 'gelu_tanh' "$p out y = 0.5 * x * (1 + tanh(0.7978845608 * (x + 0.044715 * x * x * x))) }" "x=$m" &&
    speed 'sum' "$p out s = sum(x, i, j) }" "x=$m" &&
    speed 'sum over axis 0' "$p out s[j] = sum(x, i) }" "x=$m" &&
    speed 'mean over axis 1' "$p out s[i] = mean(x, j) }" "x=$m" &&
    speed 'softmax' "$softmax" "x=$rows" &&
    speed 'layernorm' "$layernorm" "x=$rows" &&
    speed 'softmax backward' "$("$broadloom" grad -e "$softmax" --wrt x)" "x=$rows" "d_y=$rows" &&
    speed 'layernorm backward' "$("$broadloom" grad -e "$layernorm" --wrt x)" "x=$rows" "d_y=$rows" &&
    speed 'a + b.T' 'kernel k { in a : f32[i, j]; in b : f32[j, i]; out z[i, j] = a + b }' "a=$m" "b=$m" &&
    speed 'cumsum' 'kernel k { in x : f32[i]; out y = scan(sum, x, i) }' "x=$v" &&
    speed 'u8 map' 'kernel k { in x : u8[i, j]; out y = 255 - x }' "x=$m" &&
    speed 'f16 map' 'kernel k { in x : f16[i, j]; out y : f16 = x * 2 + 1 }' "x=$m" &&
    speed 'bf16 map' 'kernel k { in x : bf16[i, j]; out y : bf16 = x * 2 + 1 }' "x=$m" &&
    speed 'blur' "$p out y[i, j] = sum(sum(pad(x, i: (1, 1), j: (1, 1), edge)[i + u, j + v], v < 3), u < 3) / 9 }" "x=$m" &&
    speed 'gather' "$p in k : i32[n]; out y[n, j] = x[wrap(k[n]), j] }" "x=$m" "k=rand($side)" &&
    speed 'launch of 16 elements' 'kernel k { in x : f32[i]; out y = x + 1 }' 'x=rand(16)'
}
check "the table of speeds is in $figures" speeds
check "and what first calls take" first_calls
cat "$figures"
exit "$failed"
