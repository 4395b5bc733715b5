#!/bin/sh
# Large random kernels in all engines, always the same ones: every path must run.
# `./dev fuzz large` runs others. Prints `ok - SENTENCE` or `not ok - SENTENCE` lines.
set -u
state=$(mktemp -d)
trap 'rm -rf "$state"' EXIT
BROADLOOM_STRICT=1 "$1" --style large --count 900 --seed 10001 --jobs 2 --state "$state" --require-paths
