#!/bin/sh
# The product's lines by room: the folders of include, src, jit, tools and python, in the order of
# the table in docs/contributing.md, whose last row is the sum.
#   size.sh           prints them
#   size.sh --bless   writes them into the table, in hundreds
#   size.sh --check   prints each room that the table lacks, has no more, or is more than a tenth
#                     (or 100 lines) off
set -eu
CDPATH='' cd -- "$(dirname -- "$0")/../.." || exit 1
page=docs/contributing.md

lines_by_room() {
  find include src jit tools python -type f \
    \( -name '*.cpp' -o -name '*.hpp' -o -name '*.h' -o -name '*.def' -o -name '*.S' -o -name '*.py' \) \
    -exec wc -l {} + | awk '
      $2 == "total" { next }
      { n = split($2, parts, "/")
        room = parts[1] == "include" || n == 2 ? parts[1] : parts[1] "/" parts[2]
        lines[room] += $1; all += $1 }
      END { for (room in lines) print room, lines[room]; print "all", all }'
}

lines_by_room | awk -v how="${1:-}" -v page="$page" '
  { lines[$1] = $2 }
  function rounded(n) { return int((n + 50) / 100) * 100 }
  function off(a, b,   apart) { apart = a > b ? a - b : b - a; return apart > 100 && apart > b / 10 }
  END {
    while ((getline row < page) > 0) {
      if (match(row, /^\| `[a-z\/]+` \|/)) {
        split(row, cells, "|")
        room = cells[2]; gsub(/[ `]/, "", room)
        said = cells[3]; gsub(/[ ,]/, "", said)
        known[room] = 1
        if (how == "" && room in lines) printf "%-18s %7d\n", room, lines[room]
        if (how == "--check" && !(room in lines)) print room " is in the table and not in the project"
        else if (how == "--check" && off(said, lines[room])) print room " has " lines[room] " lines, the table says " said
        sub(/\| *[0-9]+ \|/, "| " rounded(lines[room]) " |", row)
      }
      text = text row "\n"
    }
    for (room in lines) if (!(room in known)) print room " has " lines[room] " lines, and no row in the table of " page
    if (how == "--bless") printf "%s", text > page
  }'
