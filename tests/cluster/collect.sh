#!/bin/sh
# Hosts that do not share their spool folders: at MPI_Finalize the records of the others lie in OUTPUT.spool, with maps
# and topology beside them, and nothing is left where they were written.
# usage: collect.sh CLUSTER MPIEXEC LIBMPISTAIR SPOOL_DUMP PROGRAM
set -u
cluster=$1 mpiexec=$2 library=$(readlink -f "$3") dump=$(readlink -f "$4") program=$(readlink -f "$5")
[ "$(id -u)" -eq 0 ] || { echo "skipped: only root may make network namespaces"; exit 77; }
"$cluster" run -n 1 -- true || { echo "skipped: no network namespaces here"; exit 77; }
folder=$(mktemp -d "${TMPDIR:-/tmp}/mpistair-collect.XXXXXX")
trap 'rm -rf "$folder"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

fail() {
    echo "FAILED: $*"
    cat "$folder/stderr"
    find "$folder"
    exit 1
}

cat >"$folder/on_host" <<END
#!/bin/sh
export TMPDIR=$folder/\$(cat /proc/sys/kernel/hostname)
mkdir -p "\$TMPDIR"
MPISTAIR_INGEST=0 MPISTAIR_OUTPUT=$folder/t.db RECORDER_EXPECT=$folder LD_PRELOAD=$library exec "\$@"
END
chmod +x "$folder/on_host"
timeout 60 "$cluster" run -n 2 -m 1 -- "$mpiexec" -n 2 "$folder/on_host" "$program" wildcards 2>"$folder/stderr" ||
    fail "the job"
[ "$(find "$folder/node1" -type f | wc -l)" -eq 0 ] || fail "files are left on node1"
[ "$(find "$folder/node0" -name '*.mpispool' | wc -l)" -eq 1 ] || fail "rank 0's spool is not where it was written"
header=$("$dump" "$folder"/t.db.spool/*-1.mpispool | grep '^header rank=1 size=2 leader=1 end=1 ') || fail "rank 1's spool"
echo "$header" | grep -q 'topology=1 maps=1' || fail "rank 1's topology or maps: $header"
echo "$header" | grep -q 'rtt=[1-9]' || fail "rank 1's clock was not measured: $header"
# Readers take the last part of what the header names, and look beside the spool.
strings=$(tr -c '[:print:]' '\n' <"$(ls "$folder"/t.db.spool/*-1.mpispool)" | grep '/[^/]*\.\(xml\|maps\)$')
for file in $strings; do
    [ -s "$folder/t.db.spool/${file##*/}" ] || fail "the header names $file, which is not beside the spool"
done
[ "$(echo "$strings" | wc -l)" -eq 2 ] || fail "the header names other files: $strings"
echo "ok"
