# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# shellcheck disable=SC2034,SC2154 # variables of cluster.sh and of benches
# bench.sh - functions for testsuite/bench/run, testsuite/bench/array and
# testsuite/bench/cluster/run
#
# It starts a private Kiln as tests do (testsuite/lib/cluster.sh), and prints a
# table: one row per figure, with its target and what Slurm 22.05 reached on
# the same kind of machine. The figures come from programs that print one "NAME
# VALUE UNIT" per line.

: "${top_builddir:=$top_srcdir/build}"
KILN_PROGRAMS="kiln-controller kiln-agent kiln-shepherd kiln-output kiln-pause ksub kctl
    testsuite/bench/arrival testsuite/bench/disk testsuite/bench/spawn
    testsuite/bench/cluster/kiln-hollow testsuite/bench/cluster/kiln-load"
[ ! -x "$top_builddir/kiln-forkserver" ] || # this program is not built on all machines
    KILN_PROGRAMS="$KILN_PROGRAMS kiln-forkserver"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
# A missing program fails a bench, whereas it skips a test.
skip_all() { bail_out "$1"; }

bench_programs() {
    for bench_program in $KILN_PROGRAMS; do
        [ -x "$top_builddir/$bench_program" ] ||
            bail_out "$top_builddir/$bench_program is missing: make && make bench"
    done
}

# --- the submitting user ------------------------------------------------------

# If the bench runs as root, jobs are submitted as an ordinary user: nobody, or
# $KILN_BENCH_USER.
bench_user=$(id -un)
bench_uid=$(id -u)
[ "$bench_uid" -ne 0 ] || bench_user=${KILN_BENCH_USER:-nobody}

as_submitter() {
    if [ "$bench_uid" -ne 0 ]; then
        "$@"
    else
        (cd / && exec setpriv --reuid "$bench_user" \
            --regid "$(id -g "$bench_user")" --clear-groups "$@")
    fi
}

# One user creates all the load, so the limits per user are turned off.
bench_controller() {
    printf 'limits: {perUser: {%s}}\n' 'objects: 0, pods: 0, bytes: 0,
        connections: 0, watches: 0, requestsPerSecond: 0' \
        >"$cluster/limits.yaml"
    export GLIBC_TUNABLES=glibc.malloc.hugetlb=1
    cluster_controller --config "$cluster/limits.yaml" \
        --administrators "$bench_user" --allow-rootless-agents "$@"
    unset GLIBC_TUNABLES
}

# --- the machine --------------------------------------------------------------

first_of() { # LABEL FILE: prints the text after the first "LABEL :"
    sed -n "s/^$1[[:space:]]*:[[:space:]]*//p" "$2" | head -n 1
}

describe_machine() {
    disk "$cluster" >"$cluster/log/disk"
    echo "$(date -u +%F), $(first_of 'model name' /proc/cpuinfo)," \
        "$(nproc) CPUs, $(($(first_of MemTotal /proc/meminfo | tr -dc 0-9) / 1048576)) GiB," \
        "Linux $(uname -r)"
    echo "disk: $(df --output=fstype,source "$cluster" | tail -n 1 | tr -s ' ')," \
        "fdatasync $(figure "$cluster/log/disk" fdatasync_p50) ms p50," \
        "$(figure "$cluster/log/disk" fdatasync_p99) ms p99"
    echo "load before: $(cut -d ' ' -f 1-3 /proc/loadavg)"
    echo
}

# --- figures ------------------------------------------------------------------

figure() { # FILE NAME: prints the value of NAME, or nothing
    awk -v name="$2" '$1 == name { print $2; exit }' "$1"
}

calculate() { # EXPRESSION DIGITS
    awk "BEGIN { printf \"%.$2f\", $1 }" 2>/dev/null || echo -
}

cpu_ms() { # PID: prints the CPU time of all its threads so far
    awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, "")
        printf "%d", ($12 + $13) * 1000 / hz }' "/proc/$1/stat"
}

rss_kib() { # PID
    first_of VmRSS "/proc/$1/status" | tr -dc 0-9
}

now_ms() {
    date +%s%3N
}

heading() {
    printf '%-45s %12s %14s %s\n' "$1" figure target "Slurm 22.05"
}

row() { # NAME FIGURE [TARGET [SLURM]]
    printf '%-45s %12s %14s %s\n' "$1" "${2:--}" "${3:-}" "${4:-}"
}
