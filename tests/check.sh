# What suites of shell scripts share; they read it by `.`, with $work as a folder of their own.
failed=0

# check SENTENCE COMMAND...: holds if the command does.
check() {
  sentence=$1
  shift
  if "$@" >"$work/seen" 2>&1; then
    echo "ok - $sentence"
  else
    failed=1
    printf 'not ok - %s: %s\n' "$sentence" "$(tail -n 4 "$work/seen" | paste -s -d ' ')"
  fi
}

block_of() { # PAGE LANGUAGE [NUMBER]: a block of the page, the first one where no number is said
  awk -v start="\`\`\`$2" -v wanted="${3:-1}" '
    $0 == start { inside = ++n == wanted; next }
    /^```/ { inside = 0 }
    inside' "$1"
}
