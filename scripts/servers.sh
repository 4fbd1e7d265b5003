#!/usr/bin/env bash
# Installs what the tests start: a PostgreSQL server and a browser, or, with the argument java, the runtime of Spark. Does nothing where
# they are there.
set -euo pipefail

has_postgres() { command -v initdb >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; }
has_browser() { command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null; }

missing=()
if [ "${1:-}" = java ]; then
    command -v java >/dev/null || missing+=(openjdk-17-jre-headless)
else
    has_postgres || missing+=(postgresql)
    has_browser || missing+=(chromium)
fi
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "Installing ${missing[*]} for the tests."
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
else
    echo "The tests need ${missing[*]}; those of them are skipped." >&2
fi
