#!/usr/bin/env bash
# Makes a Python client of a running sidecar's OpenAPI document and does hold, explain, query, release with it.
# run.sh SIDECAR-URL ENGINE-URL [ENGINE-ID]
set -euo pipefail
[ $# -ge 2 ] || { echo "run.sh SIDECAR-URL ENGINE-URL [ENGINE-ID]; needs python3 with venv" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q openapi-python-client==0.29.1 httpx attrs python-dateutil
cd "$work"
"$work/venv/bin/openapi-python-client" generate --url "$1/openapi.json" --meta none --output-path holdfast_sidecar_client
PYTHONPATH=$work "$work/venv/bin/python" "$here/hold.py" "$1" "$2" "${3:-main}"
