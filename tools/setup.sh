#!/usr/bin/env bash
# Make a machine ready: `setup.sh python VENV` builds the virtual environment, `setup.sh jvm` looks for Java and Maven,
# `setup.sh kcat` for kcat, `setup.sh go` for Go, `setup.sh node` for Node and npm, `setup.sh docker` for a Docker engine,
# `setup.sh namespaces` for what networks of a test's own are made with.
#
# A missing tool is installed from Debian's packages where we are root and apt-get exists. Otherwise `python` fails and
# names what is missing; the others only say so: tools/run_parts.py and the tests decide what a missing tool means.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

apt_install() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
    echo "setup: apt-get install $*"
    # An old package list is no reason to fail: what is asked for may be in it.
    DEBIAN_FRONTEND=noninteractive apt-get update -qq </dev/null || true
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" </dev/null >/dev/null
}

# The first Python that is new enough and can make a virtual environment (Debian splits ensurepip off). The system's comes
# before others that are called the same: distributions have theirs optimised by a profile, and without that the same code
# takes 1.4 times as long (docs/measurements.md).
find_python() {
    local candidate
    for candidate in ${PYTHON:-} /usr/bin/python3 python3 python3.13 python3.12 python3.11 python3.14; do
        if "$candidate" -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    return 1
}

# Whether there is a C compiler, and what Python's modules in C are compiled with (Debian splits that off too).
can_compile() {
    command -v cc >/dev/null &&
        [ -e "$("$1" -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" ]
}

make_venv() {
    local venv=$1 python
    python=$(find_python) || { apt_install python3 python3-venv && python=$(find_python); } || {
        echo "setup: no Python 3.11 or newer with the venv module (Debian: python3, python3-venv)" >&2
        exit 1
    }
    can_compile "$python" || apt_install gcc libc6-dev python3-dev ||
        echo "setup: no C compiler, so records are checked more slowly (Debian: gcc, libc6-dev, python3-dev)" >&2
    echo "setup: $("$python" --version) in $venv"
    "$python" -m venv --clear "$venv"
    "$venv/bin/python" tools/requirements.py dev >"$venv/requirements.txt"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$venv/requirements.txt"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --editable .
    # As an installation would: without it every start compiles the package where nobody may write bytecode.
    "$venv/bin/python" -m compileall -q ottla
}

find_jvm() {
    if ! command -v javac >/dev/null || ! command -v java >/dev/null; then
        apt_install openjdk-17-jdk-headless || apt_install default-jdk-headless ||
            echo "setup: no java and javac (Debian: openjdk-17-jdk-headless)" >&2
    fi
    command -v mvn >/dev/null || apt_install maven || echo "setup: no mvn (Debian: maven)" >&2
}

find_kcat() {
    command -v kcat >/dev/null || apt_install kcat || echo "setup: no kcat, its tests will not run (Debian: kcat)" >&2
}

find_go() {
    command -v go >/dev/null || apt_install golang-go ||
        { echo "setup: no go, its clients' tests will not run (Debian: golang-go)" >&2; return; }
    # A Go of 1.21 or later gets the one that is asked for, unless it is told not to.
    (cd compat_tests/driven_clients/go && go list -m >/dev/null) ||
        echo "setup: $(go version) is older than compat_tests/driven_clients/go/go.mod asks for" >&2
}

find_node() {
    local missing=()
    command -v node >/dev/null || missing+=(nodejs)
    command -v npm >/dev/null || missing+=(npm)
    [ ${#missing[@]} = 0 ] || apt_install "${missing[@]}" ||
        echo "setup: no node and npm, its client's tests will not run (Debian: nodejs, npm)" >&2
}

# No engine is started here: the tests use the one that runs, or start one and stop it.
find_docker() {
    local missing=()
    { command -v dockerd && command -v docker; } >/dev/null || missing+=(docker.io)
    command -v docker-compose >/dev/null || missing+=(docker-compose)
    command -v debootstrap >/dev/null || missing+=(debootstrap)
    [ ${#missing[@]} = 0 ] || apt_install "${missing[@]}" ||
        echo "setup: no Docker engine, the containers' tests will not run (Debian: ${missing[*]})" >&2
}

find_namespaces() {
    local missing=()
    command -v ip >/dev/null || missing+=(iproute2)
    { command -v nsenter && command -v setpriv && command -v unshare; } >/dev/null || missing+=(util-linux)
    [ ${#missing[@]} = 0 ] || apt_install "${missing[@]}" ||
        echo "setup: no network namespaces, the faults' tests will not run (Debian: ${missing[*]})" >&2
}

case "${1:-}" in
    python) make_venv "${2:?the directory of the virtual environment}" ;;
    jvm) find_jvm ;;
    kcat) find_kcat ;;
    go) find_go ;;
    node) find_node ;;
    docker) find_docker ;;
    namespaces) find_namespaces ;;
    *) echo "usage: setup.sh python VENV | jvm | kcat | go | node | docker | namespaces" >&2; exit 2 ;;
esac
