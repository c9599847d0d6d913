#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A job waits for single tasks of an array, whatever the others come to: for
# their start, their end, their success; whenever the controller dies, and when
# the array is gone.

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

submit() { as kilntest1 ksub --parsable "$@"; }
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
line() { as kilntest1 kctl jobs --all --no-headers | awk -v id="$1" '$1 == id'; }
waits() { line "$1" | grep -qF -- "waits for $2"; }
ended_never() { has_state "$1" Cancelled && line "$1" | grep -q "never be met"; }
kill_controller() {
    signal controller KILL
    await_end controller || bail_out "the controller lives"
    cluster_controller --socket "$cluster/socket"
}
is_gone() { ! root get job "job-$1" >/dev/null 2>&1; }

# --- what is waited for ---------------------------------------------------------
# Tasks 10, 30 and 50 have the indexes 0 to 2. 10 waits for a file, 30 fails, 50
# waits for another.

mkdir -m 0777 "$cluster/flags"
cat >"$cluster/flags/work" <<END
#!/bin/sh
case \$KILN_ARRAY_TASK_ID in
30) exit 3 ;;
*) until [ -e $cluster/flags/go\$KILN_ARRAY_TASK_ID ]; do sleep 0.2; done ;;
esac
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
ok "the failure of a task is waited for" wait_for 20 has_state "$notok" Completed
ok "its success is never met" wait_for 20 ended_never "$ok30"
like "as its line says" "$(line "$ok30")" \
    "afterok:${a}_30 can never be met: job ${a}_30 has ended as Failed"
ok "the start of others is" wait_for 20 has_state "$begun" Completed
ok "what waits for another says for which" waits "$ok10" "afterok:${a}_10"
as kilntest1 kctl why "$ok10" >"$cluster/said"
like "why has it in the chain" "$(tr -s ' ' <"$cluster/said" | tr '\n' ' ')" \
    "afterok:${a}_10 \(Running\)"

kill_controller
ok "and after a kill it still does" wait_for 20 waits "$ok10" "afterok:${a}_10"
ok "a range waits for its last task" waits "$any" "afterany:${a}_[30,50]"
: >"$cluster/flags/go10"
ok "its success starts what waits" wait_for 20 has_state "$ok10" Completed
ok "also where any of two was enough" wait_for 20 has_state "$either" Completed
ok "and not what waits for others" waits "$any" "afterany:${a}_[30,50]"
: >"$cluster/flags/go50"
ok "the last of a range starts what waits" wait_for 20 has_state "$any" Completed
ok "the array as a whole has failed" wait_for 20 ended_never "$all"

# --- mistakes -------------------------------------------------------------------

ok "an index is no task" says "has no task 0; it has 10-50:20" \
    submit -d "afterok:${a}_0" --wrap true
ok "nor is what lies between two" says "has no task 11;" \
    submit -d "afterok:${a}_[10-30]" --wrap true
ok "a job that is none has no tasks" \
    says "job $all is no array and has no tasks; afterok:$all waits for it" \
    submit -d "afterok:${all}_1" --wrap true
ok "a half-written list is told with an example" \
    says "such as afterok:${a}_3 or afterok:${a}_\[3-9\]" \
    submit -d "afterok:${a}_[10" --wrap true
ok "aftercorr names no task" says "afterok:${a}_10 waits for these" \
    submit -a 1-2 -d "aftercorr:${a}_10" --wrap true
like "and by the API neither" "$(api kilntest1 POST "$jobs" "$(job_json x \
    '"dependencies":{"jobs":[{"type":"aftercorr","job":'"$a"',"tasks":"10"}]},')")" \
    '^422.*names no task|^403.*names no task'

# --- an array that is gone ------------------------------------------------------

printf '#!/bin/sh\n#SBATCH -d afterok:%s_10\ntrue\n' "$a" >"$cluster/flags/script"
root delete job "job-$a" >/dev/null
wait_for 20 is_gone "$a"
b=$(submit --sbatch "$cluster/flags/script")
ok "a task of one that is gone is known from history" \
    wait_for 20 has_state "$b" Completed
c=$(submit -d "afterok:${a}_[10-50:20]" --wrap true)
ok "also that one of them failed" wait_for 20 ended_never "$c"
ok "a task that it never had is unknown" \
    says "no job $a, and history has no row" submit -d "afterok:${a}_20" --wrap true
like "which somebody else is told as well" \
    "$(as kilntest2 ksub -d "afterok:${a}_20" --wrap true 2>&1)" "there is no job $a"

# Gone while nobody was there who could tell.
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
ok "what is waited for besides is waited for" wait_for 20 waits "$e" "afterok:${d}_3"
as kilntest1 kctl update "$e" "dependency=afterok:${d}_3" >/dev/null
ok "a task that has completed and is gone has completed" \
    wait_for 20 has_state "$e" Completed
as kilntest1 kctl release "$hold" >/dev/null
ok "and one that has failed has failed" wait_for 20 has_state "$f" Completed

# --- a task that never starts ---------------------------------------------------

g=$(submit -a 1-500 --hold --wrap true)
h=$(submit -d "afterany:${g}_400" --wrap true)
as kilntest1 kctl cancel "${g}_[300-500]" >/dev/null
ok "one that is cancelled before it starts has ended" \
    wait_for 20 has_state "$h" Completed
finish
