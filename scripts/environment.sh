# shellcheck shell=bash
# Read by the scripts beside it. `prepare_environment EXTRA...` makes .venv and installs the project into it, once:
# what is already there costs a fraction of a second. Sets: root (the project's folder), python (the one of .venv).
#
# The folder holds two files of ours: `gpubench-made` (these scripts made it, so they may clear it) and
# `gpubench-installed` (what the last finished installation put there; missing while one runs or after it broke off).
#
#   PYTHON          the Python to make .venv with, when the one found is not the one wanted
#   GPUBENCH_EXTRA  cuda13, cuda12 or none, when the one that the driver suggests is not the one wanted

unset CDPATH
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
venv=$root/.venv
python=$venv/bin/python

fail() {
    printf '%s: %s\n' "$(basename -- "$0")" "$1" >&2
    exit 2
}

# Print the extra that fits the driver: nothing when there is none, or one older than CUDA 12.
driver_extra() {
    if [ -n "${GPUBENCH_EXTRA:-}" ]; then
        [ "$GPUBENCH_EXTRA" = none ] || printf '%s' "$GPUBENCH_EXTRA"
        return
    fi
    "$1" -c '
import ctypes
try:
    version = ctypes.c_int(0)
    ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version))
except (OSError, AttributeError):
    raise SystemExit
print("cuda13" if version.value >= 13000 else "cuda12" if version.value >= 12000 else "", end="")'
}

# Print a Python that is new enough and can make environments, or say what is missing.
find_python() {
    local candidate without_venv=''
    for candidate in ${PYTHON:+"$PYTHON"} python3 python3.13 python3.12 python3.11 python3.14; do
        if ! "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            [ "$candidate" != "${PYTHON:-}" ] || fail "PYTHON=$PYTHON is no Python 3.11 or newer"
        elif "$candidate" -c 'import ensurepip, venv' >/dev/null 2>&1; then
            printf '%s' "$candidate"
            return
        else
            without_venv=${without_venv:-$candidate}
        fi
    done
    [ -z "$without_venv" ] ||
        fail "$without_venv cannot make environments. On Debian and Ubuntu: apt-get install python3-venv"
    fail "needs Python 3.11 or newer. On Debian and Ubuntu: apt-get install python3 python3-venv"
}

# Print what an installation depends on beside the extras: the project's needs and the place it is installed from.
fingerprint() {
    { cat -- "$root/pyproject.toml" && printf '%s\n' "$root" "${PYTHON:-}"; } | sha256sum | cut -d ' ' -f 1
}

# Succeed when .venv works and a finished installation holds these extras (a cuda extra counts only as itself).
is_installed() {
    local extra installed
    [ -f "$venv/gpubench-installed" ] || return 1
    installed=" $(cat -- "$venv/gpubench-installed") "
    for extra in "$(fingerprint)" "$@"; do
        [[ $installed == *" $extra "* ]] || return 1
    done
    "$python" -c 'import gpubench.cli, numpy' >/dev/null 2>&1
}

# Print the extras of the finished installation, so that another script's are kept.
installed_extras() {
    [ ! -f "$venv/gpubench-installed" ] || cut -d ' ' -f 2- -- "$venv/gpubench-installed"
}

# Make .venv anew unless what is there can be built upon.
make_environment() {
    local extra reason='' maker
    if [ -e "$venv" ]; then
        "$python" -c 'import pip' >/dev/null 2>&1 || reason="its Python does not run"
        [ ! -f "$venv/gpubench-made" ] || [ -f "$venv/gpubench-installed" ] || reason="its installation broke off"
        for extra in $(installed_extras); do # cupy for CUDA 12 and for CUDA 13 lie in the same place
            [[ $extra != cuda* || " $* " != *" cuda"* || " $* " == *" $extra "* ]] || reason="it holds $extra"
        done
        [ -n "$reason" ] || return 0
        [ -f "$venv/gpubench-made" ] || fail "$venv cannot be used: $reason. Remove it, then start again."
    fi
    maker=$(find_python) || exit
    rm -rf -- "$venv"
    mkdir -p -- "$venv"
    : >"$venv/gpubench-made"
    "$maker" -m venv "$venv" || fail "$maker could not make $venv"
}

# Of what pip says pass on each package that it fetches, with its size, and that it has come to unpacking them.
installation_steps() {
    sed -unE -e '/\.metadata/d' \
        -e 's/^ *(Downloading|Using cached) ([^ ]+) \(([^)]*)\).*/  \2: \3/p' \
        -e 's/^Installing collected packages:.*/  unpacking .../p'
}

# Install the project (editable: the folder itself is what runs) with the extras given and those there before.
install_project() {
    local extras list
    make_environment "$@"
    extras=$({ printf '%s\n' "$@" && installed_extras | tr ' ' '\n'; } | sort -u | sed '/^$/d')
    list=$(printf '%s' "$extras" | paste -s -d , -)
    rm -f -- "$venv/gpubench-installed"
    printf 'Installing gpubench%s into %s, once; up to about 250 MB are downloaded ...\n' "${list:+[$list]}" "$venv" >&2
    "$python" -m pip install --no-input --disable-pip-version-check --progress-bar off --editable "$root${list:+[$list]}" \
        </dev/null | installation_steps >&2 || fail "the installation failed; what pip said stands above. Start again to go on."
    printf '%s takes %s.\n' "$venv" "$(du -sh -- "$venv" 2>/dev/null | cut -f 1)" >&2
    printf '%s %s\n' "$(fingerprint)" "${list//,/ }" >"$venv/gpubench-installed.new"
    mv -- "$venv/gpubench-installed.new" "$venv/gpubench-installed"
}

prepare_environment() {
    is_installed "$@" && return
    (   # one at a time: whoever comes second waits here, and then finds all done
        if command -v flock >/dev/null 2>&1; then
            exec 9<"$root/scripts"
            flock 9
        fi
        is_installed "$@" || install_project "$@"
    )
}

# Print a Python to ask about the driver: that of .venv where it runs, else one that is found.
any_python() {
    if "$python" -c '' >/dev/null 2>&1; then printf '%s' "$python"; else find_python; fi
}
