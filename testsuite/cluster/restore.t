#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A controller comes up with an older store, or with another cluster's: nothing
# that runs is ended because it is not known, and no id is issued twice.

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
admin() { kctl --server "http+unix://$cluster/state/socket" "$@"; }
# begin NAME: a job that runs until NAME is there; its id is $id.
begin() {
    id=$(as kilntest1 ksub --parsable --wrap "echo \$\$ >$1.pid; while [ ! -e $1 ]; do \
sleep 0.05; done; echo done >$1.done")
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
ok "an agent keeps which cluster it belongs to" test -s "$cluster/n1/state/cluster"
is "the uid is that of kube-system" "$(cut -d ' ' -f 1 "$cluster/n1/state/cluster")" \
    "$(admin get namespace kube-system -o json | jq -r .metadata.uid)"

# --- a store of before --------------------------------------------------------
begin old
old=$id
ok "a job runs" wait_for 20 runs old
ok "a copy is made while the controller runs" kiln-controller \
    --state-dir "$cluster/state" --backup "$cluster/backup"
is "which is its owner's alone" "$(stat -c %a "$cluster/backup")" 600
not_ok "it is not written over" kiln-controller \
    --state-dir "$cluster/state" --backup "$cluster/backup"
ok "history is copied with it" test -s "$cluster/backup.history"
begin young
young=$id
ok "another is submitted after the copy, and runs" wait_for 20 runs young
ok "the agent hears how far ids have come" wait_for 20 mark_is "$young"
stop n1 # which is back only when the controller has been restarted once more
stop controller KILL
head -c 8192 /dev/zero >"$cluster/bad"
not_ok "what is no copy is refused" kiln-controller \
    --state-dir "$cluster/state" --restore "$cluster/bad"
ok "the copy is restored" kiln-controller \
    --state-dir "$cluster/state" --restore "$cluster/backup"
ok "and what was there is kept" test -s "$cluster/state/kiln.db.before-restore"
ok "a second time, too" kiln-controller \
    --state-dir "$cluster/state" --restore "$cluster/backup"
ok "and both are kept" test -s "$cluster/state/kiln.db.before-restore.1"
cluster_controller
not_ok "not while a controller runs" kiln-controller \
    --state-dir "$cluster/state" --restore "$cluster/backup"
stop controller
cluster_controller
cluster_agent n1 --topology 'package:1 core:8 pu:1' --heartbeat 500ms
ok "what it does not know is an orphan" wait_for 30 lists_orphans 1
ok "which goes on running" runs young
like "and is listed, with where and what" "$(admin orphans)" \
    "n1 +default/job-$young-.* [0-9a-f-]{36}"
begin new
ok "no id is issued twice" [ "$id" -gt "$young" ]
ok "a new job runs beside it" wait_for 20 runs new
ok "a job that both know goes on" runs old
touch "$home/old" "$home/new"
ok "to its end" wait_for 20 state_is "$old" Completed
ok "so does the new one" wait_for 20 state_is "$id" Completed
stop n1
cluster_agent n1 --topology 'package:1 core:8 pu:1' --heartbeat 500ms
ok "over a restart of the agent it stays one" \
    wait_for 20 log_says n1 "job-$young.*until an administrator decides"
sleep 1
ok "and alive" runs young
uid=$(orphan_uids)
not_ok "somebody has to say which is to end" admin orphans --end
not_ok "and mistypes none" admin orphans --end "$uid" 5f0c1c9e
ok "an administrator ends it" admin orphans --end "$uid"
has_ended_young() { ! runs young; }
ok "and it does" wait_for 20 has_ended_young
ok "its cores are free then" wait_for 20 lists_orphans 0

# --- files that were copied by hand --------------------------------------------
stop controller
cp -a "$cluster/state" "$cluster/copied"
cluster_controller
begin later
ok "a job runs that a copy of the files has not" wait_for 20 runs later
ok "the agent hears of it" wait_for 20 mark_is "$id"
stop controller KILL
rm -rf "$cluster/state"
mv "$cluster/copied" "$cluster/state"
cluster_controller
ok "the controller says that its store is older" \
    wait_for 30 log_says controller "the store is older than what node 'n1' has seen"
ok "the job is an orphan" wait_for 30 lists_orphans 1
ok "and goes on" runs later
touch "$home/later"
ok "until it ends" wait_for 20 lists_orphans 0

# --- a store that is empty ----------------------------------------------------
begin last
last=$id
ok "a job runs again" wait_for 20 runs last
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
ok "for as long as the pod is there" test -s "$spoken"
ok "and one beside it" wait_for 20 runs gone
stop controller
mv "$cluster/state" "$cluster/kept"
without_store() {
    timeout 20 kiln-controller --state-dir "$cluster/state" --cluster test \
        --listen "$cluster_address" --munge-socket "$munge_socket" 2>&1
}
said=$(without_store)
is "a controller whose state directory is missing does not start" "$?" 66
like "and says what can be done" "$said" \
    "'$cluster/state' holds no cluster.*--init.*mounted.*--restore FILE"
not_ok "nothing is made there" test -e "$cluster/state"
mkdir -m 700 "$cluster/state"
said=$(without_store)
is "nor does it in an empty one, as where a disk is not mounted" "$?" 66
empty "which stays empty" "$(ls -A "$cluster/state")"
cp "$cluster/kept/events.db" "$cluster/state"
said=$(kiln-controller --state-dir "$cluster/state" --init 2>&1)
is "no new store is made beside the rest of another" "$?" 1
like "and that is told" "$said" "lost its store.*events.db.*--restore FILE"
rm "$cluster/state/events.db"
ok "a new cluster is begun when somebody says so" kiln-controller \
    --state-dir "$cluster/state" --init
before=$(sha256sum <"$cluster/state/kiln.db")
like "again, it says that there is one" \
    "$(kiln-controller --state-dir "$cluster/state" --init)" 'already'
is "and changes nothing" "$(sha256sum <"$cluster/state/kiln.db")" "$before"
cluster_controller
ok "while it runs, too" kiln-controller --state-dir "$cluster/state" --init
ok "the agent does not follow a store that was made anew" \
    wait_for 40 log_says n1 "another cluster.*or its store was made anew"
is "and does not enrol there" "$(admin get nodes -o name 2>/dev/null)" ""
ok "its job goes on" runs last
ok "what pods have said is kept, too" test -s "$spoken"
touch "$home/gone"
ok "the other ends meanwhile" wait_for 20 test -s "$home/gone.done"
sleep 1
stop n1 KILL
cluster_agent n1 --topology 'package:1 core:8 pu:1' --heartbeat 500ms
ok "an agent that starts there does nothing either" \
    wait_for 40 log_says n1 "another cluster.*or its store was made anew"
sleep 1
stop controller
rm -rf "$cluster/state"
mv "$cluster/kept" "$cluster/state"
cluster_controller
touch "$home/last"
ok "with its own store, everything goes on" wait_for 60 state_is "$last" Completed
ok "and what ended meanwhile has ended so" wait_for 60 state_is "$gone" Completed
admin delete pod says >/dev/null
has_gone() { [ ! -e "$spoken" ]; }
ok "and goes with its pod" wait_for 20 has_gone

# --- an agent's state directory that was emptied ------------------------------
begin bare
ok "a job runs" wait_for 20 runs bare
stop n1 KILL
rm -rf "$cluster/n1/state/pods"
cluster_agent n1 --topology 'package:1 core:8 pu:1' --heartbeat 500ms
ok "whose place was removed is followed" \
    wait_for 20 log_says n1 "job-$id.*still runs, following it"
touch "$home/bare"
ok "to its end" wait_for 20 state_is "$id" Completed
finish
