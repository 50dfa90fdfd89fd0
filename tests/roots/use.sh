#!/bin/sh
# use.sh: what README.md tells a new user to run, with an installed mpistair; tests/roots/packages.sh runs it in clean roots.
#
#     use.sh MPI PROGRAM      PROGRAM: tests/apps/culprit.c, whose last rank is late, compiled for that MPI
set -eux
mpi=$1 program=$2
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
launcher="mpiexec.$mpi -n 2"
[ "$mpi" = mpich ] || launcher="mpiexec.openmpi --oversubscribe --bind-to none -n 2"
cd "$(mktemp -d)"

# says TEXT: so does the output of the command before.
says() {
    grep -q "$1" out || { cat out; echo "expected: $1"; exit 1; }
}

mpistair --version
mpistair doctor >out 2>&1 || { cat out; exit 1; }
MPISTAIR_DISTURBED=1 timeout 300 mpistair calibrate --quick -o here.tbl --name here -- $launcher
mpistair machine check here.tbl
timeout 120 mpistair run --machine here.tbl -o trace.db -- $launcher "$program" halo 20
mpistair report trace.db >out
says "recording complete"
says "rank 1 comes late to MPI_Isend .*culprit.c:[0-9]* *)"
says "on here, "
mpistair predict trace.db --machine here.tbl
mpistair replay trace.db --machine here.tbl
mpistair report trace.db --section whole-run,models,ranks >out
mpistair report trace.db --format html -o report.html
grep -q vega report.html
mpistair query trace.db late_senders
mpistair export trace.db --to perfetto -o run.json
mpistair export trace.db --to otf2 -o run.otf2
mpistair diff trace.db trace.db
LD_PRELOAD=libmpistair.so MPISTAIR_OUTPUT=$PWD/by_hand.db MPISTAIR_INGEST=0 timeout 120 $launcher "$program" send 5
