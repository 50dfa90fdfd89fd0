#!/bin/sh
# quickstart: from a fresh clone on Debian or Ubuntu to the first report, in under five minutes.
#
#     sh share/quickstart.sh [FOLDER]
#
# Installs what is missing (as root; else it says the one command to run), builds in FOLDER (build), measures this machine
# briefly, records conjugate gradients on an unstructured mesh (tests/apps/halo.c), predicts its communication time with
# each model, replays the whole run and prints the report. All logs and results are kept in FOLDER/quickstart.
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

# Whichever MPI is here; Open MPI where there is none.
if is_installed libmpich-dev && is_installed mpich && ! is_installed libopenmpi-dev; then
    mpi=mpich launcher='mpiexec.mpich -n 2'
    need_packages $build_packages $mpich_packages
else
    mpi=openmpi launcher='mpiexec.openmpi --oversubscribe --bind-to none -n 8'
    need_packages $build_packages $openmpi_packages
fi

step "Building in $folder"
build "$folder" quickstart || stop "the build failed"
mpistair=$folder/mpistair

cd "$results"
step "Measuring this machine, briefly: mpistair calibrate --quick -o machine.tbl -- $launcher"
# Whatever else runs on this computer: these are first steps.
logged calibrate env MPISTAIR_DISTURBED=1 "$mpistair" calibrate --quick --name here -o machine.tbl -- $launcher || stop "the calibration failed"

step "Recording: mpistair run -o halo.db -- $launcher halo"
rm -f halo.db
logged halo "$mpistair" run -o halo.db -- $launcher "$folder/tests/apps/halo-$mpi" --points 100000 ||
    stop "the recording failed"
sed 's/^/   /' halo.log

step "Predicting: mpistair predict halo.db --machine machine.tbl --model all"
logged predict "$mpistair" predict halo.db --machine machine.tbl --model all || stop "the prediction failed"

step "Replaying the whole run: mpistair replay halo.db --machine machine.tbl"
logged replay "$mpistair" replay halo.db --machine machine.tbl || stop "the replay failed"

step "Reporting: mpistair report halo.db"
"$mpistair" report halo.db || stop "the report failed"
step "Done. Try it on a job of your own:
   $mpistair run -o trace.db -- $launcher ./app
   $mpistair predict trace.db --machine $results/machine.tbl
   $mpistair replay trace.db --machine $results/machine.tbl
   $mpistair report trace.db"
