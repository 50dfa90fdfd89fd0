#!/bin/sh
# fuzz.sh FUZZER PYTHON SEEDS.PY GEN_WRAPPERS MPI.TBL SOURCE_ROOT READER: one reader for FUZZ_SECONDS (60).
#
# Begins with the kept corpus, the seeds, and what earlier runs found new in FUZZ_FOLDER/READER/corpus; an input that ends
# the reader is left in FUZZ_FOLDER/READER. FUZZ_FOLDER: default /tmp/mpistair-fuzz. What the readers write lies in memory,
# where no flush waits for a disk. Weighing inputs by their rare features (-entropic) took a third of the time.
set -eu

fuzzer=$(realpath "$1") python=$2 seeds=$3 gen_wrappers=$4 table=$5 source_root=$6 reader=$7
folder=${FUZZ_FOLDER:-/tmp/mpistair-fuzz}/$reader
mkdir -p "$folder/corpus" "$folder/seeds"
"$python" "$seeds" "$gen_wrappers" "$table" "$source_root" "$folder/seeds"
cd "$folder"
TMPDIR=$(mktemp -d /dev/shm/mpistair-fuzz-XXXXXX 2>/dev/null || mktemp -d)
trap 'rm -rf "$TMPDIR"' EXIT
trap 'exit 1' HUP INT TERM
export FUZZ_READER="$reader" TMPDIR UBSAN_OPTIONS="${UBSAN_OPTIONS:-halt_on_error=1:print_stacktrace=1}"
set --
# libotf2 believes the counts of an archive, and takes it well that there is no such memory.
[ "$reader" != otf2 ] || export ASAN_OPTIONS="${ASAN_OPTIONS:-allocator_may_return_null=1}"
[ ! -s "seeds/$reader.dict" ] || set -- "-dict=seeds/$reader.dict"
"$fuzzer" corpus "seeds/$reader" "$source_root/tests/fuzz/corpus/$reader" -max_total_time="${FUZZ_SECONDS:-60}" \
    -rss_limit_mb=1500 -timeout=60 -max_len=8192 -entropic=0 -print_final_stats=1 "$@"
