#!/bin/sh
# fuzz.sh FUZZER PYTHON SEEDS.PY GEN_WRAPPERS MPI.TBL SOURCE_ROOT READER: one reader for FUZZ_SECONDS (60).
#
# Begins with the kept corpus, the seeds, and what earlier runs found new in FUZZ_FOLDER/READER/corpus; an input that ends
# the reader is left in FUZZ_FOLDER/READER. FUZZ_FOLDER: default /tmp/mpistair-fuzz.
set -eu

fuzzer=$(realpath "$1") python=$2 seeds=$3 gen_wrappers=$4 table=$5 source_root=$6 reader=$7
folder=${FUZZ_FOLDER:-/tmp/mpistair-fuzz}/$reader
mkdir -p "$folder/corpus" "$folder/seeds" "$folder/files"
"$python" "$seeds" "$gen_wrappers" "$table" "$source_root" "$folder/seeds"
cd "$folder"
export FUZZ_READER="$reader" TMPDIR="$folder/files" UBSAN_OPTIONS="${UBSAN_OPTIONS:-halt_on_error=1:print_stacktrace=1}"
exec "$fuzzer" corpus "seeds/$reader" "$source_root/tests/fuzz/corpus/$reader" -max_total_time="${FUZZ_SECONDS:-60}" \
    -rss_limit_mb=1500 -timeout=60 -max_len=8192 -print_final_stats=1
