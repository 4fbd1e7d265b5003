#!/usr/bin/env bash
# Uses the adapter of each library in an environment of its own with nothing but the extra of that library: try_adapters.sh [LIBRARY...]
set -euo pipefail
checkout=$(realpath "$(dirname "$0")/..")
libraries=("$@")
[ $# -gt 0 ] || libraries=(lightgbm xgboost catboost sklearn onnx torch)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
for name in "${libraries[@]}"; do
    more=()
    [ "$name" != onnx ] || more=(onnx) # which writes the model that onnxruntime reads
    python3 -m venv "$name"
    "$name/bin/python" -m pip install --quiet --disable-pip-version-check -c "$checkout/constraints.txt" "$checkout[$name]" ${more[@]+"${more[@]}"}
    "$name/bin/python" "$checkout/scripts/try_adapter.py" "$name"
    rm -rf "$name"
done
