#!/bin/sh
# quickstart: from a fresh clone on Debian or Ubuntu to the first report, in under three minutes on two cores.
#
#     sh share/quickstart.sh [FOLDER]
#
# Installs what is missing (as root; else it says the one command to run), builds in FOLDER (build), no tests, measures this
# machine briefly, and records a job of as many ranks as there are processors, which exchange halos. Its last rank is late at
# one line (tests/apps/culprit.c); the report names both, and holds the time in messages against the laws of the models. All
# logs and results are kept in FOLDER/quickstart.
set -eu

source_folder=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-$source_folder/build}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
results=$folder/quickstart
logs=$results
mkdir -p "$logs"
. "$source_folder/share/prepare.sh"
step "Logs and results: $results"

# At most sixteen ranks: more show nothing new.
ranks=$(nproc)
[ "$ranks" -ge 2 ] || ranks=2
[ "$ranks" -le 16 ] || ranks=16

# The MPI that is installed; Open MPI where there is none.
if is_installed libmpich-dev && is_installed mpich && ! is_installed libopenmpi-dev; then
    mpi=mpich launcher="mpiexec.mpich -n $ranks"
    need_packages $build_packages $part_packages $mpich_packages
else
    mpi=openmpi launcher="mpiexec.openmpi --oversubscribe --bind-to none -n $ranks"
    need_packages $build_packages $part_packages $openmpi_packages
fi

step "Building in $folder"
build "$folder" quickstart -Dtests=false || stop "the build failed"
mpistair=$folder/mpistair

cd "$results"
step "Calibrating this machine briefly: mpistair calibrate --quick -o machine.tbl -- $launcher"
# Calibrate even on a busy machine; this is only a demo.
logged calibrate env MPISTAIR_DISTURBED=1 "$mpistair" calibrate --quick --name here -o machine.tbl -- $launcher ||
    stop "the calibration failed"

# Compiled like any program of your own, without mpistair; -g gives source lines.
step "Compiling a program: mpicc -g -O2 -o culprit culprit.c"
logged compile "mpicc.$mpi" -g -O2 -o culprit "$source_folder/tests/apps/culprit.c" || stop "the program could not be compiled"
step "Recording, predicting: mpistair run --machine machine.tbl -o culprit.db -- $launcher ./culprit halo 100"
rm -f culprit.db
logged culprit "$mpistair" run --machine machine.tbl -o culprit.db -- $launcher ./culprit halo 100 || stop "the recording failed"
! grep 'nothing was predicted' "$logs/culprit.log" ||
    step "Others kept this machine too busy to be measured ($logs/calibrate.log): run this again for the laws"

step "Reporting: mpistair report culprit.db"
"$mpistair" report culprit.db || stop "the report failed"
"$mpistair" report culprit.db --format html -o report.html || stop "the page of the report failed"
step "Done. The full report: $mpistair report $results/culprit.db --all
   As a page for a browser: $results/report.html
   A job of your own (man mpistair, README.md):
   $mpistair run --machine $results/machine.tbl -o trace.db -- $launcher ./app
   $mpistair report trace.db"
