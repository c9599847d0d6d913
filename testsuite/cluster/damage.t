#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A bit flips in a row of the store: the controller starts, reports it, and
# ends nothing that belongs to the object that it cannot read.

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
# begin NAME: starts a job that runs until the file NAME exists. Its ID is in
# $id.
begin() {
    id=$(as kilntest1 ksub --parsable --wrap "echo \$\$ >$1.pid; while [ ! -e $1 ]; do \
sleep 0.2; done; echo done >$1.done")
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
# flip KIND NAME-PATTERN: changes one bit in the middle of the object in the
# row.
flip() {
    is_file_store || {
        psql -qAtX "$cluster_store" -c "UPDATE kiln.objects
            SET body = set_byte(body, length(body) / 2, get_byte(body, length(body) / 2) # 1)
            WHERE id = (SELECT id FROM kiln.objects WHERE kind = '$1'
                AND convert_from(name, 'UTF8') LIKE '$2' LIMIT 1) RETURNING id" | grep -q .
        return
    }
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
ok "a ConfigMap is created" create_map
stop controller
ok "the check of the store finds no damage" \
    of_store --check-store
ok "a bit flips in the row of the Job" flip jobs.batch "job-$first"
ok "a bit flips in the row of the ConfigMap" flip configmaps kept
cluster_controller
ok "the controller starts with damaged rows" wait_for 20 node_is_ready
ok "it logs which rows it cannot read" \
    log_says controller "'jobs.batch/default/job-$first' cannot be read.*checksum"
like "/readyz reports the number of damaged rows" \
    "$(ask '/readyz?verbose')" "storeRows 2 objects"
like "/metrics reports that number, too" \
    "$(ask /metrics)" "kiln_store_damaged 2"
like "a request for a damaged object gets an error that says so" \
    "$(admin get job "$first" 2>&1)" "is damaged"
begin second
second=$id
ok "another job gets another ID" [ "$second" -gt "$first" ]
ok "that job runs" wait_for 20 runs second
is "the pod of the damaged Job is not deleted as an orphan" \
    "$(pods_of "$first")" 1
ok "that pod still runs" runs first
like "a new object cannot have the name of a damaged one" \
    "$(create_map 2>&1)" 'configmap kept is damaged'
not_ok "the store cannot be checked while a controller uses it" \
    of_store --check-store

# --- a Pod --------------------------------------------------------------------
stop controller
ok "a bit flips in the row of a pod" flip pods "job-$second-%"
listed=$(of_store --check-store 2>/dev/null)
like "the check lists the damaged Job" "$listed" "jobs.batch/default/job-$first"
like "it lists the damaged pod with the reason" \
    "$listed" "pods/default/job-$second-.*checksum"
cluster_controller
ok "the agent keeps the process of the damaged pod" \
    wait_for 30 log_says n1 "job-$second-.*until an administrator decides"
ok "that job still runs" runs second
sleep 1
is "no second pod is created for it" "$(pods_of "$second")" 0
ok "the log says that the job is left as it is" \
    log_says controller "job 'default/job-$second' is not processed"

# --- the Node -----------------------------------------------------------------
stop controller
ok "a bit flips in the row of the node" flip nodes n1
cluster_controller
ok "the agent is told that its node's row is damaged" \
    wait_for 30 log_says n1 "is damaged"
sleep 1
ok "the first job still runs" runs first
ok "the second job still runs" runs second
is "the pod of the first job is not deleted" "$(pods_of "$first")" 1

# --- dropping the damaged rows ------------------------------------------------
stop controller
dropped=$(of_store --drop-damaged nodes/n1)
like "the row of the node can be dropped, and is printed" \
    "$dropped" '"kind":"Node"'
not_ok "a row that was dropped no longer exists" \
    of_store --drop-damaged nodes/n1
key=$(printf '%s\n' "$listed" | sed -n 's|.*\(pods/default/[^[:space:]]*\).*|\1|p')
ok "the pod's row can be dropped" \
    of_store --drop-damaged "$key"
ok "the Job's row can be dropped by its number" \
    of_store --drop-damaged \
    "$(printf '%s\n' "$listed" | sed -n 's|^\([0-9]*\)[[:space:]]jobs.batch.*|\1|p')"
ok "the ConfigMap's row can be dropped" \
    of_store --drop-damaged configmaps/default/kept
ok "the check finds no damage then" \
    of_store --check-store
cluster_controller
ok "the agent registers its node again" wait_for 30 node_is_ready
ok "the pod of the Job that was dropped ends" wait_for 30 ended first
ok "an object of a dropped name can be created again" create_map
touch "$home/second"
finish
