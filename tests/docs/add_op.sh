#!/bin/sh
# Does what docs/contributing.md says under "Add a schedule choice in five steps" and "Add an op in
# five steps": applies its patches to a copy of the tree, builds that copy, runs the tests that the
# steps extend, and the commands of the page.
#
#   usage: add_op.sh FOLDER [--bless]
#
# FOLDER keeps the copy and its build, so that a second run compiles only what has changed. With
# --bless the page shows what its commands print now. Everything is compiled without optimisation:
# some six minutes of one core the first time. Prints one `ok - SENTENCE` or `not ok - SENTENCE` for
# each step.
# shellcheck disable=SC2317 # the functions are called by step
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd) || exit 1
mkdir -p "$1" && folder=$(CDPATH='' cd -- "$1" && pwd) || exit 1
bless=${2:-}
page=docs/contributing.md
fresh=$folder/fresh tree=$folder/tree log=$folder/log
failed=0

# step SENTENCE COMMAND...: runs it; what it printed is shown where it failed.
step() {
  sentence=$1
  shift
  if "$@" >"$log" 2>&1; then
    printf 'ok - %s\n' "$sentence"
  else
    printf 'not ok - %s\n' "$sentence"
    tail -n 60 "$log"
    failed=1
  fi
}

copy_tree() {
  rm -rf "$fresh" && mkdir -p "$fresh" "$tree" || return 1
  for part in "$root"/*; do
    case ${part##*/} in
    build*) ;;
    *) cp -R "$part" "$fresh" || return 1 ;;
    esac
  done
}

apply_patches() {
  awk '/^```/ { inside = ($0 == "```diff"); next } inside' "$root/$page" >"$folder/steps.patch"
  patch -d "$fresh" -p1 --no-backup-if-mismatch <"$folder/steps.patch"
}

# Of the unit tests only those that the steps extend: the others would cost minutes.
keep_few_tests() {
  sed -i -e "/'unit\/[a-z0-9_/]*_test.cpp'/{/\/\(functions\|gradient\|math\|math_hashes\)_test/!d}" \
    "$fresh/tests/meson.build"
}

# Files that are as they were keep their times, so that ninja sees what has changed.
update_tree() {
  (cd "$fresh" && find . -type f) | while read -r file; do
    cmp -s "$fresh/$file" "$tree/$file" && continue
    mkdir -p "$tree/$(dirname "$file")" && cp "$fresh/$file" "$tree/$file" || exit 1
  done
}

build() {
  [ -f "$folder/build/build.ninja" ] ||
    meson setup "$folder/build" "$tree" -Dbuildtype=plain -Doptimization=0 -Dsamples=false \
      -Dbench=disabled -Dprove=disabled || return 1
  CCACHE_BASEDIR=$tree CCACHE_NOHASHDIR=1 \
    ninja -C "$folder/build" tools/broadloom tests/test_unit tests/test_docs
}

unit() { "$folder/build/tests/test_unit" --no-colors=true "$@"; }

# Blessing adds the hashes of the new function and leaves all others as they are. (But for functions
# of two f32: code without optimisation makes other NaNs of some of their samples.)
hashes() { grep -vE '^(pow|logaddexp|hypot|atan2) f32' "$1/tests/unit/math_hashes.txt"; }
hashes_of_the_new_only() {
  cp "$root/tests/unit/math_hashes.txt" "$tree/tests/unit/math_hashes.txt"
  BROADLOOM_BLESS=1 unit -tc='the bits of the math*' || return 1
  hashes "$root" >"$folder/before"
  hashes "$tree" >"$folder/after"
  diff "$folder/before" "$folder/after" >"$folder/hashes.diff"
  cat "$folder/hashes.diff"
  grep -q '^> softsign' "$folder/hashes.diff" && ! grep -q '^<' "$folder/hashes.diff"
}

run_page() { BROADLOOM_PAGE=$page "$folder/build/tests/test_docs" --no-colors=true; }

bless_page() {
  BROADLOOM_BLESS=1 run_page && cp "$tree/$page" "$root/$page"
}

if [ "$bless" = --bless ]; then check_page=bless_page; else check_page=run_page; fi

step 'the tree is copied' copy_tree
step 'the patches apply' apply_patches
[ "$failed" -eq 0 ] || exit 1 # what follows would test half an op
keep_few_tests
step 'the changed files are taken over' update_tree
step 'the tree with the new op builds' build
[ "$failed" -eq 0 ] || exit 1
step 'no other function changes a bit' hashes_of_the_new_only
step 'the extended tests pass' unit
step 'the commands of the page print what is shown' "$check_page"
exit "$failed"
