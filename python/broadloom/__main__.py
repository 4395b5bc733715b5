"""`python -m broadloom`: the program of that name, which is the REPL where nothing follows."""

import os
import shutil
import sys
import sysconfig


def main():
    program = os.environ.get("BROADLOOM_PROGRAM") or shutil.which("broadloom", path=sysconfig.get_path("scripts")) or \
        shutil.which("broadloom")
    if not program:
        sys.exit("broadloom: the program is not installed beside this package; BROADLOOM_PROGRAM may name it")
    os.execv(program, [program, *sys.argv[1:]])


main()
