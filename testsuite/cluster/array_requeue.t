#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Array tasks that run, have failed or have completed are requeued: each gets a
# new attempt with its own row and log, even if the controller is killed. Other
# tasks are not affected, and an array that has ended cannot be requeued.

# shellcheck disable=SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq
cluster_user kilntest1 || skip_all "only root can make users"
cluster_user kilntest2 || skip_all "only root can make users"
cluster_munge
cluster_controller --socket "$cluster/socket"
cluster_agent n1 --topology 'package:1 core:8 pu:1'
wait_for 20 root wait --for condition=Ready node n1 || bail_out "no node"
for key in $(root get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    root taint node n1 "$key-" >/dev/null
done

state() { root get job "job-$1" -o json | jq -r '.status.state // "Pending"'; }
has_state() { [ "$(state "$1")" = "$2" ]; }
# counts JOB: prints the numbers of succeeded, failed and ready tasks.
counts() {
    root get job "job-$1" -o json | jq -r '.status |
        "\(.succeeded // 0) \(.failed // 0) \(.ready // 0)"'
}
has_counts() { [ "$(counts "$1")" = "$2" ]; }
# Prints the attempts of a task and how they ended: "1 Failed 2 Completed".
attempts() {
    as kilntest1 kctl history "$1" -o json |
        jq -r '.items[] | "\(.attempt) \(.state)"' | sort | tr '\n' ' '
}
has_attempts() { [ "$(attempts "$1")" = "$2 " ]; }
says() {
    said=$1
    shift
    "$@" >"$cluster/said" 2>&1
    grep -q -- "$said" "$cluster/said" || {
        sed 's/^/# /' "$cluster/said"
        return 1
    }
}
requeue() { as kilntest1 kctl requeue "$@"; }

# Task 1 completes, task 2 fails until a file exists, and tasks 3 and 4 keep
# running.
mkdir -m 0777 "$cluster/flags"
cat >"$cluster/flags/work" <<END
#!/bin/sh
echo "try \$(ls $cluster/flags | grep -c "^ran\$KILN_ARRAY_TASK_ID-")"
touch $cluster/flags/ran\$KILN_ARRAY_TASK_ID-\$\$
case \$KILN_ARRAY_TASK_ID in
1) exit 0 ;;
2) [ -e $cluster/flags/mended ] || exit 3 ;;
*) until [ -e $cluster/flags/go ]; do sleep 0.2; done ;;
esac
END
chmod 755 "$cluster/flags/work"
a=$(submit -a 1-4 -o "$cluster/flags/out.%A_%a" --wrap "exec $cluster/flags/work")
wait_for 20 has_counts "$a" "1 1 2" || bail_out "$(counts "$a")"

ok "a task that failed can be requeued" says "requeued" requeue "${a}_2"
ok "it has a new attempt" wait_for 20 has_attempts "${a}_2" "1 Failed 2 Failed"
ok "it is counted once" wait_for 20 has_counts "$a" "1 1 2"
: >"$cluster/flags/mended"
wait=$(submit -d "afterok:${a}_2" --hold --wrap true)
ok "a range of tasks that have started can be requeued" \
    says "requeued" requeue "${a}_[1-3]"
ok "the task that failed before completes" wait_for 20 has_attempts "${a}_2" \
    "1 Failed 2 Failed 3 Completed"
ok "a task that had completed completes again" \
    wait_for 20 has_attempts "${a}_1" \
    "1 Completed 2 Completed"
ok "a task that was running is ended" \
    wait_for 20 has_attempts "${a}_3" "1 Requeued"
ok "it runs again, and the counts are right" wait_for 20 has_counts "$a" "2 0 2"
like "kctl logs shows the last attempt" \
    "$(as kilntest1 kctl logs "${a}_2" 2>&1)" "^try 2"
like "kctl logs --previous shows the file of the attempt before" \
    "$(as kilntest1 kctl logs --previous "${a}_2" 2>&1)" "^try 1"
as kilntest1 kctl release "$wait" >/dev/null
ok "a job that waits for the task starts according to its last attempt" \
    wait_for 20 has_state "$wait" Completed

# --- while the controller is killed -------------------------------------------

requeue "${a}_[3-4]" >/dev/null
signal controller KILL
await_end controller || bail_out "the controller lives"
cluster_controller --socket "$cluster/socket"
ok "a requeue is completed after the controller was killed" \
    wait_for 30 has_attempts "${a}_4" "1 Requeued"
ok "it is done only once" \
    wait_for 20 has_attempts "${a}_3" "1 Requeued 2 Requeued"
ok "a task can be requeued and held" \
    says "requeued and held" requeue --hold "${a}_4"
ok "the held task waits" wait_for 20 has_counts "$a" "2 0 1"
as kilntest1 kctl release "${a}_4" >/dev/null
ok "it runs when it is released" wait_for 20 has_counts "$a" "2 0 2"
told_who() {
    as kilntest1 kctl history --no-headers --job "${a}_3" -o state,by |
        grep -q '^Requeued *kilntest1$'
}
ok "history says who requested the requeue" wait_for 20 told_who
ok "another user cannot requeue the task" says "cannot change it" \
    as kilntest2 kctl requeue "${a}_3"

# --- tasks that cannot be requeued --------------------------------------------

b=$(submit -a 1-9%1 --wrap 'exec sleep 1000')
wait_for 20 has_counts "$b" "0 0 1" || bail_out "$(counts "$b")"
ok "a task that has not started cannot be requeued" says "has not started yet" \
    requeue "${b}_5"
ok "a task that does not exist cannot be requeued" \
    says "has no such task" requeue "${b}_10"
as kilntest1 kctl cancel "${b}_7" >/dev/null
ok "a cancelled task cannot be requeued" \
    says "cancelled tasks cannot run again; 'ksub -a 7'" \
    requeue "${b}_7"
: >"$cluster/flags/go"
ok "the array completes" wait_for 30 has_state "$a" Completed
ok "a task of an array that has ended cannot be requeued" \
    says "has ended as a whole.*ksub -a" requeue "${a}_2"
finish
