# mcp: clients of `runner mcp serve` in Python, with lib/mcp.py.

# session [NAME=value…] <<PY: a client
session() {
	env -i "${CLEAN_ENV[@]}" RUNNER="$RUNNER" PYTHONPATH="$ROOT/tests/cli/lib" PYTHONDONTWRITEBYTECODE=1 "$@" \
		timeout 300 python3 -c "from mcp import *
import signal, sys
$(cat)"
}
