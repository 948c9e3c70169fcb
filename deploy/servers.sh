#!/usr/bin/env bash
# Installs what the tests run on, where it is missing: redis-server, mariadbd, a C compiler for
# the race detector, and Node.js for what clients in JavaScript make of the answers. It starts
# nothing and needs nothing to be stopped.
set -euo pipefail

# Debian keeps servers where a user's PATH does not look.
PATH="$PATH:/usr/sbin:/usr/local/sbin:/opt/homebrew/bin"

have() { command -v "$1" >/dev/null 2>&1; }

missing=()
have redis-server || missing+=(redis)
have mariadbd || have mysqld || missing+=(mariadb)
have cc || have gcc || have clang || missing+=(cc)
have node && have npm || missing+=(node)
[ ${#missing[@]} -eq 0 ] && exit 0

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"
  elif have sudo; then sudo "$@"
  else
    echo "servers: to install ${missing[*]}, run as root: $*" >&2
    exit 1
  fi
}

# name of a missing part as each package manager calls it
names() {
  local part
  for part in "${missing[@]}"; do
    case "$1 $part" in
      "apt redis") echo redis-server ;;
      "apt mariadb") echo mariadb-server ;;
      "apt cc") echo gcc libc6-dev ;;
      "apt node") echo nodejs npm ;;
      "dnf redis") echo redis ;;
      "dnf mariadb") echo mariadb-server ;;
      "dnf cc") echo gcc ;;
      "dnf node") echo nodejs npm ;;
      "brew redis") echo redis ;;
      "brew mariadb") echo mariadb ;;
      "brew node") echo node ;;
      "brew cc") echo gcc ;;
    esac
  done
}

echo "servers: installing ${missing[*]}"
if have apt-get; then
  as_root apt-get update -qq
  # shellcheck disable=SC2046 # several names
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $(names apt) >/dev/null
elif have dnf; then
  # shellcheck disable=SC2046
  as_root dnf install -y -q $(names dnf)
elif have brew; then
  # shellcheck disable=SC2046
  brew install --quiet $(names brew)
else
  echo "servers: install these by hand: ${missing[*]} (redis-server 7.0 or later, MariaDB 10.6 or later, a C compiler, Node.js 18 or later with npm)" >&2
  exit 1
fi
