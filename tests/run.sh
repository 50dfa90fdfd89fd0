#!/bin/sh
# run.sh: all checks, from a fresh clone on Debian or Ubuntu; or those that are named.
#
#     sh tests/run.sh [PART | SUITE | SUITE/NAME] ...
#
# Installs what is missing (as root; else it says the one command to run), then runs all parts but roots, or those named:
#     format      clang-format has nothing to change
#     gcc         a build for both MPIs, warnings as errors; all tests (that of the recorder's threads has
#                 ThreadSanitizer in it)
#     clang       a build by clang, warnings as errors, with AddressSanitizer and UndefinedBehaviorSanitizer
#     sanitized   that build, and its tests that need no MPI job
#     roots       in a root of Debian's trixie, with its newer compiler and MPIs: a build, and the tests recorder, matrix and
#                 halo (tests/roots/run.sh, which does more). Half an hour, so only where it is named, as in .ci/run; it
#                 is skipped where all before took over 45 minutes
# A SUITE (unit, golden, models, mpi, jobs, fuzz, ...) runs those tests of the gcc build alone, SUITE/NAME a single one, as
# in `sh tests/run.sh golden/halo 'mpi/matrix mpich'`. An unknown name ends it with exit code 2 and the names that there are.
#
# Builds and logs are in build-tests, or in the folder that MPISTAIR_BUILDS names; so does an argument that begins with /, ./
# or ../. At the end come the time by suite and the slowest tests. The last line is `N passed, N failed, N skipped`; the exit
# code is 1 unless all passed or were skipped.
#
# With MPISTAIR_MINIMAL=1 only what a build cannot go without and MPICH are installed (tests/roots/run.sh minimal).
set -eu

source_folder=$(cd "$(dirname "$0")/.." && pwd)
folder=${MPISTAIR_BUILDS:-$source_folder/build-tests}
parts='format gcc clang sanitized roots'
# As the meson.build files name them; of two of them nothing is a test.
suites=$(grep -rhoE --include=meson.build "suite: *(\[[^]]*\]|'[^']*')" "$source_folder/tests" | grep -oE "'[^']+'" |
    grep -vxE "'(bench|fuzz-coverage)'" | sort -u | xargs)

# has LIST WORD: the word is one of the list.
has() {
    case " $1 " in *" $2 "*) [ -n "$2" ] ;; *) false ;; esac
}

unknown() {
    printf '%s\n' "run.sh: $1" "$2" >&2
    exit 2
}

chosen_parts= chosen_suites= chosen_tests=
for argument; do
    case $argument in
    /* | ./* | ../*) folder=$argument ;;
    */*)
        has "$suites" "${argument%%/*}" || unknown "no suite '${argument%%/*}'" "suites: $suites"
        chosen_tests=yes
        ;;
    *)
        if has "$parts" "$argument"; then
            chosen_parts="$chosen_parts $argument"
        elif has "$suites" "$argument"; then
            chosen_suites="$chosen_suites --suite $argument"
        else
            unknown "'$argument' is neither a part nor a suite" "parts: $parts; suites: $suites; or SUITE/NAME"
        fi
        ;;
    esac
done
[ -n "$chosen_parts$chosen_suites$chosen_tests" ] || chosen_parts=${parts% roots}

mkdir -p "$folder/logs"
folder=$(cd "$folder" && pwd)
logs=$folder/logs
. "$source_folder/share/prepare.sh"
passed=0 failed=0 skipped=0
times=$logs/times.jsonl
: >"$times"
begin_s=$(date +%s)

# Open MPI takes its layer ob1 on most machines; told so, its ranks start in two thirds of the time.
export OMPI_MCA_pml="${OMPI_MCA_pml:-ob1}"

# check NAME COMMAND ...: one check of its own, by a command that says itself why it failed.
check() {
    step "$1"
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        return 1
    fi
}

# The number behind a heading of meson's summary in the log, 0 without one.
summary_line() {
    sed -n "s/^$1: *\([0-9][0-9]*\)[[:space:]]*\$/\1/p" "$logs/$2.log" | tail -n 1 | grep . || echo 0
}

# tell_why BUILD: the last words of the tests that failed, for those who have no other log.
tell_why() {
    python3 - "$folder/$1/meson-logs/testlog.json" <<'END' || true
import json, sys
for line in open(sys.argv[1]):
    test = json.loads(line)
    if test["result"] in ("FAIL", "TIMEOUT", "ERROR", "UNEXPECTEDPASS"):
        words = (test.get("stdout") or "") + (test.get("stderr") or "")
        print("   " + test["name"], *(line[:2000] for line in words.splitlines()[-12:]), sep="\n   | ")
END
}

# tell_times: by suite (a test counts in its first one), and the slowest 30 tests of all that ran.
tell_times() {
    [ -s "$times" ] || return 0
    step "Times"
    python3 - "$times" <<'END'
import collections, json, sys
suites, n, tests = collections.Counter(), collections.Counter(), []
for line in open(sys.argv[1]):
    test = json.loads(line)
    suite = test["name"].split(" / ")[0].split(":")[-1].split("+")[0]
    suites[suite] += test["duration"]
    n[suite] += 1
    tests.append((test["duration"], test["name"].split(":")[-1]))
for suite, seconds in suites.most_common():
    print(f"   {seconds:6.0f} s  {n[suite]:4d} tests of {suite}")
print("   slowest:")
for seconds, name in sorted(tests, reverse=True)[:30]:
    print(f"   {seconds:6.1f} s  {name}")
END
}

# run_tests BUILD OPTION ...: meson's tests of $folder/BUILD; what failed or was skipped is named.
run_tests() {
    name=$1
    shift
    step "$name: tests"
    log=$logs/$name-tests.log
    # Others on the machine make tests slow, not wrong.
    meson test -C "$folder/$name" --num-processes 2 --timeout-multiplier 4 --print-errorlogs "$@" \
        >"$log" 2>&1 </dev/null || true
    ok=$(($(summary_line Ok "$name-tests") + $(summary_line 'Expected Fail' "$name-tests")))
    bad=0
    for heading in Fail Timeout 'Unexpected Pass'; do
        bad=$((bad + $(summary_line "$heading" "$name-tests")))
    done
    skip=$(summary_line Skipped "$name-tests")
    if [ $((ok + bad + skip)) -eq 0 ]; then
        echo "   no test ran; see $log" >&2
        tail -n 25 "$log" | sed 's/^/   | /' >&2
        bad=1
    fi
    cat "$folder/$name/meson-logs/testlog.json" >>"$times" 2>/dev/null || true
    # meson lists failures again at the end
    grep -E '^ *[0-9]+/[0-9]+ .* (FAIL|TIMEOUT|ERROR|SKIP|UNEXPECTEDPASS) ' "$log" | sort -u | sed 's/^/   /' || true
    if [ "$bad" -gt 0 ]; then
        tell_why "$name"
        echo "   see $log and $folder/$name/meson-logs/testlog.txt" >&2
    fi
    echo "   $ok passed, $bad failed, $skip skipped"
    passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip))
}

# run_named ARGUMENT: the test of a SUITE/NAME; nothing for other arguments.
run_named() {
    case $1 in /* | ./* | ../*) return ;; */*) ;; *) return ;; esac
    set -- "${1%%/*}" "${1#*/}"
    tests=$(meson test -C "$folder/gcc" --no-rebuild --list --suite "$1" 2>/dev/null | sed 's|^[^/]* / ||; s|^.* - [^:]*:||')
    printf '%s\n' "$tests" | grep -Fqx -- "$2" || unknown "no test '$2' in suite $1" "$tests"
    run_tests gcc --no-rebuild --suite "$1" "$2"
}

# run_roots: what is recorded there, of each MPI. A machine that had no time for the rest has none for this.
run_roots() {
    step "roots: Debian's trixie"
    minutes=$((($(date +%s) - begin_s) / 60))
    if [ "$minutes" -ge 45 ]; then
        echo "   skipped: all before took $minutes minutes; sh tests/run.sh roots runs it alone"
        skipped=$((skipped + 1))
        return
    fi
    set -- recorder
    for mpi in mpich openmpi; do
        set -- "$@" "jobs/halo $mpi" "jobs/matrix c $mpi" "jobs/matrix mpi4py $mpi"
    done
    log=$logs/roots.log
    status=0
    timeout 30m sh "$source_folder/tests/roots/run.sh" trixie "$@" >"$log" 2>&1 </dev/null || status=$?
    grep -E '^(   |== With)' "$log" || true
    if [ "$status" -eq 124 ]; then
        echo "   skipped: not done after 30 minutes; see $log"
        skipped=$((skipped + 1))
        return
    fi
    # What ends without its closing line did not do what it was for.
    closing=$(tail -n 1 "$log" | grep -xE '[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped') || closing='0 passed, 1 failed, 0 skipped'
    echo "   $closing; see $log"
    set -- $closing
    passed=$((passed + $1)) failed=$((failed + $3)) skipped=$((skipped + $5))
}

check_format() {
    find "$source_folder" -name 'build*' -prune -o -name '*.[ch]' -print0 |
        xargs -0 clang-format --dry-run --Werror
}

step "Builds and logs: $folder"
if [ -n "${MPISTAIR_MINIMAL:-}" ]; then
    need_packages $build_packages $mpich_packages
else
    need_packages $build_packages $part_packages $openmpi_packages $mpich_packages $test_packages
fi
step "With:$(dpkg-query --show --showformat ' ${Package} ${Version},' gcc clang libhwloc-dev mpich openmpi-bin \
    python3-mpi4py lammps 2>/dev/null | sed 's/,$//')"
! has "$chosen_parts" format || check format logged format check_format || true
if has "$chosen_parts" gcc || [ -n "$chosen_suites$chosen_tests" ]; then
    if check gcc build "$folder/gcc" gcc --werror; then
        if has "$chosen_parts" gcc; then
            run_tests gcc --no-rebuild
        else
            [ -z "$chosen_suites" ] || run_tests gcc --no-rebuild $chosen_suites
            for argument; do
                run_named "$argument"
            done
        fi
    fi
fi
# One build for both: it takes less time than two, and clang's sanitizers see more.
if has "$chosen_parts" clang || has "$chosen_parts" sanitized; then
    if CC=clang check clang build "$folder/clang-sanitized" clang-sanitized --werror -Doptimization=1 -Db_sanitize=address,undefined -Db_lundef=false &&
        has "$chosen_parts" sanitized; then
        export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
        export LSAN_OPTIONS="suppressions=$source_folder/tests/leaks.txt:print_suppressions=0"
        run_tests clang-sanitized --no-rebuild --suite unit --suite models --suite golden --suite fuzz --no-suite files
    fi
fi
if has "$chosen_parts" roots; then
    run_roots
fi
tell_times || true
minutes=$((($(date +%s) - begin_s + 30) / 60))
echo "   all in $minutes minutes"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
