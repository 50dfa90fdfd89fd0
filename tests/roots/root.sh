# Sourced by tests/roots/run.sh and tests/roots/packages.sh: a root of another Debian release, and commands inside it.
#
# Before sourcing: share/prepare.sh, and `source_folder`, the root of the source tree. A root is a folder with an installed
# system. The one of a release alone is made once and kept in MPISTAIR_ROOTS; others are copies of it. Commands run in a
# root by chroot, in a mount namespace and a PID namespace of their own: whatever way they end, nothing stays mounted and
# nothing keeps running.

roots=${MPISTAIR_ROOTS:-/var/cache/mpistair-roots}

# without REASON ...: ends the script as a test that was skipped, with the closing line of tests/run.sh.
without() {
    echo "${0##*/}: skipped: $*"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}

# own_mirror: where this system's own packages come from; that mirror has the other releases, too.
own_mirror() {
    apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
        sed -n "s/^$(. /etc/os-release && echo "${VERSION_CODENAME:-}") main //p" | head -n 1
}

# make_root RELEASE FOLDER
make_root() {
    if command -v mmdebstrap >/dev/null; then
        logged "make-$1" mmdebstrap --variant=apt --include=ca-certificates \
            --aptopt='Acquire::Check-Valid-Until "false"' "$1" "$2" "$mirror"
    else
        logged "make-$1" debootstrap --variant=minbase --include=ca-certificates "$1" "$2" "$mirror"
    fi
}

# set_up_root FOLDER: what apt and dpkg of a root need to know, and where commands find tree, builds and compiler's cache.
set_up_root() {
    {
        # A mirror may be a copy of some day, whose Release file says that it is out of date.
        echo 'Acquire::Check-Valid-Until "false";'
        apt-config dump --format '%f "%v";%n' Acquire::http::Proxy Acquire::https::Proxy
    } >"$1/etc/apt/apt.conf.d/90mpistair"
    # A root that a power cut damages is made anew.
    echo force-unsafe-io >"$1/etc/dpkg/dpkg.cfg.d/90mpistair"
    mkdir -p "$1/mpistair/tree" "$1/mpistair/builds" "$1/mpistair/ccache"
}

# need_rights: ends the script where this process may not use roots.
need_rights() {
    [ "$(id -u)" -eq 0 ] || without "a root of another system needs root"
    unshare --mount --propagation private --pid --fork sh -c 'mount -t proc proc /proc && mount -t tmpfs tmpfs /tmp' 2>/dev/null ||
        without "this system lets nobody mount in a namespace of their own"
}

# need_release: makes the root $roots/$release-clean, which has the release alone, where it is not there yet. Ends the script
# where that cannot be.
need_release() {
    [ ! -e "$roots/$release-clean" ] || return 0
    [ "$(. /etc/os-release && echo "$ID")" = debian ] || without "mirrors of this system have no $release"
    mirror=$(own_mirror)
    [ -n "$mirror" ] || without "apt's sources of this system name no mirror that has $release"
    command -v mmdebstrap >/dev/null || command -v debootstrap >/dev/null || need_packages mmdebstrap
    step "Making $roots/$release-clean from $mirror"
    mkdir -p "$roots"
    rm -rf "$roots/$release-clean.new"
    make_root "$release" "$roots/$release-clean.new" || without "the root could not be made"
    set_up_root "$roots/$release-clean.new"
    root=$roots/$release-clean.new
    inside apt-get -qq update || without "the mirror $mirror cannot be reached"
    mv "$roots/$release-clean.new" "$roots/$release-clean"
}

# new_root NAME: makes $root, the root of that name, a copy of the release alone.
new_root() {
    root=$roots/$1
    rm -rf "$root" "$root.new" && cp -a "$roots/$release-clean" "$root.new" && mv "$root.new" "$root"
}

# inside COMMAND ...: runs it in $root, with nothing of this environment but what is named here. The tree is
# /mpistair/tree, read-only; compilations come from this system's ccache, where it has one.
inside() {
    mkdir -p "$roots/$release-packages/partial"
    unshare --mount --propagation private --pid --fork --kill-child sh -euc '
        root=$1 tree=$2 packages=$3 cache=$4
        shift 4
        mount --bind "$root" "$root" # else / in it is no mount, as those want who make a namespace in turn
        mount -t proc proc "$root/proc"
        mount --rbind /sys "$root/sys"
        mount --rbind /dev "$root/dev"
        mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm" # names in it have process ids, which mean others here
        mount -t tmpfs -o mode=755 tmpfs "$root/run"
        mount --bind "$tree" "$root/mpistair/tree"
        mount -o remount,bind,ro "$root/mpistair/tree"
        mount --bind "$packages" "$root/var/cache/apt/archives"
        [ -z "$cache" ] || mount --bind "$cache" "$root/mpistair/ccache"
        cp /etc/resolv.conf /etc/hosts "$root/etc/"
        cd /
        exec chroot "$root" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
            LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive MPISTAIR_BUILDS=/mpistair/builds \
            CCACHE_DIR=/mpistair/ccache CCACHE_BASEDIR=/mpistair CCACHE_NOHASHDIR=1 "$@"
    ' inside "$root" "$source_folder" "$roots/$release-packages" "$(ccache --get-config cache_dir 2>/dev/null || true)" "$@"
}
