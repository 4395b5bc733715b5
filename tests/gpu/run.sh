#!/bin/sh
# Checks the GPU of this machine: equal bits with this processor, and a table of speeds, which goes
# to a file. See tests/gpu/gpu.sh for what it does; it takes some ten minutes.
#
#   run.sh [DEVICE [FIGURES]]     DEVICE: cuda (the default), cuda:1 .., played
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
export LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
figures=${2:-$PWD/gpu-figures.txt}
case $figures in /*) ;; *) figures=$PWD/$figures ;; esac
"$here/tools/broadloom" --version || exit 1 # the loader says what this machine lacks
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null
exec "$here/tests/gpu/gpu.sh" "$here" "${1:-cuda}" "$figures"
