# Sourced by share/quickstart.sh, tests/run.sh and tests/fuzz/run.sh: packages, builds, and commands whose output goes to a log.
#
# Before sourcing: `source_folder` is the root of the source tree, `logs` the folder for the logs.

# What a build needs; what it can go without (lines of call sites, meshes and the search for places, pictures, stacks, OTF2),
# as meson's summary and `mpistair doctor` then say; what records a job on each MPI; what the tests need beyond (and
# tests/fuzz/run.sh): packages of Debian and Ubuntu. The benchmark `applications` names the
# packages of what it leaves out because it is not installed; no test needs them. This is the only list.
build_packages='gcc libc6-dev meson ninja-build pkg-config python3 libsqlite3-dev libhwloc-dev libcmocka-dev'
part_packages='libdw-dev libscotch-dev libjs-vega libunwind8 libopen-trace-format2-dev'
openmpi_packages='openmpi-bin libopenmpi-dev'
mpich_packages='mpich libmpich-dev'
fuzz_packages='clang libclang-rt-dev'
test_packages="gfortran clang clang-format libomp-dev sqlite3 iproute2 util-linux mount lammps python3-mpi4py python3-dev cython3 dpkg-dev
    g++ zsh otf2-tools python3-otf2 python3-six graphviz
    python3-pandas python3-matplotlib environment-modules slurmctld slurmd slurm-client munge"
# The test of HTML pages is skipped where the system has no Chromium as a package, as Ubuntu.
! apt-cache show chromium-headless-shell >/dev/null 2>&1 || test_packages="$test_packages chromium-headless-shell"

# Open MPI refuses root otherwise; containers and test machines often have no other user.
if [ "$(id -u)" -eq 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

step() {
    echo "== $*"
}

stop() {
    echo "${0##*/}: $*" >&2
    exit 1
}

# logged NAME COMMAND ...: its output goes to $logs/NAME.log; returns as the command did, after the log's end if it failed.
logged() (
    log=$logs/$1.log
    shift
    code=0
    "$@" >"$log" 2>&1 </dev/null || code=$?
    if [ $code -ne 0 ]; then
        echo "   failed with exit code $code: $*" >&2
        echo "   the end of $log:" >&2
        tail -n 25 "$log" | sed 's/^/   | /' >&2
    fi
    exit $code
)

is_installed() {
    [ "$(dpkg-query --show --showformat '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# need_packages PACKAGE ...: installs what is missing, or says how.
need_packages() {
    command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
        stop "this script needs Debian or Ubuntu; elsewhere install the equivalents of these packages, then use meson: $*"
    missing=
    for package; do
        is_installed "$package" || missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    [ "$(id -u)" -eq 0 ] || stop "packages are missing. Install them as below, then run this script again:
    sudo apt-get install -y --no-install-recommends$missing"
    step "Installing packages:$missing"
    export DEBIAN_FRONTEND=noninteractive
    logged apt-update apt-get update || stop "the list of packages could not be updated"
    logged apt-install apt-get install -y --no-install-recommends $missing || stop "the packages could not be installed"
}

# configure FOLDER NAME [OPTION ...]: configures FOLDER where it is new; the log is NAME-setup.
configure() {
    [ -e "$1/build.ninja" ] || (
        build_folder=$1 name=$2
        shift 2
        logged "$name-setup" meson setup "$@" "$build_folder" "$source_folder"
    )
}

# build FOLDER NAME [OPTION ...]: configures FOLDER and builds it; the logs are NAME-setup and NAME-build. A terminal shows
# how many steps of the build are done.
build() {
    configure "$@" || return
    watcher=
    if [ -t 2 ]; then
        while sleep 1; do
            printf '\r   %s ' "$(grep -o '^\[[0-9/]*\]' "$logs/$2-build.log" 2>/dev/null | tail -n 1)" >&2
        done &
        watcher=$!
    fi
    code=0
    logged "$2-build" ninja -C "$1" all meson-test-prereq || code=$?
    if [ -n "$watcher" ]; then
        kill "$watcher" 2>/dev/null || true
        printf '\r\033[K' >&2
    fi
    return $code
}
