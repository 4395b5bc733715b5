#!/usr/bin/env python3
"""Writes the version script of the shared library: which symbols it exports.

    exports.py NM --series SERIES --library ARCHIVE [--backend ARCHIVE] --output OUTPUT HEADER...

A symbol is exported if it belongs to `namespace broadloom` itself (not to one inside of it, such as
broadloom::jit) and the public headers declare it: its class is defined there, or the name of its
function or object occurs there. So is a function of the C interface. All else stays inside, the
code of libraries that was instantiated here too.

    broadloom::Kernel::show(broadloom::Stage) const     exported: kernel.hpp has `class Kernel {`
    typeinfo for broadloom::SpecError                   exported: a caller may catch it
    broadloom::detail::fold_mode(..)                    exported: code in spec.hpp calls it
    bl_run                                              exported: broadloom.h declares it
    broadloom::detail::KernelImpl::bind(..)             not: kernel.hpp only says that there is one
    broadloom::jit::find_target(..)                     not: a namespace of its own

What a library with the backend needs of the rest is exported under a version of its own, which no
program is linked with.
"""
import argparse
import re
import subprocess
import sys

SYMBOL = re.compile(
    r"^(?:(?:vtable|typeinfo|typeinfo name|VTT) for |guard variable for )?"
    r"broadloom::(?:detail::)?(?P<name>operator[^\w\s(]+|\w+)(?P<rest>(?:::|\(|\[).*|)$")


def declared(headers):
    """The classes that are defined in the headers, and all names that occur there."""
    text = ""
    for path in headers:
        with open(path, encoding="utf-8") as file:
            text += re.sub(r"//[^\n]*", "", file.read())
    classes = set(re.findall(r"\b(?:class|struct)\s+(\w+)[^;{()<>]*\{", text))
    return classes, set(re.findall(r"\w+", text))


def is_public(demangled, classes, names):
    if re.fullmatch(r"bl_\w+", demangled):
        return demangled in names
    match = SYMBOL.match(demangled)
    if not match:
        return False
    name, rest = match["name"], match["rest"]
    if rest.startswith("::"):
        return name in classes
    return name in names or name.startswith("operator")


def undefined(nm, archive):
    """The mangled names that an archive does not define for itself."""
    def names(option):
        command = [nm, option, "--format=posix", archive]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return {line.split()[0] for line in output.splitlines() if len(line.split()) > 1}
    return names("--undefined-only") - names("--defined-only")


def defined(nm, archive):
    """(mangled, demangled) of each global symbol that the archive defines."""
    def lines(*options):
        command = [nm, "--defined-only", "--extern-only", "--format=posix", *options, archive]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        # `NAME TYPE VALUE SIZE`, where a demangled name has spaces; also a line for each object
        # file.
        return re.findall(r"^(.+?) [A-TV-Za-z](?: [0-9a-f]+)+ *$", output, re.M)
    return zip(lines("--no-demangle"), lines("--demangle"), strict=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("nm")
    for option in ["--series", "--library", "--backend", "--output"]:
        parser.add_argument(option)
    parser.add_argument("headers", nargs="+")
    args = parser.parse_args()
    classes, names = declared(args.headers)
    symbols = list(defined(args.nm, args.library))
    public = {mangled for mangled, demangled in symbols if is_public(demangled, classes, names)}
    if not public:
        sys.exit(f"exports.py: {args.library} defines nothing that is public")
    needed = undefined(args.nm, args.backend) if args.backend else set()
    private = {mangled for mangled, _ in symbols if mangled in needed} - public
    with open(args.output, "w", encoding="utf-8") as file:
        file.write(f"BROADLOOM_{args.series} {{\nglobal:\n")
        file.writelines(f"  {mangled};\n" for mangled in sorted(public))
        file.write("local:\n  *;\n};\n")
        if private:
            file.write(f"BROADLOOM_PRIVATE_{args.series} {{\nglobal:\n")
            file.writelines(f"  {mangled};\n" for mangled in sorted(private))
            file.write("};\n")


main()
