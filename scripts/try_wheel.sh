#!/usr/bin/env bash
# Installs a wheel in an environment of its own, outside the checkout, and uses it: version, demo, a campaign.
set -euo pipefail
wheel=$(realpath "$1")
constraints=$(realpath constraints.txt)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/python -m pip install --quiet --disable-pip-version-check -c "$constraints" "$wheel[all]"
env/bin/driftpace --version
env/bin/driftpace demo --out report >/dev/null
test -s report/report.html
cat >pool.csv <<'CSV'
id,age,visits,spend
1,31,2,20.5
2,45,7,61.0
3,27,1,12.0
4,52,4,44.5
5,38,9,80.0
6,61,3,35.5
7,23,5,41.0
8,49,6,58.5
9,34,8,70.0
10,57,2,28.0
CSV
env/bin/driftpace init spend --target spend --epsilon 5 --id id --table pool.csv
env/bin/driftpace ask spend --key 2026-11 || test $? -lt 2 -o $? -ge 10
env/bin/driftpace tell spend pool.csv
env/bin/driftpace status spend
echo "The wheel works."
