#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# contrib/quickstart: it works when it is run twice, as root and as an ordinary
# user, and --stop leaves nothing behind, even if jobs ignore signals.

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need munged kiln-controller kiln-agent kiln-shepherd ksub kctl cc
# Uses a copy, because the checkout may be below a directory that other users
# cannot enter.
mkdir "$cluster/checkout"
cp -r "$top_srcdir/contrib" "$cluster/checkout/" || bail_out "no contrib"
chmod -R a+rX "$cluster/checkout"
quickstart=$cluster/checkout/contrib/quickstart
cd "$cluster" || bail_out "no directory"

# started DIR COMMAND...: runs the quickstart of the programs in DIR through
# COMMAND.
started() {
    built=$1
    shift
    # The daemons keep running, and a pipe for the output would keep the test
    # waiting.
    "$@" "$quickstart" --no-install --build "$built" >said 2>&1 </dev/null
    started_with=$?
    [ "$started_with" -eq 0 ] || note <said
    return "$started_with"
}
stopped() {
    built=$1
    shift
    "$@" "$quickstart" --stop --build "$built" >said 2>&1
}
daemons_of() { pgrep -f "kiln-(agent|controller|shepherd) .*$1|munged.*$1"; }
# as-said DIR COMMAND...: runs the command with the variables that the
# quickstart printed into DIR/said, in the directory of its jobs.
cat >"$cluster/as-said" <<'SH'
#!/bin/sh
eval "$(grep '^  export ' "$1/said")"
cd "$(cat "$1/place")/jobs" || exit 1
shift
exec "$@"
SH
chmod 755 "$cluster/as-said"

# A compiler that takes some time.
directory "$cluster/slow" 755
cat >"$cluster/slow/cc" <<SH
#!/bin/sh
echo compiling slowly
sleep 4
PATH='$PATH' # a cc of ccache would find this one again
exec $(command -v cc) "\$@"
SH
chmod 755 "$cluster/slow/cc"

tries() { # WHO DIR COMMAND...
    who=$1 place=$2
    shift 2
    ok "$who: quickstart succeeds" started "$place" "$@"
    said=$(cat said)
    cp said first-said
    like "$who: it shows the job's states until Completed" \
        "$said" '-> Completed$'
    like "$who: the job's threads print the CPUs on which they ran" "$said" \
        '^thread 0 ended on CPU [0-9]+$'
    like "$who: the kernel's list of CPUs is printed, too" \
        "$said" '^Cpus_allowed_list:	[0-9]'
    like "$who: it shows the job's exit code" "$said" 'exitCode: 0'
    like "$who: it says how to stop" \
        "$said" "quickstart --stop --build '$cluster/"
    kept=$place
    [ ! -f "$place/place" ] || kept=$(cat "$place/place")
    [ "$kept" = "$place" ] && echo "$place/work" >"$cluster/place"
    [ "$kept" = "$place" ] || echo "$kept" >"$cluster/place"
    first=$(daemons_of "$kept" | sort | tr '\n' ' ')
    like "$who: it shows the commands that it builds with" "$said" \
        '^  building the example: cc .*\(output in .*/last\.log\)$'
    usual=$PATH
    PATH=$cluster/slow:$PATH
    ok "$who: it succeeds when it is run again" started "$place" "$@"
    PATH=$usual
    like "$who: it shows what it does while a command takes long" "$(cat said)" \
        '^  building the example, [0-9]+ s: compiling slowly$'
    like "$who: it then submits another job" "$(cat said)" '^Submitted job 3$'
    is "$who: it then uses the same daemons" \
        "$(daemons_of "$kept" | sort | tr '\n' ' ')" "$first"
    as_said="$cluster/as-said $cluster"
    # shellcheck disable=SC2086 # a command and its arguments, or nothing
    ok "$who: the command that it suggests works" "$@" $as_said kctl get nodes
    # shellcheck disable=SC2086
    ok "$who: a job that ignores SIGTERM can be submitted" \
        "$@" $as_said $run_as ksub --wrap 'trap "" TERM; while :; do sleep 30081; done'
    sleep_processes() { pgrep -f '^sleep 30081$'; }
    ok "$who: that job runs" wait_for 20 sleep_processes
    ok "$who: --stop succeeds" stopped "$place" "$@"
    is "$who: --stop ends all daemons and jobs" \
        "$(sleep_processes)$(daemons_of "$kept")" ""
    not_ok "$who: --stop removes the state" test -e "$place/site"
    [ "$kept" = "$place" ] ||
        not_ok "$who: --stop removes the directory below /tmp" test -e "$kept"
    ok "$who: --stop succeeds when nothing runs" stopped "$place" "$@"
}

if [ "$(id -u)" -eq 0 ]; then
    run_as=as-nobody
    tries root "$cluster/bin" env -u KILN_CONFIG
    mkdir "$cluster/closed" && chmod 700 "$cluster/closed" &&
        cp -r "$cluster/bin" "$cluster/closed/it's a place" &&
        rm -rf "$cluster/closed/it's a place/work"
    tries "root, below a closed directory with blanks" \
        "$cluster/closed/it's a place" env -u KILN_CONFIG
    like "quickstart says which directory the user nobody cannot enter" \
        "$(cat first-said)" \
        "^User nobody may not enter $cluster/closed: the cluster is kept in /tmp/"
else
    run_as=
    tries "a user" "$cluster/bin" env -u KILN_CONFIG
fi

# A stale PID file names a process that is not a daemon of Kiln. This process
# is not killed.
mkdir "$cluster/bin/site"
sleep 30082 &
echo $! >"$cluster/bin/site/controller.pid"
ok "--stop with a stale PID file succeeds" stopped "$cluster/bin" env
ok "the process with that PID still runs" kill "$!"

# A munged that takes its time to end.
munge=$cluster/checkout/contrib/private-munge
ok "a private munged starts" "$munge" start "$cluster/munge" 2>/dev/null
munged=$(cat "$cluster/munge/munged.pid")
kill -s STOP "$munged"
(sleep 1 && kill -s CONT "$munged") &
ok "it can be stopped" "$munge" stop "$cluster/munge"
ok "it has ended then, so its directory can be removed" has_ended "$munged"

if cluster_user kilntest1; then
    mine=$cluster/home/kilntest1/built
    cp -r "$cluster/bin" "$mine" && rm -rf "$mine/work" && chown -R kilntest1: "$mine"
    run_as=
    tries "an ordinary user" "$mine" as kilntest1 env -u KILN_CONFIG
else
    skip "an ordinary user: quickstart succeeds" "only root can make users"
fi
finish
