#!/usr/bin/env bash
# Installs what the tests run on, where it is missing: redis-server, mariadbd, a C compiler for
# the race detector, Node.js for what clients in JavaScript make of the answers, and what the
# runbook's commands call: curl, jq and the database's client. With the word prometheus also
# that, for the tests of the alerts, and with chromium a browser, for those of the pages. It
# starts nothing and needs nothing to be stopped.
set -euo pipefail

# Debian keeps servers where a user's PATH does not look.
PATH="$PATH:/usr/sbin:/usr/local/sbin:/opt/homebrew/bin"

have() { command -v "$1" >/dev/null 2>&1; }

missing=()
have redis-server || missing+=(redis)
have mariadbd || have mysqld || missing+=(mariadb)
have cc || have gcc || have clang || missing+=(cc)
have node && have npm || missing+=(node)
have mariadb || have mysql || missing+=(client)
have curl || missing+=(curl)
have jq || missing+=(jq)
case " $* " in
  *" prometheus "*) have prometheus && have promtool || missing+=(prometheus) ;;
esac
case " $* " in
  *" chromium "*) have chromium || have chromium-browser || have google-chrome || missing+=(chromium) ;;
esac
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
      "apt client") echo mariadb-client ;;
      "apt cc") echo gcc libc6-dev ;;
      "apt node") echo nodejs npm ;;
      "apt prometheus") echo prometheus prometheus-node-exporter- ;; # without what it recommends
      "apt chromium") echo chromium fonts-noto-cjk ;; # the pages speak Chinese
      "dnf redis") echo redis ;;
      "dnf mariadb") echo mariadb-server ;;
      "dnf client") echo mariadb ;;
      "dnf cc") echo gcc ;;
      "dnf node") echo nodejs npm ;;
      "dnf prometheus") echo golang-github-prometheus ;;
      "dnf chromium") echo chromium google-noto-sans-cjk-fonts ;;
      "brew redis") echo redis ;;
      "brew mariadb") echo mariadb ;;
      "brew client") echo mariadb-client ;;
      "brew node") echo node ;;
      "brew prometheus") echo prometheus ;;
      "brew cc") echo gcc ;;
      "brew chromium") echo chromium ;;
      *" curl") echo curl ;;
      *" jq") echo jq ;;
    esac
  done
}

# Debian starts a server when it installs one, unless a policy says no.
policy=/usr/sbin/policy-rc.d
keep_stopped() {
  [ -e "$policy" ] && return
  trap 'as_root rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
  as_root chmod +x "$policy"
}

echo "servers: installing ${missing[*]}"
if have apt-get; then
  keep_stopped
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
  echo "servers: install these by hand: ${missing[*]} (redis-server 7.0 or later, MariaDB 10.6 or later, a C compiler, Node.js 18 or later with npm, Prometheus 2.42 or later and Chromium if asked for)" >&2
  exit 1
fi
