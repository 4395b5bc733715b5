#!/bin/sh
# Checks what the layout promises and no compiler checks: includes point one way (tools, samples,
# tests -> jit -> src -> include), LLVM and oneTBB stay inside jit, and each public header stands
# alone. Prints one `ok - SENTENCE` or `not ok - SENTENCE: where` per check; fails if one of them
# does.
set -u
CDPATH='' cd -- "$(dirname -- "$0")/../.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

verdict() { # SENTENCE FILE: the check holds if the file, which lists the offenders, is empty
  if [ -s "$2" ]; then
    printf 'not ok - %s: %s\n' "$1" "$(head -n 5 "$2" | paste -s -d ' ')"
  else
    printf 'ok - %s\n' "$1"
  fi
}

# includes FOLDER...: every include directive below, as `file:line:<name>` or `file:line:"name"`.
includes() {
  grep -rnE --include='*.cpp' --include='*.hpp' --include='*.h' --include='*.def' \
    '^[[:space:]]*#[[:space:]]*include' "$@" |
    sed -E 's/^([^:]*:[0-9]+:)[^<"]*([<"][^>"]*[>"]).*/\1\2/'
}

# never SENTENCE PATTERN FOLDER...: no include in the folders matches the pattern.
never() {
  sentence=$1 pattern=$2
  shift 2
  includes "$@" | grep -E ":[<\"]($pattern)" >"$work/found"
  verdict "$sentence" "$work/found"
}

# only SENTENCE PATTERN FOLDER...: every include in the folders matches the pattern.
only() {
  sentence=$1 pattern=$2
  shift 2
  includes "$@" | grep -vE ":($pattern)\$" >"$work/found"
  verdict "$sentence" "$work/found"
}

# The rooms in their order, as the table of docs/contributing.md has them: each sees those before
# it, and no other.
rooms=$(sed -n 's/^| `\(src\/[a-z]*\|jit[a-z\/]*\)` |.*/\1/p' docs/contributing.md | tr '\n' ' ')

# out_of_order: the includes of src and jit that see a room which stands later, or in no place.
out_of_order() {
  includes src jit | awk -F: -v rooms="$rooms" '
    function room(path,   parts) {
      split(path, parts, "/")
      return parts[1] "/" parts[2]
    }
    BEGIN { n = split(rooms, list, " "); for (k = 1; k <= n; ++k) rank[list[k]] = k }
    $3 ~ /^"/ {
      target = substr($3, 2, length($3) - 2)
      if (target !~ /^jit\//) target = "src/" target
      if ((getline line < target) < 0) next # the build makes it
      close(target)
      seen = room(target)
      own = room($1)
      if (!rank[own] || !rank[seen] || rank[seen] > rank[own]) print $1 ":" $2 " sees " seen
    }'
}

# foreign_namespaces: where a file of src/ROOM opens another namespace than broadloom::ROOM; what is
# public or of the whole project is in broadloom and in broadloom::detail.
foreign_namespaces() {
  grep -rnE --include='*.cpp' --include='*.hpp' '^namespace broadloom::' src | awk -F'[:/]' '
    { room = $2; line = $0; sub(/.*namespace broadloom::/, "", line); sub(/[^a-z].*/, "", line)
      if (line != room && line != "detail" && !(room == "array" && line ~ /^np[yz]$/)) print $0 }'
}

# defined_twice: types that two files define in one namespace under one name. A program has one of
# them: what is a template of the other runs the wrong code. (The two terminals are never built
# together.)
defined_twice() {
  find src jit include tools python/core \( -name '*.cpp' -o -name '*.hpp' \) ! -name terminal_plain.cpp | sort | xargs awk '
    FNR == 1 { depth = 0 }
    /^namespace [a-z:]* \{/ { sub(/^namespace /, ""); sub(/ \{.*/, ""); inner[++depth] = $0; next }
    /^namespace \{/ { inner[++depth] = "?"; next }
    /^\} \/\/ namespace/ { if (depth > 0) depth--; next }
    /^(template <.*> )?(struct|class|enum class) [A-Za-z_]+[^;(]*\{/ {
      line = $0
      sub(/^template <[^>]*> /, "", line)
      sub(/^(enum class|struct|class) /, "", line)
      match(line, /^[A-Za-z_:0-9]+/)
      name = substr(line, 1, RLENGTH)
      if (substr(line, RLENGTH + 1, 1) == "<") next # a specialisation
      space = ""
      for (k = 1; k <= depth; ++k) space = space inner[k] "::"
      if (space ~ /\?/) next
      if ((space name) in seen && seen[space name] != FILENAME)
        print FILENAME ":" FNR " defines " space name ", as does " seen[space name]
      seen[space name] = FILENAME
    }'
}

# compiles_alone COMPILER HEADER
compiles_alone() {
  printf '#include <%s>\n' "${2#include/}" |
    "$1" -x c++ -std=c++20 -fsyntax-only -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Werror -Iinclude - \
      >"$work/$1" 2>&1 || [ -s "$work/$1" ] || echo "$1 failed" >"$work/$1"
  verdict "${2#include/} compiles alone with $1" "$work/$1"
}

all_checks() {
  libraries='llvm/|llvm-c/|clang/|tbb/|oneapi/'
  never 'src and include see neither LLVM nor oneTBB' "$libraries" src include
  never 'of jit, only what makes code sees LLVM, which is loaded for it alone' 'llvm/[^C]|llvm/C[^o]|llvm/Co[^n]|llvm-c/' \
    jit/native jit/cache jit/runtime jit/nest jit/call jit/show jit/api jit/ahead
  never 'the command line and the samples see neither LLVM nor oneTBB' "$libraries" \
    tools/broadloom samples
  only 'include uses the standard library and itself only, but for Eigen where a user asks for it' \
    '<[a-z_]+>|<std(def|int)\.h>|[<"]broadloom/[a-z0-9_/]+\.hpp[>"]|<Eigen/Core>' include
  only 'samples use the standard library, the public headers and libpng only' \
    '<[a-z_]+>|<broadloom/[a-z0-9_/]+\.hpp>|<png\.h>' samples
  only 'the Python package uses the public headers, Python, POSIX, NumPy and nanobind only' \
    '<[a-z_]+>|<pthread\.h>|<unistd\.h>|<cxxabi\.h>|<broadloom/[a-z0-9_/]+\.hpp>|<nanobind/[a-z/]+\.h>|<numpy/arrayobject\.h>|<nb_combined\.cpp>|"[a-z]+\.hpp"' \
    python
  never 'src includes nothing of jit, tools, samples or tests' \
    '(\.\./)*(jit|tools|samples|tests)/' src include
  never 'jit includes nothing of tools, samples or tests' '(\.\./)*(tools|samples|tests)/' jit
  out_of_order >"$work/found"
  verdict 'each room of src and jit sees only those that stand before it' "$work/found"
  foreign_namespaces >"$work/found"
  verdict 'the namespace of each file in src is that of its folder' "$work/found"
  defined_twice >"$work/found"
  verdict 'no type is defined twice under one name' "$work/found"
  PYTHONDONTWRITEBYTECODE=1 python3 tests/layering/circles.py >"$work/found" 2>&1
  verdict 'units include each other in no circle, and Python modules import those before them only' "$work/found"
  PYTHONDONTWRITEBYTECODE=1 python3 tests/layering/sentences.py >"$work/found" 2>&1
  verdict 'no page has more sentences that are hard to read than it had, and no line of a page or a comment is too long' "$work/found"
  PYTHONDONTWRITEBYTECODE=1 python3 tests/docs/site.py "$work/site" >"$work/found" 2>&1
  verdict 'every page has its place on the site, and the reference has every public header' "$work/found"
  tests/layering/size.sh --check >"$work/found"
  verdict 'the table of rooms has each room, and its lines to a tenth' "$work/found"
  PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=tests/mutation python3 -c '
from mutants import MUTANTS
for name, path, text, *_ in MUTANTS:
    try:
        if text not in open(path).read(): print(path, "lacks what the mutant changes:", name)
    except OSError as error: print(error)' >"$work/found" 2>&1
  verdict 'each mutant changes a text that is there' "$work/found"
  never 'what is derived is not asked of the reference, which it is held against' 'reference/' \
    $(ls src/grad/*.?pp | grep -v forward_sizes.cpp) src/plan src/rewrite src/loop src/block
  # Which values are saved goes by their sizes, and no result does.
  never 'of the reference, sizes of what is saved ask for shapes alone' 'reference/([^l]|l[^e]|le[^t])' src/grad/forward_sizes.cpp
  never 'no include climbs out of its folder' '\.\./' include src jit tools samples tests python

  { git ls-files -z 2>/dev/null || find . -type f -not -path './build*' -not -path './.git/*' -print0; } |
    xargs -0 grep -nIE '(\.\./)+[s]hared|/[w]ork/' 2>/dev/null | cut -c 1-120 >"$work/found"
  verdict 'no file points at a path outside the project' "$work/found"

  grep -rl '<Eigen/' include | grep -v '^include/broadloom/interop/eigen.hpp$' >"$work/found"
  verdict 'only the header for Eigen includes it' "$work/found"

  # Who forgets -std=c++20 is told so, and nothing else.
  printf '#include <broadloom/broadloom.hpp>\nint main() {}\n' |
    g++ -x c++ -std=c++17 -fsyntax-only -Iinclude - 2>&1 | grep 'error' | grep -v '#error "Broadloom needs C++20' >"$work/found"
  verdict 'C++17 gets one error, which says what to do' "$work/found"

  for header in include/broadloom/*.hpp include/broadloom/interop/*.hpp; do
    case $header in */eigen.hpp) continue ;; esac # which needs Eigen: tests/unit/api
    compiles_alone g++ "$header" >"$work/first" &
    compiles_alone clang++-19 "$header" >"$work/second"
    wait
    cat "$work/first" "$work/second"
  done
}

all_checks | tee "$work/verdicts"
! grep -q '^not ok' "$work/verdicts"
