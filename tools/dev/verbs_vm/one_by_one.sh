#!/bin/bash
# Inside the machine, which so boots once for all of them: runs commands one after another, whatever the ones before
# said, and says how long each took. Each word `--then` ends a command; the exit status is 0 only if all ended well.
failures=0
command=()

run() {
  [ "${#command[@]}" -gt 0 ] || return
  local started=$SECONDS status
  "${command[@]}"
  status=$?
  echo "== exit $status after $((SECONDS - started)) s: ${command[*]}"
  [ "$status" = 0 ] || failures=$((failures + 1))
  command=()
}

for word; do
  if [ "$word" = --then ]; then
    run
  else
    command+=("$word")
  fi
done
run
[ "$failures" = 0 ]
