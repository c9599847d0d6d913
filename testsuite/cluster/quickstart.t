#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The first of the two commands: run twice it works twice, as root and as an
# ordinary user, and --stop leaves nothing, whatever its jobs do about signals.

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need munged kiln-controller kiln-agent kiln-shepherd ksub kctl cc
# A copy, because the checkout may be below a directory that is closed to users.
mkdir "$cluster/checkout"
cp -r "$top_srcdir/contrib" "$cluster/checkout/" || bail_out "no contrib"
chmod -R a+rX "$cluster/checkout"
quickstart=$cluster/checkout/contrib/quickstart
cd "$cluster" || bail_out "no directory"

# started DIR COMMAND...: a quickstart of the programs in DIR, by COMMAND.
started() {
    built=$1
    shift
    # It goes on running, and so would whatever waits for its output.
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
# as-said DIR COMMAND...: as the quickstart said it in DIR/said, in the directory
# of its jobs.
cat >"$cluster/as-said" <<'SH'
#!/bin/sh
eval "$(grep '^  export ' "$1/said")"
cd "$(cat "$1/place")/jobs" || exit 1
shift
exec "$@"
SH
chmod 755 "$cluster/as-said"

tries() { # WHO DIR COMMAND...
    who=$1 place=$2
    shift 2
    ok "$who: it works" started "$place" "$@"
    said=$(cat said)
    cp said first-said
    like "$who: the job is shown from state to state" "$said" '-> Completed$'
    like "$who: its threads tell on which CPUs they ran" "$said" \
        '^thread 0 ended on CPU [0-9]+$'
    like "$who: so does the kernel" "$said" '^Cpus_allowed_list:	[0-9]'
    like "$who: its exit code is shown" "$said" 'exitCode: 0'
    like "$who: and how to stop" "$said" "quickstart --stop --build '$cluster/"
    kept=$place
    [ ! -f "$place/place" ] || kept=$(cat "$place/place")
    [ "$kept" = "$place" ] && echo "$place/work" >"$cluster/place"
    [ "$kept" = "$place" ] || echo "$kept" >"$cluster/place"
    first=$(daemons_of "$kept" | sort | tr '\n' ' ')
    ok "$who: run twice it works twice" started "$place" "$@"
    like "$who: with another job" "$(cat said)" '^Submitted job 3$'
    is "$who: of the same daemons" \
        "$(daemons_of "$kept" | sort | tr '\n' ' ')" "$first"
    as_said="$cluster/as-said $cluster"
    # shellcheck disable=SC2086 # a command and its arguments, or nothing
    ok "$who: what it says to try next works" "$@" $as_said kctl get nodes
    # shellcheck disable=SC2086
    ok "$who: a job that ignores SIGTERM is there" "$@" $as_said $run_as ksub --wrap 'trap "" TERM; while :; do sleep 30081; done'
    sleep_processes() { pgrep -f '^sleep 30081$'; }
    ok "$who: and runs" wait_for 20 sleep_processes
    ok "$who: it stops" stopped "$place" "$@"
    is "$who: all of it" "$(sleep_processes)$(daemons_of "$kept")" ""
    not_ok "$who: and keeps no state" test -e "$place/site"
    [ "$kept" = "$place" ] ||
        not_ok "$who: nor anything below /tmp" test -e "$kept"
    ok "$who: stopping what is stopped is no mistake" stopped "$place" "$@"
}

if [ "$(id -u)" -eq 0 ]; then
    run_as=as-nobody
    tries root "$cluster/bin" env -u KILN_CONFIG
    mkdir "$cluster/closed" && chmod 700 "$cluster/closed" &&
        cp -r "$cluster/bin" "$cluster/closed/it's a place" &&
        rm -rf "$cluster/closed/it's a place/work"
    tries "root, below a closed directory with blanks" \
        "$cluster/closed/it's a place" env -u KILN_CONFIG
    like "it says who is kept out by what" "$(cat first-said)" \
        "^User nobody may not enter $cluster/closed: the cluster is kept in /tmp/"
else
    run_as=
    tries "a user" "$cluster/bin" env -u KILN_CONFIG
fi

# A pid that was left behind and is somebody else's now is left alone.
mkdir "$cluster/bin/site"
sleep 30082 &
echo $! >"$cluster/bin/site/controller.pid"
ok "a pid of before is not taken for the daemon's" stopped "$cluster/bin" env
ok "and nobody is killed by it" kill "$!"

if cluster_user kilntest1; then
    mine=$cluster/home/kilntest1/built
    cp -r "$cluster/bin" "$mine" && rm -rf "$mine/work" && chown -R kilntest1: "$mine"
    run_as=
    tries "an ordinary user" "$mine" as kilntest1 env -u KILN_CONFIG
else
    skip "an ordinary user" "only root can make users"
fi
finish
