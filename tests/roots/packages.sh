#!/bin/sh
# packages.sh: a release, and its Debian packages, made, installed and used in clean roots of releases of Debian.
#
#     sh tests/roots/packages.sh [RELEASE] ...      default: bookworm trixie
#
# `meson dist` makes the tarball of what is committed. In a root that has the release alone the packages are built of it as
# share/packaging/debian/README.source says, and lintian looks at them. In another such root they are installed, and a
# program that knows nothing of mpistair is recorded, reported and replayed on both MPIs, and the machine measured
# (tests/roots/use.sh). Tarball and packages stay in $MPISTAIR_ROOTS/packages/RELEASE.
#
# Needs root and Debian, as tests/roots/run.sh; elsewhere it says so, and counts as skipped. The last line is
# `N passed, N failed, N skipped`; the exit code is 1 unless all passed or were skipped.
set -eu

source_folder=$(cd "$(dirname "$0")/../.." && pwd)
logs=$(mktemp -d "${TMPDIR:-/tmp}/mpistair-packages.XXXXXX")
trap 'rm -rf "$logs"' EXIT
. "$source_folder/share/prepare.sh"
. "$source_folder/tests/roots/root.sh"
[ $# -gt 0 ] || set -- bookworm trixie
need_rights
passed=0 failed=0

# checked NAME COMMAND ...: counts what a command says by its exit code; its output is shown where it failed.
checked() {
    step "$1"
    if logged "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        return 1
    fi
}

# make_tarball: $logs/dist/meson-dist/mpistair-VERSION.tar.gz
make_tarball() {
    meson setup -Dtests=false "$logs/dist" "$source_folder" &&
        meson dist -C "$logs/dist" --no-tests --formats gztar --allow-dirty || return
    # All that is in the repository is in the release.
    git -C "$source_folder" ls-files | sort >"$logs/committed"
    tar -tzf "$logs"/dist/meson-dist/mpistair-*.tar.gz | sed -n 's|^[^/]*/\(.*[^/]\)$|\1|p' | sort >"$logs/released"
    diff "$logs/committed" "$logs/released"
}

# build_packages_of RELEASE: in a root of its own, as a user who has the tarball.
build_packages_of() {
    new_root "$1-build" && mkdir "$root/work" && cp "$logs"/dist/meson-dist/mpistair-*.tar.gz "$root/work/" || return
    inside env DEB_BUILD_OPTIONS="${DEB_BUILD_OPTIONS:-}" sh -euxc '
        apt-get -qq update
        apt-get -qq install -y --no-install-recommends build-essential lintian ccache
        cd /work
        tarball=$(ls)
        version=${tarball#mpistair-} version=${version%.tar.gz}
        mv "$tarball" "mpistair_$version.orig.tar.gz"
        tar -xf "mpistair_$version.orig.tar.gz"
        cd "mpistair-$version"
        cp -r share/packaging/debian debian
        apt-get -qq build-dep -y --no-install-recommends ./
        dpkg-buildpackage -us -uc
        for mpi in openmpi mpich; do
            "mpicc.$mpi" -g -O2 -o "../culprit-$mpi" tests/apps/culprit.c
        done' || return
    rm -rf "$roots/packages/$1"
    mkdir -p "$roots/packages/$1" &&
        find "$root/work" -maxdepth 1 -type f -exec cp {} "$roots/packages/$1/" \;
}

lint_packages_of() {
    root=$roots/$1-build
    inside sh -euxc 'lintian --fail-on error /work/*.changes'
}

install_packages_of() {
    new_root "$1-installed" && mkdir "$root/work" &&
        cp "$roots/packages/$1"/*.deb "$roots/packages/$1"/culprit-* "$root/work/" || return
    inside sh -euxc 'apt-get -qq update
        apt-get -qq install -y /work/mpistair_*.deb /work/mpistair-openmpi_*.deb /work/mpistair-mpich_*.deb'
}

remove_packages_of() {
    inside sh -euxc 'apt-get -qq purge -y mpistair mpistair-openmpi mpistair-mpich
        left=$(find /usr /etc /var -path "*mpistair*" -not -path "/var/cache/apt/*" -not -path /etc/apt/\* -not -path /etc/dpkg/\*)
        echo "left behind: $left"
        [ -z "$left" ]'
}

need_packages $build_packages $part_packages $openmpi_packages $mpich_packages git
if checked tarball make_tarball; then
    for release; do
        need_release
        if checked "$release-build" build_packages_of "$release"; then
            checked "$release-lintian" lint_packages_of "$release" || true
            if checked "$release-install" install_packages_of "$release"; then
                root=$roots/$release-installed
                for mpi in openmpi mpich; do
                    checked "$release-use-$mpi" inside sh /mpistair/tree/tests/roots/use.sh "$mpi" "/work/culprit-$mpi" || true
                done
                checked "$release-remove" remove_packages_of "$release" || true
            fi
        fi
        rm -rf "$roots/$release-build" "$roots/$release-installed"
    done
fi
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
