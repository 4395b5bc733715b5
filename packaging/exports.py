#!/usr/bin/env python3
"""Writes the version script of the shared library: which symbols it exports.

    exports.py NM ARCHIVE VERSION OUTPUT HEADER...

A symbol is exported if it belongs to `namespace broadloom` itself (not to one inside of it, such as
broadloom::jit) and the public headers declare it: its class is defined there, or the name of its function
or object occurs there. All else stays inside, the code of libraries that was instantiated here too.

    broadloom::Kernel::show(broadloom::Stage) const     exported: kernel.hpp has `class Kernel {`
    typeinfo for broadloom::SpecError                   exported: a caller may catch it
    broadloom::detail::fold_mode(..)                    exported: code in spec.hpp calls it
    broadloom::detail::KernelImpl::bind(..)             not: kernel.hpp only says that there is one
    broadloom::jit::find_target(..)                     not: a namespace of its own
"""
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
    match = SYMBOL.match(demangled)
    if not match:
        return False
    name, rest = match["name"], match["rest"]
    if rest.startswith("::"):
        return name in classes
    return name in names or name.startswith("operator")


def defined(nm, archive):
    """(mangled, demangled) of each global symbol that the archive defines."""
    def lines(*options):
        command = [nm, "--defined-only", "--extern-only", "--format=posix", *options, archive]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        # `NAME TYPE VALUE SIZE`, where a demangled name has spaces; also a line for each object file.
        return re.findall(r"^(.+?) [A-TV-Za-z](?: [0-9a-f]+)+ *$", output, re.M)
    return zip(lines("--no-demangle"), lines("--demangle"), strict=True)


def main():
    nm, archive, version, output, *headers = sys.argv[1:]
    classes, names = declared(headers)
    public = sorted({mangled for mangled, demangled in defined(nm, archive)
                     if is_public(demangled, classes, names)})
    if not public:
        sys.exit(f"exports.py: {archive} defines nothing that is public")
    with open(output, "w", encoding="utf-8") as file:
        file.write(f"BROADLOOM_{version} {{\nglobal:\n")
        file.writelines(f"  {mangled};\n" for mangled in public)
        file.write("local:\n  *;\n};\n")


main()
