#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A controller starts with an older store, or with the store of another
# cluster: no running job is ended because the store does not know it, and no
# ID is used twice.

# shellcheck disable=SC2119,SC2317 # functions that are called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
need munged jq curl
[ "$(id -u)" -eq 0 ] || skip_all "only root can act for other users"
cluster_begin
need kiln-controller kiln-agent ksub kctl
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge

home=$cluster/home/kilntest1
# begin NAME: submits a job that runs until the file NAME exists. Its ID is in
# $id.
begin() {
    id=$(as kilntest1 ksub --parsable --wrap "echo \$\$ >$1.pid; while [ ! -e $1 ]; do \
sleep 0.2; done; echo done >$1.done")
}
state_is() { admin get job "$1" --no-headers | grep -qw "$2"; }
runs() { [ -s "$home/$1.pid" ] && kill -0 "$(cat "$home/$1.pid")"; }
node_is_ready() { admin get node n1 --no-headers | grep -qw Ready; }
log_says() { grep -Eq "$2" "$cluster/log/$1"; }
orphan_uids() { admin get node n1 -o json | jq -r '.status.remnants // {} | keys[]'; }
lists_orphans() { [ "$(orphan_uids | wc -l)" -eq "$1" ]; }
mark() { cut -d ' ' -f 3 "$cluster/n1/state/cluster"; }
mark_is() { [ "$(mark)" -ge "$1" ]; }

cluster_controller
cluster_agent n1 --topology 'package:1 core:8 pu:1' --heartbeat 500ms
wait_for 20 node_is_ready || bail_out "no node"
admin taint node n1 kiln.hpc/virtual- >/dev/null
ok "an agent stores which cluster it belongs to" \
    test -s "$cluster/n1/state/cluster"
is "the cluster's ID is the uid of the namespace kube-system" \
    "$(cut -d ' ' -f 1 "$cluster/n1/state/cluster")" \
    "$(admin get namespace kube-system -o json | jq -r .metadata.uid)"

# --- an older store -----------------------------------------------------------
begin old
old=$id
ok "a job runs" wait_for 20 runs old
metric() { curl -s --unix-socket "$cluster/state/socket" http://kiln/metrics | sed -n "s/^$1 //p"; }
is "a metric says that there was no backup" "$(metric kiln_last_backup_timestamp_seconds)" 0
ok "a backup can be made while the controller runs" of_store --backup "$cluster/backup"
is "a metric has the time of the backup" \
    "$(metric kiln_last_backup_timestamp_seconds | awk '{ printf "%d", $1 }')" \
    "$(stat -c %Y "$cluster/state/last-backup")"
if is_file_store; then
    is "a metric has the size of the store" \
        "$(metric kiln_store_size_bytes | awk '{ print ($1 > 4096) }')" 1
else
    skip "a metric has the size of the store" "the database server tells the size of a database"
fi
empty "doc/admin.md has every metric of the controller" "$(
    curl -s --unix-socket "$cluster/state/socket" http://kiln/metrics |
        sed -n 's/^# HELP \([a-z_]*\) .*/\1/p' | sort -u | while read -r name; do
        grep -qw "$name" "$top_srcdir/doc/admin.md" || echo "$name"
    done
)"
is "a metric has the CPUs of the nodes" "$(metric 'kiln_cpus{state="Ready"}')" 8
is "a metric has the CPUs that pods hold" "$(metric kiln_cpus_allocated)" 1
has_wait() { [ "$(metric 'kiln_job_wait_seconds_count{partition="all"}')" = 1 ]; }
ok "a metric has the waits of jobs that started" wait_for 20 has_wait
is "only its owner can read the backup" "$(stat -c %a "$cluster/backup")" 600
not_ok "an existing backup is not overwritten" of_store --backup "$cluster/backup"
# A backup that was killed has left a part of a copy and of its journal.
head -c 8192 /dev/zero >"$cluster/second.new"
cp "$cluster/second.new" "$cluster/second.new-journal"
(
    flock 9
    of_store --backup "$cluster/second" 2>&1
) 9>>"$cluster/second.new" >"$cluster/said"
like "two backups do not write one file" "$(cat "$cluster/said")" "another process writes"
not_ok "no backup has the name then" test -e "$cluster/second"
ok "a backup can be made where another one was killed" of_store --backup "$cluster/second"
is "it is a whole store" "$(head -c 15 "$cluster/second")" "SQLite format 3"
empty "nothing but the two files remains" \
    "$(find "$cluster" -maxdepth 1 -name 'second?*' ! -name second.history)"
ok "the backup includes the history" test -s "$cluster/backup.history"

# --- keys, configuration and rotation -------------------------------------------
conf=$cluster/conf
mkdir "$conf"
cat >"$conf/controller.yaml" <<YAML
stateDir: $cluster/state
cluster: test
${cluster_store:+store: $cluster_store}
YAML
echo 'server: http://head:6820' >"$conf/client.yaml"
echo 'a key' >"$cluster/state/token.key"
backup_with() { kiln-controller --config "$conf/controller.yaml" "$@" 2>&1; }
like "--backup-everything alone is refused" "$(backup_with --backup-everything)" \
    'goes with --backup'
ok "keys and configuration can be backed up, too" \
    backup_with --backup "$cluster/all" --backup-everything
is "the backup has what exists of them" "$(cd "$cluster/all.config" && echo *)" \
    "client.yaml controller.yaml token.key"
is "only its owner can read it" \
    "$(stat -c %a "$cluster/all.config" "$cluster/all.config"/* | sort -u | tr '\n' ' ')" \
    "600 700 "
backups=$cluster/backups
mkdir "$backups"
rotate() {
    "$top_srcdir/etc/systemd/kiln-backup" --keep "$1" "$backups" \
        kiln-controller --config "$conf/controller.yaml" 2>&1
}
for day in 20260101T000000Z 20260102T000000Z; do
    rotate 9 >/dev/null
    mv "$backups"/kiln-20[2-9]*Z "$cluster/$day"
done
mv "$cluster"/20260101T000000Z "$backups/kiln-20260101T000000Z"
mv "$cluster"/20260102T000000Z "$backups/kiln-20260102T000000Z"
mkdir "$backups/kiln-20250101T000000Z" # not a backup
touch "$backups/kiln-20260101T000000Z/note" "$backups/kiln-20260103T000000Z" "$backups/mine"
says=$(rotate 2)
like "the timer's program makes a backup" "$says" "made '.*/kiln-20[0-9]*T[0-9]*Z'"
is "it keeps the newest ones, and all files that it did not make" \
    "$(cd "$backups" && find . -type f ! -path './kiln-202[6-9]*/kiln.db*' | sort | tr '\n' ' ')" \
    "./.lock ./kiln-20260101T000000Z.removed/note ./kiln-20260103T000000Z ./mine "
is "a backup that was made before is there" \
    "$(cd "$backups/kiln-20260102T000000Z" && echo *)" \
    "kiln.db kiln.db.config kiln.db.history"
ok "a directory without a store is left" test -d "$backups/kiln-20250101T000000Z"
touch "$backups/unfinished" # in the way: as if the disk were full
not_ok "a backup that fails has an exit status" rotate 1
ok "it removes none of the former ones" test -s "$backups/kiln-20260102T000000Z/kiln.db"
rm "$backups/unfinished"
not_ok "it keeps at least one" rotate 0
rm "$cluster/state/token.key"

begin young
young=$id
ok "another job is submitted after the backup, and runs" wait_for 20 runs young
ok "the agent is told the highest ID" wait_for 20 mark_is "$young"
stop n1 # it is started again only after another restart of the controller
stop controller KILL
head -c 8192 /dev/zero >"$cluster/bad"
not_ok "a file that is not a backup is refused" of_store --restore "$cluster/bad"
is_file_store || store_empty
says=$(backup_with --restore "$cluster/all")
like "keys that are missing are restored" "$says" "state/token.key' restored"
is "a restored key has its content" "$(cat "$cluster/state/token.key")" 'a key'
echo '# other' >>"$conf/controller.yaml"
rm "$conf/client.yaml"
says=$(backup_with --restore "$cluster/all")
like "files that exist are kept, and differences are reported" "$says" \
    "conf/controller.yaml' exists and differs from .*; it was kept"
like "configuration that is missing is restored" "$says" "conf/client.yaml' restored"
is "it has its content" "$(cat "$conf/client.yaml")" 'server: http://head:6820'
rm "$conf/controller.yaml" "$cluster/state"/*.before-restore*
if is_file_store; then
    ok "the backup can be restored" of_store --restore "$cluster/backup"
    ok "the replaced store is kept" test -s "$cluster/state/kiln.db.before-restore"
    ok "the backup can be restored a second time" of_store --restore "$cluster/backup"
    ok "both replaced stores are kept" \
        test -s "$cluster/state/kiln.db.before-restore.1"
else
    store_empty
    ok "the backup can be restored into an empty one" of_store --restore "$cluster/backup"
fi
cluster_controller
not_ok "a backup cannot be restored while a controller runs" of_store --restore "$cluster/backup"
stop controller
is_file_store || like "a database in which a cluster has run is not written over" \
    "$(of_store --restore "$cluster/backup" 2>&1)" 'has run there'
cluster_controller
cluster_agent n1 --topology 'package:1 core:8 pu:1' --heartbeat 500ms
ok "a job that the restored store does not know is an orphan" \
    wait_for 30 lists_orphans 1
ok "the orphan keeps running" runs young
like "kctl orphans lists it with its node" "$(admin orphans)" \
    "n1 +default/job-$young-.* [0-9a-f-]{36}"
begin new
ok "its ID is not given to a new job" [ "$id" -gt "$young" ]
ok "a new job runs beside it" wait_for 20 runs new
ok "a job that the store knows keeps running" runs old
touch "$home/old" "$home/new"
ok "that job completes" wait_for 20 state_is "$old" Completed
ok "the new job completes" wait_for 20 state_is "$id" Completed
stop n1
cluster_agent n1 --topology 'package:1 core:8 pu:1' --heartbeat 500ms
ok "after a restart of the agent it is still an orphan" \
    wait_for 20 log_says n1 "job-$young.*until an administrator decides"
sleep 1
ok "it still runs" runs young
uid=$(orphan_uids)
not_ok "kctl orphans --end needs an operand" admin orphans --end
not_ok "kctl orphans --end refuses an incomplete uid" \
    admin orphans --end "$uid" 5f0c1c9e
ok "an administrator can end an orphan" admin orphans --end "$uid"
has_ended_young() { ! runs young; }
ok "its process has ended" wait_for 20 has_ended_young
ok "the node no longer lists it, so its CPUs are free" \
    wait_for 20 lists_orphans 0

# --- another process has the store for a moment ---------------------------------
stop controller KILL
if is_file_store; then
    python3 - "$cluster/state/kiln.db" <<'PY' &
import sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN IMMEDIATE")
open(sys.argv[1] + ".held", "w").close()
time.sleep(1.5)
db.execute("COMMIT")
PY
    wait_for 10 test -e "$cluster/state/kiln.db.held"
else
    psql -qAtX "$cluster_store" -c "BEGIN; LOCK TABLE kiln.objects IN ACCESS EXCLUSIVE MODE" \
        -c "\\! touch '$cluster/locked'" -c "SELECT pg_sleep(1.5)" -c "COMMIT" >/dev/null &
    wait_for 10 test -e "$cluster/locked"
fi
cluster_controller
ok "a controller waits for another process that locks the store" \
    wait_for 20 admin get nodes

# --- files that were copied by hand -------------------------------------------
stop controller
store_copy copied
cluster_controller
begin later
ok "a job runs that the copied files do not contain" wait_for 20 runs later
ok "the agent is told its ID" wait_for 20 mark_is "$id"
stop controller KILL
store_put_back copied
cluster_controller
ok "the controller says that its store is older" \
    wait_for 30 log_says controller "the store is older than what node 'n1' has seen"
ok "the job is an orphan" wait_for 30 lists_orphans 1
ok "the orphan keeps running" runs later
touch "$home/later"
ok "it is no longer listed when it ends" wait_for 20 lists_orphans 0

# --- an empty store -----------------------------------------------------------
begin last
last=$id
ok "another job runs" wait_for 20 runs last
begin gone
gone=$id
admin apply -f - >/dev/null <<TXT
apiVersion: v1
kind: Pod
metadata: {name: says, namespace: default}
spec:
  restartPolicy: Never
  securityContext: {runAsUser: $(id -u kilntest1), runAsGroup: $(id -g kilntest1)}
  containers:
  - {name: main, image: host, command: [echo, something]}
TXT
spoken=$cluster/n1/state/pods/$(admin get pod says -o json | jq -r .metadata.uid)/output
pod_is_over() { admin get pod says -o json | jq -e '.status.phase == "Succeeded"'; }
ok "a pod ends, whose output its node keeps" wait_for 20 pod_is_over
ok "the output is kept while the pod exists" test -s "$spoken"
ok "a second job runs" wait_for 20 runs gone
stop controller
store_copy kept
rm -r "$cluster/state"
store_empty
without_store() {
    timeout 20 kiln-controller --state-dir "$cluster/state" --cluster test \
        ${cluster_store:+--store "$cluster_store"} --listen "$cluster_address" --munge-socket "$munge_socket" 2>&1
}
said=$(without_store)
is "a controller without its state directory does not start" "$?" 66
if is_file_store; then
    like "it says what can be done" "$said" \
        "'$cluster/state' contains no cluster.*--init.*mounted.*--restore FILE"
    not_ok "it does not create the directory" test -e "$cluster/state"
    mkdir -m 700 "$cluster/state"
    said=$(without_store)
    is "a controller with an empty state directory does not start" "$?" 66
    empty "the directory stays empty" "$(ls -A "$cluster/state")"
    cp "$cluster/kept/events.db" "$cluster/state"
    said=$(of_store --init 2>&1)
    is "--init refuses a directory with files of another store" "$?" 1
    like "it says what can be done" \
        "$said" "lost its store.*events.db.*--restore FILE"
    rm "$cluster/state/events.db"
else
    like "it says what can be done" "$said" \
        "database .* contains no cluster.*--init.*name of the database.*--restore FILE"
    skip "--init refuses a directory with files of another store" "a new head may have others' files"
fi
ok "--init creates a new cluster" of_store --init
sum() {
    if is_file_store; then sha256sum <"$cluster/state/kiln.db"; else
        pg_dump "$cluster_store" | grep -vE '^.(un)?restrict' | sha256sum; fi
}
before=$(sum)
like "a second --init says that there is a store" \
    "$(of_store --init)" 'already'
is "it does not change the store" \
    "$(sum)" "$before"
cluster_controller
ok "--init succeeds while the controller runs" \
    of_store --init
ok "the agent refuses to work for the new cluster" \
    wait_for 40 log_says n1 "another cluster.*or its store was created again"
is "the agent does not register its node there" \
    "$(admin get nodes -o name 2>/dev/null)" ""
ok "its job keeps running" runs last
ok "the output of the pod is kept" test -s "$spoken"
touch "$home/gone"
ok "the other job ends meanwhile" wait_for 20 test -s "$home/gone.done"
sleep 1
stop n1 KILL
cluster_agent n1 --topology 'package:1 core:8 pu:1' --heartbeat 500ms
ok "an agent that is restarted refuses, too" \
    wait_for 40 log_says n1 "another cluster.*or its store was created again"
sleep 1
stop controller
store_put_back kept
cluster_controller
touch "$home/last"
ok "with its own store, the running job completes" \
    wait_for 60 state_is "$last" Completed
ok "the end of the other job is reported" wait_for 60 state_is "$gone" Completed
admin delete pod says >/dev/null
has_gone() { [ ! -e "$spoken" ]; }
ok "the output of the pod is removed with the pod" wait_for 20 has_gone

# --- an agent's state directory without pods ----------------------------------
begin bare
ok "another job runs on the node" wait_for 20 runs bare
stop n1 KILL
rm -rf "$cluster/n1/state/pods"
cluster_agent n1 --topology 'package:1 core:8 pu:1' --heartbeat 500ms
ok "the agent follows a job whose directory was removed" \
    wait_for 20 log_says n1 "job-$id.*still runs, supervising it again"
touch "$home/bare"
ok "the job completes" wait_for 20 state_is "$id" Completed
# --- commands of root in the directory of the service user ---------------------
own=$cluster/own
mkdir "$own"
chown kilntest1: "$own"
of_root() { kiln-controller --state-dir "$own" "$@" >>"$cluster/said" 2>&1; }
of_root --init
ok "root can use the directory of another user" of_root --check-store
ok "root can revoke the tokens there" of_root --rotate-tokens
ok "root can restore a backup there" of_root --restore "$cluster/backup"
is "all files belong to the directory's owner" "$(find "$own" ! -user kilntest1)" ""

finish
