#!/bin/sh
# aarch64.sh DIR HERE cross|aarch64: what runs in qemu-aarch64 of a build for aarch64 in DIR; HERE
# is one for this machine, of the same sources. `cross` are kernels that are built ahead of time
# here for there, which need the library alone; `aarch64` is all. Says `ok - ..` or `not ok - ..`
# for each check. Programs that start others are left out, as the system does not know that these
# run in qemu.
set -u
there=$1 here=$2
count=${BROADLOOM_FUZZ:-60}
export BROADLOOM_STRICT=1 BROADLOOM_CACHE=0

verdict() { # STATUS SENTENCE LOG
  if [ "$1" -eq 0 ]; then echo "ok - $2"; else
    cat "$3"
    echo "not ok - $2"
  fi
}

# The program of tests/ship with kernels that were built here: it counts that nothing is compiled or
# interpreted which should not be.
built_here() {
  work=$(mktemp -d)
  ship=$(CDPATH='' cd -- "$(dirname -- "$0")/ship" && pwd)
  library=$(CDPATH='' cd -- "$there/jit" && pwd)
  tool=$(CDPATH='' cd -- "$here/tools" && pwd)/broadloom
  include=$ship/../../include
  ours=$(CDPATH='' cd -- "$here/jit" && pwd)
  (
    cd "$work" || exit 1
    printf 'kernel softmax {\n  in x : f32[i, j]\n  let e = exp(x - max(x, j))\n  out y = e / sum(e, j)\n}\n' >softmax.loom
    for machine in aarch64 x86_64; do
      target='--target aarch64' cc=aarch64-linux-gnu-gcc lib=$library
      [ "$machine" = aarch64 ] || { target='' cc=cc && lib=$ours; }
      mkdir "$machine" && cd "$machine" || exit 1
      objects=''
      for name in scale memory times histogram picks cumulated functions matmul; do
        # shellcheck disable=SC2086 # words
        "$tool" build "$ship/kernels.loom" --kernel "$name" --layouts "$ship/$name.txt" -o "$name" $target || exit 1
        objects="$objects $name.o"
      done
      # shellcheck disable=SC2086 # words
      "$tool" grad ../softmax.loom --wrt x | "$tool" build - -o softmax_gradient $target || exit 1
      # shellcheck disable=SC2086 # words
      $cc -std=c11 -Wall "$ship/all.c" -I. -I"$include" $objects softmax_gradient.o -L"$lib" -lbroadloom -pthread \
        -Wl,--allow-shlib-undefined -o all || exit 1
      cd .. || exit 1
    done
    ! aarch64-linux-gnu-readelf -d aarch64/all | grep -i llvm || exit 1
    LD_LIBRARY_PATH=$library qemu-aarch64 aarch64/all >there.txt || exit 1
    LD_LIBRARY_PATH=$ours x86_64/all >here.txt && cat here.txt there.txt && cmp here.txt there.txt && grep -q '^bits' here.txt
  ) >"$there/aarch64.log" 2>&1
  verdict $? 'kernels that are built ahead of time on x86-64 run there without a compilation, with the bits of x86-64' "$there/aarch64.log"
  rm -rf "$work"
}

built_here
[ "$3" = aarch64 ] || exit 0

suite() { # SENTENCE ARG: of the unit tests
  sentence=$1
  qemu-aarch64 "$there/tests/test_unit" "$2" --no-colors=true >"$there/aarch64.log" 2>&1
  verdict $? "$sentence" "$there/aarch64.log"
}

suite 'each function over special values and samples has the bits of x86-64' \
  --source-file='*math/math_hashes_test*,*math/special_values_test*'
suite 'loop programs agree in native code, by their blocks and in the interpreter' \
  --source-file='*loop/nests_test*,*block/*'
suite 'lanes, folds, scans and images of code' \
  --source-file='*jit/emit_test*,*jit/engine_test*,*jit/image_test*,*jit/scan_engine_test*,*jit/short_fold_test*'
suite 'the rounding mode of the caller neither matters nor changes' --source-file='*kernel/float_world_test*'

# The same random kernels on both machines: all engines agree on each, and the bits of all outputs
# are the same.
for style in small large; do
  [ "$style" = small ] || count=$((count / 4))
  for machine in there here; do
    run=''
    folder=$here
    [ "$machine" = here ] || { run=qemu-aarch64 && folder=$there; }
    $run "$folder/tests/fuzz_kernels" --style "$style" --count "$count" --seed 1 --jobs 2 \
      --state "$folder/fuzz-$style" >"$folder/fuzz-$style.log" 2>&1
    verdict $? "$count random $style kernels in all engines, $machine" "$folder/fuzz-$style.log"
  done
  # Of most seeds both draw the same kernel.
  cat "$here/fuzz-$style"/*.bits | awk -v least=$((count / 2)) 'NR == FNR { bits[$1, $2] = $3; next }
    ($1, $2) in bits { ++same; if (bits[$1, $2] != $3) { print "seed " $1; ++other } }
    END { print same " kernels of both"; exit other > 0 || same < least }' - "$there/fuzz-$style/"*.bits >"$there/aarch64.log"
  verdict $? "random $style kernels have the same bits on aarch64 and here: $(tail -n 1 "$there/aarch64.log")" "$there/aarch64.log"
done
