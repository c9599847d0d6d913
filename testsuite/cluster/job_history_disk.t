#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A full disk of the history file stops nothing, and is reported. The rows of
# jobs that end meanwhile are written when there is space. A restore of the
# store keeps the history.

# shellcheck disable=SC2119,SC2317 # functions that are called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq curl
[ "$(id -u)" -eq 0 ] || skip_all "only root can mount"
mkdir "$cluster/small" "$cluster/state"
chmod 700 "$cluster/small" "$cluster/state"
mount -t tmpfs -o size=2m,mode=700 kiln-test "$cluster/small" 2>/dev/null ||
    skip_all "cannot mount a tmpfs here"
trap 'umount -l "$cluster/small"; cluster_end' EXIT
cluster_munge
cluster_init
ln -s "$cluster/small/history.db" "$cluster/state/history.db"
touch "$cluster/small/history.db"
controller() { cluster_controller --allow-root-jobs; }
controller
KILN_SERVER=$cluster/state/socket
export KILN_SERVER
cluster_agent n1 --allow-root-jobs
wait_for 20 kctl wait --for condition=Ready node n1 || bail_out "no node"
cd "$cluster/home" || bail_out "no home"

rows() { kctl history --job "$1" -o json | jq '.items | length'; }
has_rows() { [ "$(rows "$1")" = "$2" ]; }
submit() { ksub --parsable "$@" | grep -o '[0-9]*$'; }
state() { kctl get job "$1" -o json | jq -r .status.state; }
is_state() { [ "$(state "$1")" = "$2" ]; }
is_said() { kctl status | grep -q 'history cannot be written'; }
metric() {
    curl -s --unix-socket "$cluster/state/socket" http://localhost/metrics |
        awk -v name="$1" '$1 == name { print $2 }'
}

# --- a full disk --------------------------------------------------------------

first=$(submit --wrap true)
ok "a job has a row" wait_for 20 has_rows "$first" 1
dd if=/dev/zero of="$cluster/small/filler" bs=4096 2>/dev/null
ids=
# Some rows still fit into the log file of the database, so there are many
# jobs.
for job in $(seq 40); do
    ids="$ids $(submit --wrap true)"
done
last=${ids##* }
ok "jobs end although the disk of the history is full" \
    wait_for 60 is_state "$last" Completed
ok "kctl status says that the history cannot be written" wait_for 30 is_said
deleted=$last
kctl delete job "$deleted" >/dev/null
ok "a job can be deleted before its row is written" \
    wait_for 20 sh -c "! kctl get job $deleted"
stop controller KILL
controller
wait_for 20 kctl wait --for condition=Ready node n1
ok "...and the controller can be killed and restarted" kctl jobs
rm "$cluster/small/filler"
ok "when there is space again, the row of the deleted job is written" \
    wait_for 30 has_rows "$deleted" 1
missing=
for job in $ids; do
    wait_for 10 has_rows "$job" 1 || missing="$missing $job"
done
is "...and one row for each other job" "$missing" ""
nothing_waits() { [ "$(metric kiln_history_waiting)" = 0 ]; }
ok "no row waits to be written any more" wait_for 10 nothing_waits
not_ok "kctl status no longer says that the history cannot be written" is_said

# --- a restore ----------------------------------------------------------------

ok "--backup copies the store and the history" of_store \
    --backup "$cluster/copy"
ok "...into two files" test -s "$cluster/copy.history"
late=$(submit --wrap true)
wait_for 20 has_rows "$late" 1
stop controller
store_empty
ok "--restore restores the store" of_store \
    --restore "$cluster/copy"
controller
ok "the row of a job that ended after the backup is kept" \
    wait_for 20 has_rows "$late" 1
is "...and marked as lost" "$(kctl history --job "$late" -o json |
    jq '.items[0].lost')" true
is "...and the other rows are not marked" \
    "$(kctl history --job "$first" -o json |
    jq '.items[0].lost')" null
stop controller
store_empty
rm "$cluster/small"/history.db* "$cluster/state/history.db"
ok "if the history file is missing, --restore uses the copy" of_store \
    --restore "$cluster/copy"
controller
ok "...which has the earlier rows" wait_for 20 has_rows "$first" 1
finish
