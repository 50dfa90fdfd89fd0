#!/bin/sh
# make_mpi4py: Debian's source package of mpi4py, built for one MPI into a folder of its own.
#
#     make_mpi4py.sh MPI FOLDER
#
# Debian builds it for its default MPI only. The source comes through apt with lists of its own, so that the system's are
# not changed. Ends with the reason on stderr where that does not work (no network, no source, another system).
set -eu
mpi=$1
folder=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/mpistair-mpi4py.XXXXXX")
trap 'rm -rf "$work"' EXIT

mkdir -p "$work/lists/partial" "$work/source"
for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ -e "$list" ] && sed -n 's/^deb \(.*\)/deb-src \1/p' "$list"
done >"$work/sources.list" || true
for list in /etc/apt/sources.list.d/*.sources; do
    if [ -e "$list" ]; then
        sed 's/^Types:.*/Types: deb-src/' "$list"
        echo
    fi
done >"$work/more.sources"
[ -s "$work/sources.list" ] && list=$work/sources.list || list=$work/more.sources
apt="-o Dir::Etc::SourceList=$list -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists=$work/lists"
apt-get $apt update
cd "$work/source"
apt-get $apt source --download-only mpi4py
dpkg-source --no-check -x ./*.dsc tree
cd tree
MPICC=mpicc.$mpi /usr/bin/python3 setup.py build --build-lib "$folder.new"
rm -rf "$folder"
mv "$folder.new" "$folder"
