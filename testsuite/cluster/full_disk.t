#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The disk of the state directory fills up: what cannot be kept is refused with
# words, nothing that was acknowledged is lost, reads and deletes go on, also
# over a restart, and with space everything does, by itself.

# shellcheck disable=SC2086,SC2119,SC2317 # lists; functions called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
need munged jq curl
[ "$(id -u)" -eq 0 ] || skip_all "only root can make users and mount"
cluster_begin
need kiln-controller kiln-agent ksub kctl
cluster_user kilntest1 || skip_all "only root can make users"
directory "$cluster/state" 700
mount -t tmpfs -o size=64m,mode=700 kiln-test "$cluster/state" 2>/dev/null ||
    skip_all "cannot mount a tmpfs here"
trap 'umount -l "$cluster/state"; cluster_end' EXIT
cluster_munge

admin() { kctl --server "http+unix://$cluster/state/socket" "$@"; }
submit() { as kilntest1 ksub --parsable "$@"; }
log_says() { # NAME PATTERN
    grep -Eq "$2" "$cluster/log/$1"
}
state_is() { admin get job "$1" --no-headers | grep -qw "$2"; }
node_is_ready() { admin get node n1 --no-headers | grep -qw Ready; }
metric() { curl -fsS --unix-socket "$cluster/state/socket" \
        http://kiln/metrics | awk -v m="$1" '$1 == m { print $2 }'; }
is_gone() { ! admin get job "$1" >/dev/null 2>&1; }
submits() { id=$(submit --wrap true); }
# Another file takes all that is left.
fill_up() { dd if=/dev/zero of="$cluster/state/${1:-ballast}" bs=4k 2>/dev/null; }

cluster_controller
cluster_agent n1 --topology 'package:1 core:8 pu:1' --heartbeat 500ms
wait_for 20 node_is_ready || bail_out "no node"
for key in $(admin get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    admin taint node n1 "$key-" >/dev/null
done
# until_there FILE: a job that runs until that file is in its user's home.
until_there() {
    submit --wrap "echo \$\$ >$cluster/home/kilntest1/pid-$1
while [ ! -e $cluster/home/kilntest1/$1 ]; do sleep 0.05; done"
}
running=$(until_there go)
ends_alone=$(until_there go-alone)
deleted=$(until_there never)
ok "a job runs" wait_for 20 state_is "$running" Running
ok "and another" wait_for 20 state_is "$ends_alone" Running
ok "and a third" wait_for 20 state_is "$deleted" Running
ok "a reserve is kept" test -s "$cluster/state/reserve"
is "the store is as it should be" "$(metric kiln_store_read_only)" 0

# --- until it is full ---------------------------------------------------------
script=$cluster/home/kilntest1/large.sh
{
    echo '#!/bin/sh'
    head -c 150000 /dev/urandom | base64 | sed 's/^/# /'
} >"$script"
chmod 644 "$script"
last=1
# Another script each time: what is the same is kept once.
while said=$(submit -H -J "fill-$last" "$script" 2>&1) && [ "$last" -lt 500 ]; do
    acknowledged="${acknowledged:-} $said"
    last=$((last + 1))
    [ "$last" -ne 15 ] || fill_up
    echo "# $last" >>"$script"
done
note "$last submissions"
like "the disk is full after some" "$last" '^[0-9]{2,}$'
like "who submits is told why and what is to be done" "$said" \
    'disk is full.*administrator makes space'
ok "the controller goes on" cluster_is_ready
ok "its log says where, and what to do" log_says controller \
    "Nothing but reads and deletes.*$cluster/state.*free space"
is "a metric says so" "$(metric kiln_store_read_only)" 1
like "and the verbose health" "$(curl -fsS "$cluster_url/readyz?verbose")" \
    'store only reads and deletes'
missing() {
    for kept in $acknowledged; do
        admin get job "$kept" -o name 2>&1 | grep -qx "job.*/job-$kept" ||
            echo "job $kept is not there"
    done
}
empty "what was acknowledged is read" "$(missing)"
is "a request by hand is a 507" "$(curl -sS -o /dev/null -w '%{http_code}' \
    --unix-socket "$cluster/state/socket" -H 'Content-Type: application/json' \
    -d '{"metadata":{"name":"more"}}' http://k/api/v1/namespaces)" 507
set -- $acknowledged
ok "jobs are deleted" admin delete jobs "job-$1" "job-$2"
ok "and are gone" wait_for 20 is_gone "$1"
as kilntest1 touch go
ok "the node is heard of" sh -c "sleep 1; $(command -v kctl) \
    --server http+unix://$cluster/state/socket get node n1 --no-headers |
    grep -qw Ready"

# --- when even the reserve is taken -------------------------------------------
shift 2
acknowledged=$*
fill_up more
empty "without any space it still reads" "$(missing)"
ok "and goes on" cluster_is_ready
stop controller KILL
fill_up yet-more
# The index of SQLite's log is begun anew at a start. What it gave back is enough
# at times, and then the controller serves until it is told to stop.
said=$(timeout 10 kiln-controller --state-dir "$cluster/state" --cluster test \
    --munge-socket "$munge_socket" 2>&1)
like "started anew it serves, or ends in order" "$?" '^(74|124)$'
like "and says what it needs" "$said" \
    '[.]db.*full; free space on its file system|stopping on Terminated'
rm "$cluster/state/more" "$cluster/state/yet-more"

# --- and after a restart ------------------------------------------------------
cluster_controller
ok "it starts on a full disk" cluster_is_ready
is "to read and delete" "$(metric kiln_store_read_only)" 1
empty "everything is there" "$(missing)"
not_ok "and nothing more is taken" submit --wrap true
ok "jobs are deleted now, too" admin delete job "job-$1"
shift
acknowledged=$*

# --- an agent that comes back meanwhile ----------------------------------------
stop n1 KILL
as kilntest1 touch go-alone
cluster_agent n1 --topology 'package:1 core:8 pu:1' --heartbeat 500ms
ok "an agent that is started now says why it waits" wait_for 20 log_says n1 \
    "cannot register node 'n1'.*full"
is_over_here() { ! kill -0 "$(cat "$cluster/home/kilntest1/pid-$1")"; }
not_ok "a job runs on meanwhile" is_over_here never
ok "a job that is deleted" admin delete job "job-$deleted"
ok "ends all the same" wait_for 20 is_over_here never

# --- the audit log beside it ----------------------------------------------------
log=$cluster/state/audit.log
before=$(stat -c %s "$log")
for _ in $(seq 6000); do
    printf 'next\nsilent\nrequest = DELETE\noutput = /dev/null\n'
    printf 'unix-socket = %s\n' "$cluster/state/socket"
    echo 'url = http://kiln/api/v1/namespaces/nowhere'
done | sed 1d >"$cluster/many"
curl --config "$cluster/many"
drops_lines() { [ "$(metric kiln_audit_dropped_total)" -gt 0 ]; }
ok "it drops lines, and counts them" wait_for 5 drops_lines
ok "rather than to eat up the reserve" test \
    "$(($(stat -c %s "$log") - before))" -lt 1200000
ok "and says why" log_says controller 'on the disk of the store.*dropped'

# --- space --------------------------------------------------------------------
mount -o remount,size=160m kiln-test "$cluster/state"
wait_for 20 submits
like "with space it takes everything by itself" "$id" '^[0-9]+$'
is "with an id that was not given before" \
    "$(printf '%s\n' $acknowledged "$id" | sort -n | tail -n 1)" "$id"
ok "and runs it" wait_for 20 state_is "$id" Completed
ok "the end of a job that came meanwhile is known" \
    wait_for 30 state_is "$running" Completed
ok "as is that of one that ended while its agent could not register" \
    wait_for 30 state_is "$ends_alone" Completed
ok "whose node is ready again" wait_for 20 node_is_ready
ok "the audit log says how much it lacks" grep -q '^{"dropped":[0-9]*}$' "$log"
is "the metric says so" "$(metric kiln_store_read_only)" 0
ok "the reserve is kept again" test -s "$cluster/state/reserve"
empty "and all that was acknowledged is there" "$(missing)"
stop controller
is "it stops in order" "$stopped_with" 0
finish
