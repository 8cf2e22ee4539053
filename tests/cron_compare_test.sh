#!/usr/bin/env bash
# Cron expressions by the dice, compared with a scan in Python and with python3-croniter: see
# tests/cron_compare.py. CRON_CASES and CRON_SEED make another run of it.
set -u
here=$(realpath "$(dirname "$0")")
slots=${BUILD:?the build directory}/tests/programs/slots
# croniter is Debian's package, so it is of Debian's Python, whichever else comes first in PATH.
python=python3
"$python" -c 'import croniter' 2>/dev/null || python=/usr/bin/python3
exec "$python" "$here/cron_compare.py" "$slots" "${CRON_CASES:-600}" "${CRON_SEED:-1}"
