# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# shellcheck disable=SC2034,SC2154 # variables of tests and of tap.sh
# cluster.sh - a private Kiln on this machine, for tests of real daemons
#
#   . "$top_srcdir/testsuite/lib/tap.sh"
#   . "$top_srcdir/testsuite/lib/cluster.sh"
#   cluster_begin
#   cluster_munge
#   cluster_controller
#   cluster_agent n1 --topology 'package:2 core:4 pu:2'
#   ok "a job can be submitted" ksub --wrap true
#   finish
#
# All files are in $cluster, a directory under /tmp, because paths of sockets
# must be short and other users must be able to reach them. Nothing remains
# afterwards: when the test ends, for whatever reason, the daemons are stopped
# by their process IDs and the directory is removed. If a test point has
# failed, the daemons' logs are kept beside the test's own log.
#
# If the test runs as root, the programs run as root and the jobs run as the
# users kilntest1 and kilntest2 (cluster_user). Otherwise everything runs as
# the user who started the test.

cluster=
cluster_daemons= # "name pid start" lines, newest first; start is that of /proc/PID/stat
cluster_store=      # the URL of a database with the store; empty: kiln.db
cluster_patience=20 # how many seconds a controller may take to start

# Makes $cluster with copies of the programs that every user can reach, and
# puts the copies first in $PATH. Clients find the controller through
# $KILN_CONFIG.
cluster_begin() {
    cluster=$(mktemp -d /tmp/kiln-cluster.XXXXXX) ||
        bail_out "no temporary directory"
    chmod 755 "$cluster"
    trap cluster_end EXIT
    trap 'exit 1' HUP INT TERM
    mkdir "$cluster/bin" "$cluster/etc" "$cluster/log" "$cluster/home"
    for cluster_program in ${KILN_PROGRAMS:-}; do
        [ -x "${top_builddir:-.}/$cluster_program" ] || continue
        cp "${top_builddir:-.}/$cluster_program" "$cluster/bin/" ||
            bail_out "cannot copy $cluster_program"
    done
    PATH=$cluster/bin:$PATH:/usr/sbin:/sbin
    KILN_CONFIG=$cluster/etc/client.yaml
    KILN_ABORT_ON_FAULT=1
    export PATH KILN_CONFIG KILN_ABORT_ON_FAULT
    unset COLUMNS # kctl cuts its tables to it
    cluster_clients
}

# Puts Slurm's commands first in $PATH: links to kiln-slurm.
cluster_slurm() {
    cp "${top_builddir:-.}/kiln-slurm" "$cluster/bin/" || bail_out "kiln-slurm is not built"
    directory "$cluster/bin/slurm" 755
    for cluster_program in $(slurm_commands "$cluster/bin/kiln-slurm"); do
        ln -sf ../kiln-slurm "$cluster/bin/slurm/$cluster_program"
    done
    PATH=$cluster/bin/slurm:$PATH
}

# The commands of PROGRAM, kiln-slurm, that are not refused.
slurm_commands() {
    "$1" --help | awk '/^Slurm.s commands:/ { on = 1; next } !NF { on = 0 }
        on && $2 != "refused:" { print $1 }'
}

# Writes the clients' configuration with the settings that are known so far.
cluster_clients() {
    {
        echo "cluster: test"
        echo "serviceUser: $(id -un)"
        [ -z "${cluster_url:-}" ] || echo "server: $cluster_url"
        [ -z "${munge_socket:-}" ] || echo "mungeSocket: $munge_socket"
    } >"$cluster/etc/client.yaml"
    chmod 644 "$cluster/etc/client.yaml"
}

# directory PATH MODE: makes the directory if it does not exist, and sets its
# mode.
directory() {
    if ! mkdir -p "$1" || ! chmod "$2" "$1"; then
        bail_out "cannot make $1"
    fi
}

# need PROGRAM...: skips the whole test if one of the programs is not built or
# not installed.
need() {
    for cluster_program; do
        command -v "$cluster_program" >/dev/null ||
            skip_all "$cluster_program is missing"
    done
}

# wait_for SECONDS COMMAND...: repeats the command until it succeeds. Fails if
# it has not succeeded within SECONDS, a third more on top for busy machines.
# The pauses grow: with pauses of 0.05 s alone, sleep(1) was a fifth of the CPU
# time of all tests.
wait_for() {
    cluster_left=$(($1 * 27)) # in twentieths of a second
    cluster_pauses=0
    shift
    while ! "$@" >/dev/null 2>&1; do
        [ "$cluster_left" -gt 0 ] || return 1
        cluster_pauses=$((cluster_pauses + 1))
        if [ "$cluster_pauses" -le 6 ]; then
            cluster_left=$((cluster_left - 1))
            sleep 0.05
        elif [ "$cluster_pauses" -le 15 ]; then
            cluster_left=$((cluster_left - 2))
            sleep 0.1
        else
            cluster_left=$((cluster_left - 5))
            sleep 0.25
        fi
    done
}

# until_says SECONDS PATTERN COMMAND...: runs a command that does not end by itself until
# a line of its output matches, and ends it. The output is in $cluster/output then.
until_says() {
    cluster_seconds=$1 cluster_pattern=$2
    shift 2
    "$@" >"$cluster/output" 2>&1 </dev/null &
    cluster_pid=$!
    cluster_status=0
    wait_for "$cluster_seconds" grep -Eq -- "$cluster_pattern" "$cluster/output" || cluster_status=1
    kill "$cluster_pid" 2>/dev/null
    wait "$cluster_pid" 2>/dev/null
    return "$cluster_status"
}

# Sets $free_port to a TCP port of 127.0.0.1 on which nobody listens. The port
# is below the ephemeral ports, and each test starts its search at a different
# port.
find_free_port() {
    cluster_port=${cluster_port:-$((20000 + $$ * 61 % 12000))}
    while
        cluster_port=$((cluster_port + 1))
        [ "$cluster_port" -lt 32768 ] || cluster_port=20000
        cluster_hex=$(printf ':%04X ' "$cluster_port")
        cat /proc/net/tcp /proc/net/tcp6 2>/dev/null |
            grep -q "$cluster_hex"
    do :; done
    free_port=$cluster_port
}

# --- daemons ------------------------------------------------------------------

# start NAME COMMAND...: runs the command in the background with its output in
# $cluster/log/NAME. A daemon that is started again under the same name after
# stop appends to that log.
start() {
    cluster_name=$1
    shift
    "$@" >>"$cluster/log/$cluster_name" 2>&1 </dev/null &
    cluster_adopt "$cluster_name" $!
}

# cluster_adopt NAME PID: the process, a child of the test's shell, is a daemon.
cluster_adopt() {
    cluster_daemons="$1 $2 $(cluster_start_of "$2")
$cluster_daemons"
}

# Prints when the process was started, in ticks since boot. A pid alone names
# nothing for long: the shell reaps a daemon that has ended whenever it waits
# for another process, and on a busy machine the number is another's minutes
# later.
cluster_start_of() {
    { read -r cluster_stat <"/proc/$1/stat"; } 2>/dev/null || cluster_stat=
    # shellcheck disable=SC2086 # one word per member
    set -- ${cluster_stat##*) }
    echo "${20:-gone}"
}

pid_of() {
    printf '%s' "$cluster_daemons" | awk -v name="$1" '
        $1 == name { print $2; exit }'
}

# Succeeds if the process of the daemon NAME exists. $cluster_pid is then its
# pid; it is empty if no daemon has that name.
cluster_exists() {
    # shellcheck disable=SC2046 # a pid and a start
    set -- $(printf '%s' "$cluster_daemons" | awk -v name="$1" '
        $1 == name { print $2, $3; exit }')
    cluster_pid=${1:-}
    [ -n "$cluster_pid" ] && kill -0 "$cluster_pid" 2>/dev/null &&
        [ "$(cluster_start_of "$cluster_pid")" = "$2" ]
}

is_running() {
    cluster_exists "$1"
}

# signal NAME SIGNAL: sends the signal to the daemon, and fails if the daemon
# has ended. The test ends if no daemon has that name.
signal() {
    if cluster_exists "$1"; then
        kill -s "$2" "$cluster_pid"
    else
        [ -n "$cluster_pid" ] || bail_out "signal: no daemon is named '$1'"
        return 1
    fi
}

# stop NAME [SIGNAL]: stops the daemon and waits for its end. $stopped_with is
# then its exit status.
stop() {
    ! cluster_exists "$1" || kill -s "${2:-TERM}" "$cluster_pid" 2>/dev/null || true
    await_end "$1"
}

has_ended() {
    ! kill -0 "$1" 2>/dev/null ||
        ! grep -q '^State:.[^Z]' "/proc/$1/status" 2>/dev/null
}

cluster_is_over() {
    ! cluster_exists "$1" || has_ended "$cluster_pid"
}

# await_end NAME: waits for the end of the daemon, and kills it if it has not
# ended after 20 s.
await_end() {
    cluster_pid=$(pid_of "$1")
    [ -n "$cluster_pid" ] || return 1
    wait_for 20 cluster_is_over "$1" || kill -s KILL "$cluster_pid"
    stopped_with=0
    wait "$cluster_pid" 2>/dev/null || stopped_with=$?
    cluster_daemons=$(printf '%s' "$cluster_daemons" |
        awk -v name="$1" '$1 == name && !gone { gone = 1; next } { print }')
    cluster_daemons="$cluster_daemons
"
}

# Starts a munged for this test, with its own key and the socket $munge_socket.
# A munged that is started again uses the same key.
cluster_munge() {
    need munged
    directory "$cluster/munge" 755
    directory "$cluster/munge/private" 700
    [ -s "$cluster/munge/private/key" ] || (
        umask 077
        head -c 128 /dev/urandom >"$cluster/munge/private/key"
    )
    munge_socket=$cluster/munge/socket
    munged_beside munged "$munge_socket"
    cluster_clients
}

# munged_beside NAME SOCKET [WRAPPER...]: starts another munged with the same
# key.
munged_beside() {
    cluster_name=$1
    cluster_munged=$2
    shift 2
    start "$cluster_name" "$@" munged --foreground --force \
        --socket="$cluster_munged" \
        --key-file="$cluster/munge/private/key" \
        --pid-file="$cluster/munge/private/$cluster_name.pid" \
        --seed-file="$cluster/munge/private/$cluster_name.seed"
    wait_for 10 test -S "$cluster_munged" || bail_out "munged does not start"
}

# cluster_controller [OPTION...]: starts a controller that listens on
# $cluster_url. It uses the state that an earlier controller of this test left.
cluster_controller() {
    need kiln-controller
    if [ -z "${cluster_url:-}" ]; then
        find_free_port
        cluster_address=127.0.0.1:$free_port
        cluster_url=http://$cluster_address
        cluster_clients
    fi
    directory "$cluster/state" 700
    cluster_use_database
    { is_file_store && [ -s "$cluster/state/kiln.db" ]; } || cluster_init
    cluster_socket=$cluster/state/socket cluster_before=
    for cluster_argument; do
        [ "$cluster_before" != --socket ] || cluster_socket=$cluster_argument
        cluster_before=$cluster_argument
    done
    start controller kiln-controller --state-dir "$cluster/state" \
        ${cluster_store:+--store "$cluster_store"} \
        --listen "$cluster_address" --cluster test \
        --munge-socket "$munge_socket" "$@"
    wait_for "$cluster_patience" cluster_is_ready ||
        bail_out "the controller does not start"
}

# With $KILN_TEST_DATABASES, the URL of a server without a database
# ("postgresql://kiln@127.0.0.1:5432"), whose user may create databases, the store
# of each test is one of these: all tests can be run with a replicated store.
cluster_use_database() {
    [ -n "${KILN_TEST_DATABASES:-}" ] && [ -z "$cluster_store" ] || return 0
    cluster_database=kiln_$(basename "$cluster" | tr -dc '[:alnum:]' | tr '[:upper:]' '[:lower:]')_$$
    psql -qX "$KILN_TEST_DATABASES/postgres" -c "CREATE DATABASE $cluster_database" ||
        bail_out "no database can be created"
    cluster_store=$KILN_TEST_DATABASES/$cluster_database
}

# Creates the store of a new cluster.
cluster_init() {
    cluster_use_database
    of_store --init >/dev/null || bail_out "no new store can be made"
}

# of_store OPTION...: a command about the store, for example --check-store.
of_store() {
    kiln-controller --state-dir "$cluster/state" ${cluster_store:+--store "$cluster_store"} "$@"
}

# store_copy NAME: copies what a controller keeps, also while it runs.
store_copy() {
    rm -rf "${cluster:?}/$1"
    cp -a "$cluster/state" "$cluster/$1"
    [ -z "$cluster_store" ] || pg_dump -Fc -f "$cluster/$1/database" "$cluster_store" ||
        bail_out "no copy of the database"
}

# store_put_back NAME: replaces it by that copy, which stays. No controller may run.
store_put_back() {
    rm -rf "${cluster:?}/state"
    cp -a "$cluster/$1" "$cluster/state"
    [ -n "$cluster_store" ] || return 0
    store_empty
    pg_restore -d "$cluster_store" "$cluster/state/database" ||
        bail_out "the copy of the database cannot be put back"
    rm "$cluster/state/database"
}

# Gives the cluster an empty database, where the store is in one: --restore fills no other.
store_empty() {
    [ -z "$cluster_store" ] || psql -qX "$KILN_TEST_DATABASES/postgres" \
        -c "DROP DATABASE $cluster_database WITH (FORCE)" -c "CREATE DATABASE $cluster_database" ||
        bail_out "no empty database"
}

# Whether the store is a file in the state directory, for test points about that.
is_file_store() { [ -z "$cluster_store" ]; }

# need_file_store REASON: skips the whole test where that is not so.
need_file_store() { [ -z "${KILN_TEST_DATABASES:-}" ] || skip_all "$1"; }

cluster_is_ready() {
    is_running controller || return 0
    curl -fsS "http://$cluster_address/readyz"
}

# cluster_agent NAME [OPTION...]: starts the agent of a node with that name.
cluster_agent() {
    need kiln-agent
    cluster_name=$1
    shift
    directory "$cluster/$cluster_name" 711
    start "$cluster_name" kiln-agent --controller "$cluster_url" \
        --cluster test --service-user "$(id -un)" \
        --munge-socket "$munge_socket" --node-name "$cluster_name" \
        --state-dir "$cluster/$cluster_name/state" \
        --run-dir "$cluster/$cluster_name/run" \
        --shepherd "$cluster/bin/kiln-shepherd" "$@"
}

# --- users --------------------------------------------------------------------

# cluster_user NAME: creates the user kilntest1 or kilntest2 if it does not
# exist, with a home in $cluster. Fails unless the test runs as root.
# testsuite/run removes the users.
cluster_user() {
    [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null || return 1
    (
        flock 9
        id "$1" >/dev/null 2>&1 || useradd --no-create-home \
            --home-dir /nonexistent --shell /bin/sh "$1"
    ) 9>/tmp/kiln-test-users.lock || return 1
    directory "$cluster/home/$1" 700
    chown "$1:" "$cluster/home/$1"
}

# as USER COMMAND...: runs the command as that user, in the user's home and
# with a clean environment.
as() {
    cluster_as=$1
    shift
    (
        cd "$cluster/home/$cluster_as" || exit 1
        exec setpriv --reuid "$cluster_as" --regid "$cluster_as" \
            --init-groups env -i HOME="$PWD" USER="$cluster_as" \
            LOGNAME="$cluster_as" SHELL=/bin/sh PATH="$PATH" \
            KILN_CONFIG="$KILN_CONFIG" "$@"
    )
}

# --- the end ------------------------------------------------------------------

cluster_end() {
    cluster_status=$?
    trap - EXIT
    trap '' HUP INT TERM # another one would leave daemons
    while [ -n "$(printf '%s' "$cluster_daemons" | tr -d '[:space:]')" ]; do
        stop "$(printf '%s' "$cluster_daemons" | awk 'NF { print $1; exit }')"
    done
    cluster_jobs_end
    cluster_clients_end
    cluster_sanitizers || cluster_status=1
    if [ "$tap_failed" -gt 0 ] || [ "$cluster_status" -ne 0 ]; then
        cluster_keep_logs
    fi
    [ -z "${cluster_database:-}" ] ||
        psql -qX "$KILN_TEST_DATABASES/postgres" -c "DROP DATABASE $cluster_database WITH (FORCE)"
    [ ! -d "$cluster/postgres" ] || postgres_end
    rm -rf "$cluster"
    exit "$cluster_status"
}

# A client that a test has left in the background waits for a controller that
# is away, and would keep the test's output open.
cluster_clients_end() {
    for cluster_pid in $(cluster_processes kctl ksub); do
        kill "$cluster_pid" 2>/dev/null
    done
}

# cluster_processes PROGRAM PROGRAM: prints the pids of the processes that run this
# cluster's copy of one of the programs.
cluster_processes() {
    find /proc/[0-9]*/exe -maxdepth 0 \
        \( -lname "$cluster/bin/$1" -o -lname "$cluster/bin/$2" \) 2>/dev/null | tr -dc '0-9\n'
}

cluster_shepherds() {
    cluster_processes kiln-shepherd kiln-forkserver
}

# Jobs survive the end of their agent, so the test kills them. A shepherd whose
# job was killed ends the rest of the job's processes and then itself.
cluster_jobs_end() {
    for cluster_shepherd in $(cluster_shepherds); do
        pkill -KILL -P "$cluster_shepherd"
    done
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        [ -n "$(cluster_shepherds)" ] || break
        sleep 0.2
    done
}

# --- jobs ---------------------------------------------------------------------

# What most scripts do; one that needs more defines its own of the same name.

# admin COMMAND...: runs kctl as the administrator, at the controller's own socket.
admin() { kctl --server "http+unix://${cluster_socket:-$cluster/state/socket}" "$@"; }

# submit OPTION...: submits a job of kilntest1, and prints its number.
submit() { as kilntest1 ksub --parsable "$@"; }

# job ID FILTER: prints what the filter of jq takes out of the job.
job() { admin get job "$1" -o json | jq -r "$2"; }

# state_is ID STATE: whether that is the job's state now.
state_is() { [ "$(job "$1" .status.state)" = "$2" ]; }

# Succeeds if the daemons were built with AddressSanitizer or ThreadSanitizer.
is_sanitized() {
    grep -qE '__(a|t)san_init' "$cluster/bin/kiln-controller"
}

# Fails if the log of a program that was built with a sanitizer contains a
# report.
cluster_sanitizers() {
    cluster_said=$(grep -lE \
        '(Address|Leak|Thread)Sanitizer|runtime error:' "$cluster"/log/* \
        2>/dev/null) || return 0
    note "a sanitizer found something in: $cluster_said"
    # shellcheck disable=SC2086 # one word per log
    grep -hE -A 12 '(Address|Leak|Thread)Sanitizer|runtime error:' \
        $cluster_said | head -n 60 | note
    return 1
}

cluster_keep_logs() {
    for cluster_log in "$cluster"/log/*; do
        [ -s "$cluster_log" ] || continue
        note "--- ${cluster_log##*/}, its last lines"
        tail -n 30 "$cluster_log" | note
    done
    : "${cluster_kept:=${top_builddir:-.}/testsuite/cluster/$(basename "$0").logs}"
    rm -rf "$cluster_kept"
    mkdir -p "$cluster_kept" && cp "$cluster"/log/* "$cluster_kept"/ &&
        note "all of them: $cluster_kept"
}
