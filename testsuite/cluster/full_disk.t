#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The disk of the state directory becomes full: what cannot be stored is
# refused with a message, and nothing that was acknowledged is lost. Reads and
# deletes still work, also after a restart, and when there is space again
# everything works without an administrator.

# shellcheck disable=SC2086,SC2119,SC2317 # lists; functions called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
need_file_store "it fills the disk of kiln.db; a database is on another one"
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

log_says() { # NAME PATTERN
    grep -Eq "$2" "$cluster/log/$1"
}
state_is() { admin get job "$1" --no-headers | grep -qw "$2"; }
node_is_ready() { admin get node n1 --no-headers | grep -qw Ready; }
metric() { curl -fsS --unix-socket "$cluster/state/socket" \
        http://kiln/metrics | awk -v m="$1" '$1 == m { print $2 }'; }
is_gone() { ! admin get job "$1" >/dev/null 2>&1; }
submits() { id=$(submit --wrap true); }
# Another file takes all the space that is left.
fill_up() { dd if=/dev/zero of="$cluster/state/${1:-ballast}" bs=4k 2>/dev/null; }

cluster_controller
cluster_agent n1 --topology 'package:1 core:8 pu:1' --heartbeat 500ms
wait_for 20 node_is_ready || bail_out "no node"
for key in $(admin get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    admin taint node n1 "$key-" >/dev/null
done
# until_there FILE: submits a job that runs until that file is in its user's
# home.
until_there() {
    submit --wrap "echo \$\$ >$cluster/home/kilntest1/pid-$1
while [ ! -e $cluster/home/kilntest1/$1 ]; do sleep 0.2; done"
}
running=$(until_there go)
ends_alone=$(until_there go-alone)
deleted=$(until_there never)
ok "a first job runs" wait_for 20 state_is "$running" Running
ok "a second job runs" wait_for 20 state_is "$ends_alone" Running
ok "a third job runs" wait_for 20 state_is "$deleted" Running
ok "the controller keeps a reserve on the disk" test -s "$cluster/state/reserve"
is "the store is writable" "$(metric kiln_store_read_only)" 0

# --- filling the disk ---------------------------------------------------------
script=$cluster/home/kilntest1/large.sh
{
    echo '#!/bin/sh'
    head -c 150000 /dev/urandom | base64 | sed 's/^/# /'
} >"$script"
chmod 644 "$script"
last=1
# The script differs each time, because equal scripts are stored only once.
while said=$(submit -H -J "fill-$last" "$script" 2>&1) && [ "$last" -lt 500 ]; do
    acknowledged="${acknowledged:-} $said"
    last=$((last + 1))
    [ "$last" -ne 15 ] || fill_up
    echo "# $last" >>"$script"
done
note "$last submissions"
like "the disk is full after some submissions" "$last" '^[0-9]{2,}$'
like "the error says why, and what an administrator must do" "$said" \
    'disk is full.*administrator frees space'
ok "the controller still answers" cluster_is_ready ||
    curl -sS "$cluster_url/readyz" | note
ok "its log says where space is needed, and what to do" log_says controller \
    "Only reads and deletes.*$cluster/state.*free space"
is "a metric says that the store is read-only" \
    "$(metric kiln_store_read_only)" 1
like "/readyz?verbose says it, too" \
    "$(curl -fsS "$cluster_url/readyz?verbose")" \
    'store accepts only reads and deletes'
missing() {
    for kept in $acknowledged; do
        admin get job "$kept" -o name 2>&1 | grep -qx "job.*/job-$kept" ||
            echo "job $kept is not there"
    done
}
empty "all acknowledged jobs can be read" "$(missing)"
is "a request through the API is a 507" \
    "$(curl -sS -o /dev/null -w '%{http_code}' \
    --unix-socket "$cluster/state/socket" -H 'Content-Type: application/json' \
    -d '{"metadata":{"name":"more"}}' http://k/api/v1/namespaces)" 507
set -- $acknowledged
ok "jobs can be deleted" admin delete jobs "job-$1" "job-$2"
ok "deleted jobs no longer exist" wait_for 20 is_gone "$1"
as kilntest1 touch go
ok "the node stays Ready" sh -c "sleep 1; $(command -v kctl) \
    --server http+unix://$cluster/state/socket get node n1 --no-headers |
    grep -qw Ready"

# --- the reserve is used up, too ----------------------------------------------
shift 2
acknowledged=$*
fill_up more
empty "all acknowledged jobs can be read without any space" "$(missing)"
ok "the controller still answers" cluster_is_ready ||
    curl -sS "$cluster_url/readyz" | note
stop controller KILL
fill_up yet-more
# The index of SQLite's log is created again at a start. The old index
# sometimes frees enough space, and then the controller serves until it is
# stopped.
said=$(timeout 10 kiln-controller --state-dir "$cluster/state" --cluster test \
    --munge-socket "$munge_socket" 2>&1)
like "a restarted controller serves, or exits with an error" "$?" '^(74|124)$'
like "it says what it needs" "$said" \
    '[.]db.*full; free space on its file system|stopping on Terminated'
rm "$cluster/state/more" "$cluster/state/yet-more"

# --- after a restart ----------------------------------------------------------
cluster_controller
ok "the controller starts on a full disk" cluster_is_ready
is "the store is read-only then" "$(metric kiln_store_read_only)" 1
empty "all acknowledged jobs still exist" "$(missing)"
not_ok "no job can be submitted" submit --wrap true
ok "a job can be deleted" admin delete job "job-$1"
shift
acknowledged=$*

# --- an agent that is restarted meanwhile -------------------------------------
stop n1 KILL
as kilntest1 touch go-alone
cluster_agent n1 --topology 'package:1 core:8 pu:1' --heartbeat 500ms
ok "a restarted agent logs why it waits" wait_for 20 log_says n1 \
    "cannot register node 'n1'.*full"
is_over_here() { ! kill -0 "$(cat "$cluster/home/kilntest1/pid-$1")"; }
not_ok "its job still runs meanwhile" is_over_here never
ok "a running job can be deleted" admin delete job "job-$deleted"
ok "the process of the deleted job ends" wait_for 20 is_over_here never

# --- the audit log on the same disk -------------------------------------------
log=$cluster/state/audit.log
before=$(stat -c %s "$log")
for _ in $(seq 6000); do
    printf 'next\nsilent\nrequest = DELETE\noutput = /dev/null\n'
    printf 'unix-socket = %s\n' "$cluster/state/socket"
    echo 'url = http://kiln/api/v1/namespaces/nowhere'
done | sed 1d >"$cluster/many"
curl --config "$cluster/many"
drops_lines() { [ "$(metric kiln_audit_dropped_total)" -gt 0 ]; }
ok "the audit log drops lines, and counts them" wait_for 5 drops_lines
ok "it does not use up the reserve" test \
    "$(($(stat -c %s "$log") - before))" -lt 1200000
ok "the controller's log says why" \
    log_says controller 'on the store.s disk.*dropped'

# --- space is available again -------------------------------------------------
mount -o remount,size=160m kiln-test "$cluster/state"
wait_for 20 submits
like "with more space, jobs can be submitted again" "$id" '^[0-9]+$'
is "the ID of the new job was not used before" \
    "$(printf '%s\n' $acknowledged "$id" | sort -n | tail -n 1)" "$id"
ok "the new job runs" wait_for 20 state_is "$id" Completed
ok "the end of a job that ended meanwhile is reported" \
    wait_for 30 state_is "$running" Completed
ok "the end of a job without a registered agent is reported, too" \
    wait_for 30 state_is "$ends_alone" Completed
ok "its node is Ready again" wait_for 20 node_is_ready
ok "the audit log says how many lines are missing" \
    grep -q '^{"dropped":[0-9]*}$' "$log"
is "the store is writable again" "$(metric kiln_store_read_only)" 0
ok "the controller keeps a reserve again" test -s "$cluster/state/reserve"
empty "all acknowledged jobs exist" "$(missing)"
stop controller
is "the controller stops with exit status 0" "$stopped_with" 0
finish
