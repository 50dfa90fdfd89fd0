#!/bin/sh
# run.sh: libFuzzer over everything that reads a file, with AddressSanitizer and UndefinedBehaviorSanitizer, from a fresh
# clone on Debian or Ubuntu. Not among the tests of tests/run.sh, which only read the kept inputs (corpus/) again.
#
#     sh tests/fuzz/run.sh [FOLDER [SECONDS [READER ...]]]
#
# FOLDER (build-fuzz) gets the build, the logs and what was found; each reader has SECONDS (60), one after the other.
# Readers: arrivals database dumpi goal machine maps memory_samples node_topology otf2 pattern placement raw_file resume
# samples spool sweep sweep_rows tit topology.
# An input that is worth keeping goes to corpus/READER, small: `FUZZ_READER=NAME FOLDER/fuzz/tests/fuzz/fuzzer
# -minimize_crash=1 FILE`.
set -eu

source_folder=$(cd "$(dirname "$0")/../.." && pwd)
folder=${1:-$source_folder/build-fuzz}
export FUZZ_SECONDS="${2:-60}"
[ $# -lt 3 ] && set -- || shift 2
mkdir -p "$folder/logs"
folder=$(cd "$folder" && pwd)
logs=$folder/logs
export FUZZ_FOLDER="$folder"
. "$source_folder/share/prepare.sh"
need_packages $build_packages $part_packages $openmpi_packages $mpich_packages $test_packages $fuzz_packages
step "Build: $folder/fuzz"
[ -e "$folder/fuzz/build.ninja" ] ||
    CC=clang logged fuzz-setup meson setup -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false -Dopenmpi=disabled \
        "$folder/fuzz" "$source_folder"
logged fuzz-build ninja -C "$folder/fuzz" fuzzers
tests=
for reader; do
    tests="$tests fuzz_$reader"
done
step "$FUZZ_SECONDS s a reader"
exec meson test -C "$folder/fuzz" --no-rebuild --num-processes 1 --suite fuzz-coverage --verbose $tests
