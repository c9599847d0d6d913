#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A job depends on single tasks of an array, independent of the other tasks: on
# their start, their end, their success. This also works when the controller is
# killed, and when the array no longer exists.

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
says() {
    said=$1
    shift
    "$@" >"$cluster/said" 2>&1 && return 1
    grep -q -- "$said" "$cluster/said" || {
        sed 's/^/# /' "$cluster/said"
        return 1
    }
}
line() { as kilntest1 kctl jobs --all-users --no-headers | awk -v id="$1" '$1 == id'; }
waits() { line "$1" | grep -qF -- "waits for $2"; }
ended_never() { has_state "$1" Cancelled && line "$1" | grep -q "never be met"; }
kill_controller() {
    signal controller KILL
    await_end controller || bail_out "the controller lives"
    cluster_controller --socket "$cluster/socket"
}
is_gone() { ! root get job "job-$1" >/dev/null 2>&1; }

# --- kinds of dependencies ----------------------------------------------------
# Tasks 10, 30 and 50 have the indexes 0 to 2. Each waits for a file, and task 30
# then fails.

mkdir -m 0777 "$cluster/flags"
cat >"$cluster/flags/work" <<END
#!/bin/sh
until [ -e $cluster/flags/go\$KILN_ARRAY_TASK_ID ]; do sleep 0.2; done
[ \$KILN_ARRAY_TASK_ID != 30 ] || exit 3
END
chmod 755 "$cluster/flags/work"
a=$(submit -a 10-50:20 --wrap "exec $cluster/flags/work")
ok10=$(submit -d "afterok:${a}_10" --wrap true)
ok30=$(submit -d "afterok:${a}_30" --wrap true)
notok=$(submit -d "afternotok:${a}_30" --wrap true)
begun=$(submit -d "after:${a}_[10,50]" --wrap true)
any=$(submit -d "afterany:${a}_[30-50:20]" --wrap true)
either=$(submit -d "afterok:${a}_30?afterok:${a}_10" --wrap true)
all=$(submit -d "afterok:$a" --wrap true)
: >"$cluster/flags/go30"
ok "afternotok: the job starts when the task has failed" \
    wait_for 20 has_state "$notok" Completed
ok "afterok: the job is cancelled when the task has failed" \
    wait_for 20 ended_never "$ok30"
like "the list of jobs says why" "$(line "$ok30")" \
    "afterok:${a}_30 can never be met: job ${a}_30 has ended as Failed"
is_noted() { root get job "job-$a" -o json | jq -e '.status.failedIndexes == "1"'; }
ok "the array notes the failed task" wait_for 20 is_noted
ok "afterok of a task that has failed already is refused" \
    says "afterok:${a}_\[10,30\] can never be met: job ${a}_30 has failed" \
    submit -d "afterok:${a}_[10,30]" --wrap true
ok "after: the job starts when the tasks have started" \
    wait_for 20 has_state "$begun" Completed
ok "a job that waits for a task says for which" waits "$ok10" "afterok:${a}_10"
as kilntest1 kctl why "$ok10" >"$cluster/said"
like "kctl why shows the task in the chain of dependencies" \
    "$(tr -s ' ' <"$cluster/said" | tr '\n' ' ')" \
    "afterok:${a}_10 \(Running\)"

kill_controller
ok "the job still waits after the controller was killed" \
    wait_for 20 waits "$ok10" "afterok:${a}_10"
ok "a job that depends on a range waits for the tasks that have not ended" \
    waits "$any" "afterany:${a}_[30,50]"
: >"$cluster/flags/go10"
ok "afterok: the job starts when the task has completed" \
    wait_for 20 has_state "$ok10" Completed
ok "a job that needs one of two tasks starts, too" \
    wait_for 20 has_state "$either" Completed
ok "a job that depends on other tasks still waits" \
    waits "$any" "afterany:${a}_[30,50]"
: >"$cluster/flags/go50"
ok "a job that depends on a range starts when its last task has ended" \
    wait_for 20 has_state "$any" Completed
ok "a job that depends on the whole array is cancelled, because a task failed" \
    wait_for 20 ended_never "$all"

# --- mistakes -----------------------------------------------------------------

ok "an index is not accepted as a task number" \
    says "has no task 0; it has 10-50:20" \
    submit -d "afterok:${a}_0" --wrap true
ok "a number between two tasks is not accepted" says "has no task 11;" \
    submit -d "afterok:${a}_[10-30]" --wrap true
ok "a task of a job that is not an array is refused" \
    says "job $all is not an array and has no tasks; use afterok:$all to wait for it" \
    submit -d "afterok:${all}_1" --wrap true
ok "an incomplete list of tasks is refused with an example" \
    says "such as afterok:${a}_3 or afterok:${a}_\[3-9\]" \
    submit -d "afterok:${a}_[10" --wrap true
ok "aftercorr with a task is refused" says "use afterok:${a}_10 to wait for these" \
    submit -a 1-2 -d "aftercorr:${a}_10" --wrap true
like "the API refuses aftercorr with a task, too" \
    "$(api kilntest1 POST "$jobs" "$(job_json x \
    '"dependencies":{"jobs":[{"type":"aftercorr","job":'"$a"',"tasks":"10"}]},')")" \
    '^422.*names no task|^403.*names no task'

# --- an array that no longer exists -------------------------------------------

printf '#!/bin/sh\n#SBATCH -d afterok:%s_10\ntrue\n' "$a" >"$cluster/flags/script"
root delete job "job-$a" >/dev/null
wait_for 20 is_gone "$a"
b=$(submit --sbatch "$cluster/flags/script")
ok "the result of a task of a deleted array is taken from history" \
    wait_for 20 has_state "$b" Completed
ok "history says that one of the tasks failed" \
    says "can never be met: job $a has ended as Failed" \
    submit -d "afterok:${a}_[10-50:20]" --wrap true
ok "a task that the deleted array never had is refused" \
    says "no job $a, and history has no row" submit -d "afterok:${a}_20" --wrap true
like "another user gets an error without details" \
    "$(as kilntest2 ksub -d "afterok:${a}_20" --wrap true 2>&1)" "there is no job $a"

# The array is deleted while no controller could notify the waiting jobs.
# shellcheck disable=SC2016 # for the job
d=$(submit -a 1-3 --wrap 'test $KILN_ARRAY_TASK_ID != 2')
hold=$(submit --hold --wrap true)
e=$(submit -d "afterok:${d}_3,after:$hold" --wrap true)
f=$(submit -d "afternotok:${d}_2,after:$hold" --wrap true)
wait_for 20 has_state "$d" Failed
as kilntest1 kctl update "$f" "dependency=afternotok:${d}_2,after:${hold}" >/dev/null
root delete job "job-$d" >/dev/null
wait_for 20 is_gone "$d"
kill_controller
ok "after the kill the job still waits for the other dependency" \
    wait_for 20 waits "$e" "afterok:${d}_3"
# tell ID: why the job has not ended, if that is what the test finds.
tell() {
    { root get job "job-$1" -o json | jq -c .status; root why "$1"; } 2>&1 | note
    tail -n 5 "$cluster/log/controller" "$cluster/log/n1" | note
}
ok "its dependency can be changed" \
    as kilntest1 kctl update "$e" "dependency=afterok:${d}_3"
ok "afterok: a completed task of a deleted array counts as completed" \
    wait_for 40 has_state "$e" Completed || tell "$e"
as kilntest1 kctl release "$hold" >/dev/null
ok "afternotok: a failed task of a deleted array counts as failed" \
    wait_for 40 has_state "$f" Completed || tell "$f"

# --- a task that never starts -------------------------------------------------

g=$(submit -a 1-500 --hold --wrap true)
h=$(submit -d "afterany:${g}_400" --wrap true)
as kilntest1 kctl cancel "${g}_[300-500]" >/dev/null
ok "afterany: a task that is cancelled before it starts counts as ended" \
    wait_for 20 has_state "$h" Completed
finish
