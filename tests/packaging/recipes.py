"""Reads the recipe of conda and the formula of Homebrew, and holds what they ask for against what
the build looks for.

usage: recipes.py conda|homebrew      prints what is not so; conda needs PyYAML, homebrew needs ruby
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]
VERSION = re.search(r"version: '(.*)'", (ROOT / "meson.build").read_text())[1]
sys.path.insert(0, str(ROOT / "packaging/pip"))


def conda():
    import broadloom_build
    import yaml

    recipe = yaml.safe_load((ROOT / "packaging/conda/recipe.yaml").read_text())
    host = {line.split()[0]: line for line in recipe["requirements"]["host"]}
    if recipe["context"]["version"] != VERSION:
        yield f"the version is {recipe['context']['version']}, that of meson.build {VERSION}"
    for need in broadloom_build.NEEDS:
        name = re.match(r"[a-z-]+", need)[0]
        if need != host.get(name, "").replace(" ", ""):
            yield f"pip asks for {need}, conda for {host.get(name)}"
    names = {"tbb": "tbb-devel", "CLI11": "cli11"}
    yield from (f"{name} is missing" for name in broadloom_build.LIBRARIES if names.get(name, name) not in host)
    if host.get("llvmdev") != f"llvmdev {broadloom_build.LLVM}.*":
        yield f"llvmdev is {host.get('llvmdev')}"


def homebrew():
    import broadloom_build

    path = ROOT / "packaging/homebrew/broadloom.rb"
    done = subprocess.run(["ruby", "-wc", str(path)], capture_output=True, text=True)
    if done.returncode != 0 or done.stdout.strip() != "Syntax OK" or done.stderr:
        yield done.stdout + done.stderr
    asked = set(re.findall(r'depends_on "([^"]+)"', path.read_text()))
    yield from (f"{name} is missing" for name in broadloom_build.LIBRARIES if name.lower() not in asked)
    if f"llvm@{broadloom_build.LLVM}" not in asked:
        yield f"llvm@{broadloom_build.LLVM} is missing"
    # Each option that it sets is one.
    options = (ROOT / "meson_options.txt").read_text()
    yield from (f"there is no option {name}" for name in re.findall(r'"-D([a-z_]+)=', path.read_text()) if f"option('{name}'" not in options)


failures = list({"conda": conda, "homebrew": homebrew}[sys.argv[1]]())
print("\n".join(failures))
sys.exit(bool(failures))
