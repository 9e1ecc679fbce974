# Sourced by tools/test and tools/demo: installing packages, finding the tree, saying what goes on.
# Nothing here needs systemd, a terminal, or a network when all packages are there.

namdb_root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"

say() { printf '\n== [%5ds] %s\n' "$SECONDS" "$*"; }
fail() {
  printf 'error: %s\n' "$1" >&2
  exit "${2:-1}"
}

# as_root COMMAND...: for apt-get only.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    fail "must be root, or have sudo, to run: $*" 3
  fi
}

# install_packages TAG...: installs what is missing of packages.txt's lines without a tag or with one of these.
install_packages() {
  local wanted=" $* " missing=() line package tag
  [ -e /etc/debian_version ] || fail "this is not Debian; install what tools/dev/packages.txt names by hand" 3
  while IFS= read -r line; do
    package="${line%%#*}"
    package="${package//[[:space:]]/}"
    [ -n "$package" ] || continue
    tag=""
    [[ "$line" == *#* ]] && tag="${line##*#}" && tag="${tag//[[:space:]]/}"
    [ -z "$tag" ] || [[ "$wanted" == *" $tag "* ]] || continue
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done <"$namdb_root/tools/dev/packages.txt"
  [ "${#missing[@]}" -gt 0 ] || return 0
  say "installing ${#missing[@]} packages: ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  as_root apt-get update -qq || fail "apt-get update failed" 3
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    -o Dpkg::Use-Pty=0 "${missing[@]}" >/dev/null || fail "apt-get install failed" 3
}

# Jobs to build with: the cores, but no more than one for each 1.5 GiB of memory that is free.
default_jobs() {
  local cores available_kib jobs
  cores=$(nproc)
  available_kib=$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo)
  jobs=$((available_kib / 1572864))
  [ "$jobs" -ge 1 ] || jobs=1
  [ "$jobs" -le "$cores" ] || jobs=$cores
  echo "$jobs"
}

# configure_preset PRESET: cmake, quietly unless it fails.
configure_preset() {
  local log="$namdb_root/build/$1.configure.log"
  mkdir -p "$namdb_root/build"
  (cd "$namdb_root" && cmake --preset "$1") >"$log" 2>&1 || {
    cat "$log"
    return 1
  }
}

# build_targets PRESET JOBS TARGET...: ninja, with its own progress line on a terminal and sparse lines otherwise.
build_targets() {
  local preset="$1" jobs="$2"
  shift 2
  if [ -t 1 ]; then
    ninja -C "$namdb_root/build/$preset" -j "$jobs" "$@"
  else
    NINJA_STATUS='[%f/%t %es] ' ninja -C "$namdb_root/build/$preset" -j "$jobs" "$@" |
      awk '/^\[[0-9]+\/[0-9]+ / {
             split(substr($1, 2), n, "/"); step = int(n[1] * 10 / n[2])
             if (step != last) { print; fflush(); last = step }
             next
           }
           { print; fflush() }'
    return "${PIPESTATUS[0]}"
  fi
}
