#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A bit flips in a row of the store: the controller starts, says so, and ends
# nothing that belongs to what it cannot read.

# shellcheck disable=SC2119,SC2317 # functions that are called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
need munged jq curl python3
[ "$(id -u)" -eq 0 ] || skip_all "only root can act for other users"
cluster_begin
need kiln-controller kiln-agent ksub kctl
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge

home=$cluster/home/kilntest1
state=$cluster/state
admin() { kctl --server "http+unix://$state/socket" "$@"; }
ask() { curl -s --unix-socket "$state/socket" "http://localhost$1"; }
# begin NAME: a job that runs until NAME is there; its id is $id.
begin() {
    id=$(as kilntest1 ksub --parsable --wrap "echo \$\$ >$1.pid; while [ ! -e $1 ]; do \
sleep 0.05; done; echo done >$1.done")
}
state_is() { admin get job "$1" --no-headers | grep -qw "$2"; }
runs() { [ -s "$home/$1.pid" ] && kill -0 "$(cat "$home/$1.pid")"; }
ended() { ! runs "$1"; }
node_is_ready() { admin get node n1 --no-headers | grep -qw Ready; }
log_says() { grep -Eq "$2" "$cluster/log/$1"; }
pods_of() { admin get pods -o json | jq "[.items[] | select(.metadata.name | startswith(\"job-$1-\"))] | length"; }
pods_are() { [ "$(pods_of "$1")" -eq "$2" ]; }
create_map() {
    printf '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept"}}' |
        admin create -f -
}
# flip KIND NAME-PATTERN: one bit in the middle of what the row says.
flip() {
    python3 - "$state/kiln.db" "$1" "$2" <<'END'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
id, body = db.execute("SELECT id, CAST(body AS BLOB) FROM objects WHERE kind = ?"
                      " AND name LIKE ?", sys.argv[2:4]).fetchone()
body = bytearray(body)
body[len(body) // 2] ^= 1
db.execute("UPDATE objects SET body = CAST(? AS TEXT) WHERE id = ?", (bytes(body), id))
db.commit()
END
}

cluster_controller
cluster_agent n1 --topology 'package:1 core:8 pu:1' --heartbeat 500ms
wait_for 20 node_is_ready || bail_out "no node"
admin taint node n1 kiln.hpc/virtual- >/dev/null

# --- a Job --------------------------------------------------------------------
begin first
first=$id
ok "a job runs" wait_for 20 runs first
ok "something is kept beside it" create_map
stop controller
ok "nothing is damaged" kiln-controller --state-dir "$state" --check-store
ok "a bit flips in the row of the Job" flip jobs.batch "job-$first"
ok "and in another's" flip configmaps kept
cluster_controller
ok "the controller starts all the same" wait_for 20 node_is_ready
ok "and names what it cannot read" \
    log_says controller "'jobs.batch/default/job-$first' cannot be read.*checksum"
like "it can be seen from outside" "$(ask '/readyz?verbose')" "storeRows 2 objects"
like "and counted" "$(ask /metrics)" "kiln_store_damaged 2"
like "whoever asks for it is told" "$(admin get job "$first" 2>&1)" "is damaged"
begin second
second=$id
ok "another job gets another id" [ "$second" -gt "$first" ]
ok "and runs" wait_for 20 runs second
is "the pod of the damaged Job is not taken for ownerless" "$(pods_of "$first")" 1
ok "and goes on" runs first
like "its name is not given to another" "$(create_map 2>&1)" 'configmaps "kept" is damaged'
not_ok "the store is not looked at under a controller" \
    kiln-controller --state-dir "$state" --check-store

# --- a Pod --------------------------------------------------------------------
stop controller
ok "a bit flips in the row of a pod, too" flip pods "job-$second-%"
listed=$(kiln-controller --state-dir "$state" --check-store 2>/dev/null)
like "all are listed" "$listed" "jobs.batch/default/job-$first"
like "with why" "$listed" "pods/default/job-$second-.*checksum"
cluster_controller
ok "the agent keeps what it runs" \
    wait_for 30 log_says n1 "job-$second-.*until an administrator decides"
ok "the job goes on" runs second
sleep 1
is "and is not run a second time" "$(pods_of "$second")" 0
ok "because it stays as it is" log_says controller "job 'default/job-$second' stays as it is"

# --- the Node -----------------------------------------------------------------
stop controller
ok "a bit flips in the row of the node" flip nodes n1
cluster_controller
ok "the agent is told" wait_for 30 log_says n1 "is damaged"
sleep 1
ok "its jobs go on" runs first
ok "both" runs second
is "nothing is deleted" "$(pods_of "$first")" 1

# --- and on -------------------------------------------------------------------
stop controller
dropped=$(kiln-controller --state-dir "$state" --drop-damaged nodes/n1)
like "what is dropped is written out" "$dropped" '"kind":"Node"'
not_ok "and is not there any more" \
    kiln-controller --state-dir "$state" --drop-damaged nodes/n1
key=$(printf '%s\n' "$listed" | sed -n 's|.*\(pods/default/[^[:space:]]*\).*|\1|p')
ok "the pod is dropped" kiln-controller --state-dir "$state" --drop-damaged "$key"
ok "and the Job, by its row" kiln-controller --state-dir "$state" --drop-damaged \
    "$(printf '%s\n' "$listed" | sed -n 's|^\([0-9]*\)[[:space:]]jobs.batch.*|\1|p')"
ok "and the last" kiln-controller --state-dir "$state" --drop-damaged configmaps/default/kept
ok "nothing is damaged then" kiln-controller --state-dir "$state" --check-store
cluster_controller
ok "the node comes back by itself" wait_for 30 node_is_ready
ok "the pod of a Job that was let go ends" wait_for 30 ended first
ok "what was let go is made anew" create_map
touch "$home/second"
finish
