#!/bin/sh
# What a compiler sees of broadloom.h, without its comments: functions, numbers, members of structs.
# `./dev bless` writes it to c_interface.golden.
CDPATH='' cd -- "$(dirname -- "$0")/../.." || exit 1
cc -fpreprocessed -dD -E -P include/broadloom.h
