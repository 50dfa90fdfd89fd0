#!/bin/sh
# run.sh: the tests on another release of Debian, with its compilers, libraries and MPIs, in a root of that release.
#
#     sh tests/roots/run.sh RELEASE [PART | SUITE | SUITE/NAME] ...      RELEASE: trixie, sid, ..., or minimal
#
# minimal is bookworm with what a build cannot go without, and MPICH, alone; there it is unit and golden if nothing is named.
#
# Makes the root where it is not there yet (by mmdebstrap or debootstrap, from the mirror that this system's apt has), in
# the folder that MPISTAIR_ROOTS names, else /var/cache/mpistair-roots. Then tests/run.sh runs inside: it installs what
# share/prepare.sh lists, builds, and runs what is named, else the suites unit, golden, mpi and jobs. Builds and logs stay
# in the root, in /mpistair/builds. Needs root and Debian; elsewhere it says so, and counts as skipped.
#
# The last line is `N passed, N failed, N skipped`; the exit code is 1 unless all passed or were skipped.
set -eu

source_folder=$(cd "$(dirname "$0")/../.." && pwd)
release=${1:-}
case $release in
'' | -* | */*)
    echo "run.sh: no release of Debian is named. Usage: run.sh RELEASE [SUITE] ..., as run.sh trixie unit" >&2
    exit 2
    ;;
esac
shift
name=$release minimal=
if [ "$release" = minimal ]; then
    release=bookworm minimal=1
    [ $# -gt 0 ] || set -- unit golden
fi
[ $# -gt 0 ] || set -- unit golden mpi jobs
logs=$(mktemp -d "${TMPDIR:-/tmp}/mpistair-roots.XXXXXX")
trap 'rm -rf "$logs"' EXIT
. "$source_folder/share/prepare.sh"
. "$source_folder/tests/roots/root.sh"

need_rights
root=$roots/$name
if [ ! -e "$root" ]; then
    need_release
    new_root "$name"
fi
! command -v ccache >/dev/null || inside sh -c 'command -v ccache || apt-get -qq install -y ccache' >/dev/null 2>&1 || true
inside env MPISTAIR_MINIMAL="$minimal" sh /mpistair/tree/tests/run.sh "$@" </dev/null
