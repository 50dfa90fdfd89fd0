#!/bin/sh
# device.sh: a machine that is lent for minutes, measured: one with cores for all ranks, perhaps with a GPU of NVIDIA.
#
#     [OUT=FOLDER] sh tests/bench/device.sh [RANKS [SECONDS]]     default: its cores, 16 at most; 540 s in all
#     sh tests/bench/device.sh pack                               before, on Debian 12, for a machine without network
#
# The steps come in the order of their worth. Each has a time limit and leaves what it has; what fails ends no other one:
#     build      release, what the other steps need
#     calibrate  latencies and BW(n) for n up to RANKS
#     patterns   T Algorithm 2 (share/doc/MODELS.md, Papers): irregular patterns, incast, outcast, by each model (accuracy.py)
#     runs       whole runs replayed, and the error of each law (run_accuracy.py same)
#     memory     memory contention, 1, 2, ... computing cores, all but those of receiver and sender
#     gpu        copies and ways between GPUs, and how near predictions come (gpu_accuracy.py)
#     overhead   what recording adds to a call
# In OUT (default: build-device/out), also where this is killed: summary.txt has how each step ended, its seconds and what it
# printed; samples are CSV files; tables and logs are in more.tar.gz. The exit code is 1 if a step failed.
#
# What is not installed comes out of packages in build-device/packages, which `pack` fetches (Open MPI and the headers of a
# build; files that the machine has stay as they are), else by apt-get. A compiler, meson and Python have to be there.
set -u
source_folder=$(cd "$(dirname "$0")/../.." && pwd)
work=$source_folder/build-device build=$source_folder/build-device/tree bench=$source_folder/tests/bench
packages='openmpi-bin libopenmpi-dev libhwloc-dev libsqlite3-dev libcmocka-dev pkg-config'

# Of what these packages depend on, what a machine with a compiler may lack.
pack() {
    mkdir -p "$work/packages/partial" && cd "$work/packages" || return
    apt-get -qq --print-uris -o Dir::State::status=/dev/null -o Dir::Cache::archives="$work/packages" install \
        --no-install-recommends $packages | awk '{ print $2 }' | sed 's/_.*//' |
        grep -E '^(lib)?(openmpi|hwloc(15|-dev)|sqlite3|cmocka|pkg|pmix2|ucx|fabric|event|nl-|ibverbs1|rdmacm|psm|munge|numa1|ltdl7|binutils$)' |
        xargs apt-get -qq download && du -sh .
}

say() { printf '%s\n' "$*" | tee -a "$work/summary"; }
elapsed() { echo $(($(date +%s) - begin_s)); }

missing() {
    for command in cc python3 ninja meson pkg-config mpiexec.openmpi; do
        command -v "$command" >/dev/null || printf ' %s' "$command"
    done
    for library in ompi-c sqlite3 hwloc cmocka; do
        pkg-config --exists "$library" 2>/dev/null || printf ' %s.pc' "$library"
    done
}

# Installs what is missing; fails where something still is.
prepare() {
    [ -n "$(missing)" ] || return 0
    say "missing:$(missing)"
    if ls "$work"/packages/*.deb >/dev/null 2>&1; then
        say "unpacking build-device/packages"
        for package in "$work"/packages/*.deb; do
            dpkg-deb --fsys-tarfile "$package" | tar -x -C / --skip-old-files --keep-directory-symlink
        done
        ldconfig
    else
        say "trying apt-get"
        DEBIAN_FRONTEND=noninteractive timeout 90 sh -c "apt-get -qq update && apt-get -qq install -y --no-install-recommends \
            gcc libc6-dev meson ninja-build $packages" >"$work/apt.log" 2>&1 </dev/null || say "$(tail -n 1 "$work/apt.log")"
    fi
    [ -z "$(missing)" ] || { say "STILL MISSING:$(missing)" && false; }
}

# What a step runs, in a process of its own that can be ended; $2: seconds that it measures for.
run_step() {
    mpistair=$build/mpistair
    case $1 in
    build)
        [ -e "$build/build.ninja" ] || meson setup --buildtype=release -Dmpich=disabled "$build" "$source_folder" || return
        ninja -C "$build" mpistair interpose/preload/libmpistair.so interpose/backend/mpistair-backend-openmpi.so \
            calibrate/mpistair-benchmark-openmpi tests/bench/overhead-openmpi tests/apps/algorithm2-openmpi \
            tests/apps/steps-openmpi tests/apps/halo-openmpi ;;
    calibrate)
        "$mpistair" calibrate --seconds "$2" --restart --name device -o machine.tbl -- $mpiexec -n "$ranks" &&
            "$mpistair" machine check machine.tbl && "$mpistair" machine show machine.tbl | grep -vE "queue_step|overhead" ;;
    patterns)
        python3 "$bench/accuracy.py" node "$mpistair" "$build/tests/apps/algorithm2-openmpi" mpiexec.openmpi --ranks "$ranks" \
            --bind "$bind" --table machine.tbl --patterns 6 --pairs-step $((ranks < 6 ? 0 : 4)) --folder patterns ;;
    runs)
        python3 "$bench/run_accuracy.py" same "$mpistair" "$build/tests/apps" --mpi openmpi:mpiexec.openmpi --ranks "$ranks" \
            --bind "$bind" --table machine.tbl --length 4 --laws --keep runs ;;
    memory)
        "$mpistair" calibrate --memory --allow-cpu-copy --seconds "$2" --restart -o memory.tbl -- \
            mpiexec.openmpi --oversubscribe --bind-to none -n 2 &&
            "$mpistair" predict --memory --machine memory.tbl &&
            "$mpistair" predict --memory --machine memory.tbl --samples memory.raw.csv ;;
    gpu)
        "$mpistair" calibrate --gpu also --seconds "$2" --restart -o gpu.tbl -- $mpiexec -n "$ranks" && grep gpu gpu.tbl &&
            python3 "$bench/gpu_accuracy.py" "$mpistair" --raw gpu.raw.csv ;;
    overhead)
        MPISTAIR_INGEST=0 MPISTAIR_SPOOL=$work/spools MPISTAIR_SPOOL_LIMIT=4G mpiexec.openmpi -n 1 env \
            LD_PRELOAD="$build/interpose/preload/libmpistair.so" "$build/tests/bench/overhead-openmpi" ;;
    esac
}

# step NAME LIMIT [SECONDS]: for 540 s in all; the limit is at most what is left.
step() {
    limit=$(($2 * total_s / 540)) left=$((total_s - $(elapsed) - 5)) from_s=$(elapsed) code=0
    [ "$limit" -le "$left" ] || limit=$left
    [ "$limit" -ge 10 ] || { say "== $1: skipped: no time is left" && return; }
    timeout -k 5 "$limit" sh "$bench/device.sh" step "$1" "$((${3:-0} * total_s / 540))" >"$work/$1.log" 2>&1 </dev/null || code=$?
    case $code in 0) how=ok ;; 124 | 137) how="CUT OFF at its limit" ;; *) how="FAILED with exit code $code" ;; esac
    say "== $1: $how, $(($(elapsed) - from_s)) s"
    [ "$1 $code" = "build 0" ] || tail -n 45 "$work/$1.log" | cut -c -200 | sed 's/^/   /' | tee -a "$work/summary"
    collect
    [ $code -eq 0 ] || failed=1
    return $code
}

collect() {
    cp "$work/summary" "$OUT/summary.txt"
    for samples in *.raw.csv *.raw.csv.part *.raw.csv.disturbed patterns/times.csv; do
        [ ! -e "$samples" ] || cp "$samples" "$OUT/$(basename "${samples%.csv*}" | sed 's/times/patterns/').csv"
    done
    (cd "$work" && tar -czf "$OUT/more.tar.gz" --exclude='*.raw.csv*' --exclude='*.db' --exclude='*.spool' run ./*.log) 2>/dev/null
}

case ${1:-} in
pack) pack; exit ;;
step) run_step "$2" "$3"; exit ;;
esac
begin_s=$(date +%s) failed=0 cores=$(lscpu -p=CORE,SOCKET | grep -v '^#' | sort -u | wc -l)
ranks=${1:-$(nproc)} total_s=${2:-540} bind=none
[ $# -gt 0 ] || [ "$ranks" -le 16 ] || ranks=16
[ "$ranks" -gt "$cores" ] || bind=core
mpiexec="mpiexec.openmpi --oversubscribe --bind-to $bind"
export ranks bind mpiexec OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 MPISTAIR_DISTURBED=1
command -v ssh >/dev/null || export OMPI_MCA_plm_rsh_agent=false # Open MPI ends without one, also where it needs none
PATH=$PATH:$(python3 -c 'import sys; print(sys.prefix)')/bin # where meson lies beside a Python of its own
mkdir -p "${OUT:=$work/out}" "$work"
OUT=$(cd "$OUT" && pwd)
rm -rf "$work/run" "$work/spools" "$work/summary" "$work"/*.log
mkdir "$work/run" && cd "$work/run" || exit
say "$(date -u +%FT%H:%M) $(uname -sr), $(lscpu | sed -n 's/^Model name: *//p'), $cores cores, $ranks ranks bound to $bind"
say "load $(cut -d ' ' -f 1 /proc/loadavg), GPU: $(nvidia-smi -L 2>/dev/null || echo none)"
if ! prepare || ! step build 200; then
    failed=1
else
    step calibrate 95 57
    for name in patterns runs; do
        if [ -e machine.tbl ]; then step "$name" 90; else say "== $name: skipped: no table of this machine"; fi
    done
    step memory 80 40
    if [ -e /dev/nvidiactl ]; then step gpu 110 75; else say "== gpu: skipped: no GPU of NVIDIA (/dev/nvidiactl)"; fi
    step overhead 45
fi
say "$(elapsed) s in all"
collect
exit $failed
