#!/usr/bin/env python3
"""code_version.py OUTPUT DEPFILE COMPILER ROOT FOLDER-OR-FILE...: a header with a hash of all that
machine code depends on.

Code in the disk cache is for one version of the code generator. A number that people must raise
would be forgotten once, and old code be run for ever; a hash of the sources cannot be.
"""

import hashlib
import pathlib
import sys

output, depfile, compiler, root, *parts = sys.argv[1:]
files = []
for part in map(pathlib.Path, parts):
    files += sorted(p for p in part.rglob('*') if p.is_file()) if part.is_dir() else [part]
version = hashlib.sha256(compiler.encode()) # of the math
for file in files:
    name = file.relative_to(root) if file.is_relative_to(root) else pathlib.Path(file.name)
    content = file.read_bytes()
    version.update(f'{name} {len(content)}\n'.encode())
    version.update(content)
pathlib.Path(output).write_text(f"""// Made by code_version.py: a hash of the sources of the code generator.
#pragma once

namespace broadloom::jit {{
inline constexpr char code_version[] = "{version.hexdigest()}";
}}
""")
pathlib.Path(depfile).write_text(f'{output}: ' + ' '.join(str(f).replace(' ', '\\ ') for f in files) + '\n')
