#!/bin/sh
# Run by `meson install`: tells the loader of a library in one of its folders. Only root may, and
# others install to folders of their own.
set -eu
if [ "$(id -u)" -eq 0 ] && command -v ldconfig >/dev/null; then ldconfig; fi
