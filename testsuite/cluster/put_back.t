#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The state directory, and the database where the store is one, are replaced by copies of
# themselves that were made while the controller ran: no running job is ended because the copy does not know it, and
# no ID is used twice.

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
admin() { kctl --no-wait --server "http+unix://$cluster/state/socket" "$@"; }
# begin NAME: submits a job that runs until the file NAME exists. Its ID is in
# $id, and in $highest if it is the highest one.
highest=0
begin() {
    id=$(as kilntest1 ksub --parsable --wrap "echo \$\$ >$1.pid; while [ ! -e $1 ]; do \
sleep 0.2; done; echo done >$1.done")
    [ "$id" -le "$highest" ] || highest=$id
}
runs() { [ -s "$home/$1.pid" ] && kill -0 "$(cat "$home/$1.pid")"; }
node_is_ready() { admin get node n1 --no-headers | grep -qw Ready; }
lists_orphans() { [ "$(admin get node n1 -o json |
    jq '.status.remnants // {} | length')" -eq "$1" ]; }
# nine: nine more IDs, of jobs that do not start.
nine() {
    highest=$(as kilntest1 ksub --parsable --hold --wrap true)
    for _ in 2 3 4 5 6 7 8 9; do
        highest=$(as kilntest1 ksub --parsable --hold --wrap true)
    done
}
# put_back NAME: the controller ends without a warning, and finds the copy when
# it is started again.
put_back() {
    stop controller KILL
    store_put_back "$1"
}
# is_kept NAME IN: the job is an orphan and keeps running.
is_kept() {
    ok "$2: the job that the copy does not know is an orphan" wait_for 90 lists_orphans 1
    ok "$2: it keeps running" runs "$1"
}
# is_new IN: the next ID is a new one.
is_new() {
    before=$highest
    begin "new-$before"
    ok "$1: the next ID was not used before" [ "$id" -gt "$before" ]
    touch "$home/new-$before"
}

cluster_controller
cluster_agent n1 --topology 'package:1 core:16 pu:1'
wait_for 20 node_is_ready || bail_out "no node"
admin taint node n1 kiln.hpc/virtual- >/dev/null
begin old
ok "a job runs" wait_for 20 runs old

# --- once, and an agent whose mark is old ------------------------------------------
# The agent renews its mark every 30 seconds.
store_copy first
begin once
nine
ok "a job runs that the copy does not know" wait_for 20 runs once
put_back first
cluster_controller
is_new "put back once"
is_kept once "put back once"
touch "$home/once"
ok "it is no longer listed when it ends" wait_for 20 lists_orphans 0

# --- opened twice ------------------------------------------------------------------
store_copy second
begin twice
nine
ok "another job runs" wait_for 20 runs twice
signal n1 STOP
put_back second
cluster_controller
stop controller
cluster_controller
cat >"$cluster/job.yaml" <<TXT
apiVersion: batch/v1
kind: Job
metadata: {name: applied}
spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: main, command: ["true"]}]}}}
TXT
as kilntest1 kctl apply -f "$cluster/job.yaml" >"$cluster/applied" 2>&1 &
applying=$!
ok "kctl apply of a new Job says what it waits for" \
    wait_for 20 grep -q 'waiting: .*until its nodes have reported' "$cluster/applied"
signal n1 CONT
wait $applying
like "and makes the Job then" "$(cat "$cluster/applied")" 'created$'
is_new "opened twice"
is_kept twice "opened twice"
touch "$home/twice"
wait_for 20 lists_orphans 0

# --- two branches of one copy ------------------------------------------------------
store_copy third
begin here
nine
ok "a job runs in one branch" wait_for 20 runs here
put_back third
cluster_controller
is_new "the second branch"
is_kept here "the second branch"
begin there
ok "a job runs in the second branch" wait_for 20 runs there
nine
store_copy branch
put_back third
cluster_controller
is_new "the third branch"
ok "the third branch: the jobs of both others are orphans" wait_for 90 lists_orphans 2
begin third
ok "a job runs in the third branch" wait_for 20 runs third
put_back branch
cluster_controller
is_new "back in the second branch"
ok "back in the second branch: its own job is no orphan, the others are" \
    wait_for 90 lists_orphans 2
sleep 1
ok "the job of the first branch runs" runs here
ok "the job of the second branch runs" runs there
ok "the job of the third branch runs" runs third
ok "the job that all of them know runs" runs old
touch "$home/old" "$home/here" "$home/there" "$home/third"
job_is() { admin get job "$1" --no-headers | grep -qw "$2"; }
ok "the job that all of them know completes" wait_for 30 job_is 1 Completed

# --- a start after which no job starts -----------------------------------------------
begin before
ok "a job runs" wait_for 20 runs before
before=$id
stop controller KILL
cluster_controller --paused
begin paused
ok "a job can be submitted while scheduling is paused" test -n "$id"
like "ksub says that it waits" "$(as kilntest1 ksub --hold --wrap true 2>&1)" \
    "warning: scheduling is paused: the job waits"
says_why() { as kilntest1 kctl why "$id" | grep -q "have paused scheduling.*SchedulingPaused"; }
ok "kctl why says that scheduling is paused" wait_for 20 says_why
touch "$home/before"
ok "a job that runs goes on, and completes" wait_for 20 job_is "$before" Completed
like "kctl status says it" "$(admin status)" \
    "Warning: +scheduling is paused since .* by kiln-controller --paused: .*kctl resume scheduling"
like "/readyz says it" "$(curl -fsS "$cluster_url/readyz?verbose")" "scheduling ok: it is paused"
not_ok "no user can resume it" as kilntest1 kctl resume scheduling
stop controller
cluster_controller
says_paused() { admin status | grep -q "scheduling is paused"; }
ok "it is still paused after another start" says_paused
# A binding that was decided before is refused, too.
said=$(curl -sS --unix-socket "$cluster/state/socket" -H 'Content-Type: application/json' \
    -d '{"target":{"kind":"Node","name":"n1"}}' \
    "http://controller/api/v1/namespaces/default/pods/job-$id-0/binding" 2>&1)
like "a binding is refused" "$said" "scheduling is paused since"
not_ok "the job has not started" test -e "$home/paused.pid"
ok "an administrator can resume it" admin resume scheduling
ok "then the job starts" wait_for 20 runs paused
not_ok "it is no longer paused" says_paused
ok "an administrator can pause it" admin pause scheduling
begin later
ok "then a job waits" wait_for 20 says_why
admin resume scheduling >/dev/null
ok "it runs when scheduling is resumed" wait_for 20 runs later
touch "$home/paused" "$home/later"
wait_for 30 job_is "$id" Completed

# --- a job that waited in the copy ------------------------------------------------------
# begin_starts NAME OPTIONS...: submits a job that writes a line for each start.
begin_starts() {
    name=$1 && shift
    id=$(as kilntest1 ksub --parsable "$@" --wrap "echo start >>$name.starts; while [ ! -e $name ]; \
do sleep 0.2; done")
}
starts() { [ "$(wc -l 2>/dev/null <"$home/$1.starts")" -eq "$2" ]; }
two_ready() { [ "$(admin get nodes --no-headers | grep -cw Ready)" -eq 2 ]; }
cluster_agent n2 --topology 'package:1 core:16 pu:1' --heartbeat 1s
wait_for 20 two_ready || bail_out "no second node"
admin taint node n2 kiln.hpc/virtual- >/dev/null
begin_starts full1 -c 16
begin_starts full2 -c 16
wait_for 20 starts full1 1
wait_for 20 starts full2 1
begin_starts waited -c 12
waited=$id
is_waiting() { as kilntest1 kctl why "$1" | grep -q "CPUs\|Resources"; }
ok "a job waits for room" wait_for 20 is_waiting "$waited"
store_copy waiting
touch "$home/full1" "$home/full2"
ok "it runs by now" wait_for 20 starts waited 1
node=$(admin get pod "job-$waited-0" -o json | jq -r .spec.nodeName)
[ "$node" = n1 ] && other=n2 || other=n1
begin_starts beside -c 2 -w "$other"
ok "another job runs that the copy does not know" wait_for 20 starts beside 1
# The other node knows that the copy is old when it has the mark that follows its job.
sleep 12
signal "$node" STOP
put_back waiting
cluster_controller
says_none() { admin status | grep -q 'none starts, until the nodes'; }
ok "kctl status says that no job starts" wait_for 20 says_none
said=$(curl -sS --unix-socket "$cluster/state/socket" -H 'Content-Type: application/json' \
    -d "{\"target\":{\"kind\":\"Node\",\"name\":\"$other\"}}" \
    "http://controller/api/v1/namespaces/default/pods/job-$waited-0/binding" 2>&1)
like "no pod is bound" "$said" "waits until the nodes have reported"
like "kctl why says it" "$(as kilntest1 kctl why "$waited")" "no job starts until the nodes have"
sleep 5
ok "the job is not started on the other node, which has room" starts waited 1
signal "$node" CONT
runs_on() { [ "$(admin get pod "job-$1-0" -o json |
    jq -r '.spec.nodeName + " " + .status.phase')" = "$2 Running" ]; }
ok "the job runs on its node when that has reported" wait_for 90 runs_on "$waited" "$node"
begin_starts next -c 1
ok "then other jobs start" wait_for 30 starts next 1
touch "$home/waited" "$home/next" "$home/beside"
ok "it completes" wait_for 30 job_is "$waited" Completed
ok "it was started once" starts waited 1

# --- jobs that had no pod in the copy ---------------------------------------------------
# An array whose tasks run one after the other, held jobs, and one that a quota keeps
# back. All of them run or have ended when the copy is put back.
ready() { node_is_ready && two_ready; }
count_of() { if [ -e "$home/$1.starts" ]; then wc -l <"$home/$1.starts"; else echo 0; fi; }
started() { [ "$(count_of "$1")" -ge 1 ]; }
task_runs() { started "elements.$1"; }
cat >"$home/elements.sh" <<'TXT'
#!/bin/sh
name=$1${KILN_ARRAY_TASK_ID:+.$KILN_ARRAY_TASK_ID}
echo start >>"$name.starts"
while [ ! -e "$name" ]; do sleep 0.2; done
exit "$(cat "$name")"
TXT
chmod 755 "$home/elements.sh"
let_end() { echo "${2:-0}" >"$home/.end" && mv "$home/.end" "$home/$1"; }
submit() { as kilntest1 ksub --parsable "$@"; }
array=$(submit --array=1-4%1 elements.sh elements)
held=$(submit --hold elements.sh held)
failed=$(submit --hold elements.sh failed)
again=$(submit --hold elements.sh again)
admin create -f - <<'TXT' >/dev/null
{"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "cap"},
 "spec": {"hard": {"requests.cpu": "7"}}}
TXT
counted() { admin get resourcequota cap -o json | jq -e '.status.used["requests.cpu"] == "1"'; }
ok "a task of an array runs" wait_for 30 task_runs 1
ok "a quota counts it" wait_for 20 counted
submit -c 4 elements.sh first >/dev/null
ok "a job takes the rest of the quota" wait_for 20 started first
over=$(submit -c 4 elements.sh over)
is_kept_back() { as kilntest1 kctl why "$over" | grep -q "quota"; }
ok "another job is kept back by the quota" wait_for 20 is_kept_back
store_copy elements
let_end elements.1 && wait_for 30 task_runs 2
let_end elements.2 4 && wait_for 30 task_runs 3
let_end first && wait_for 30 started over
as kilntest1 kctl release "$failed" >/dev/null && wait_for 30 started failed
let_end failed 3
ok "a held job was released, and has failed" wait_for 30 job_is "$failed" Failed
as kilntest1 kctl release "$again" >/dev/null && wait_for 30 started again
as kilntest1 kctl requeue "$again" >/dev/null
started_again() { [ "$(count_of again)" -eq 2 ]; }
ok "another was released, and has been requeued" wait_for 30 started_again
admin delete resourcequota cap >/dev/null
as kilntest1 kctl release "$held" >/dev/null
ok "all of them run or have ended" wait_for 30 started held
put_back elements
cluster_controller
wait_for 60 ready || bail_out "the nodes are not ready"
row() { as kilntest1 kctl get job "$array" -o json; }
ran() { row | jq -e ".status.succeeded // 0 | . >= $1"; }
ok "the task that had ended is recorded as done" wait_for 60 ran 1
runs_at_all() { as kilntest1 kctl get pods --no-headers | grep "job-$1" | grep -qw Running; }
ok "the task that runs is adopted" wait_for 60 runs_at_all "$array-2"
ok "the job that was kept back is adopted" wait_for 60 runs_at_all "$over"
let_end elements.3 && wait_for 30 task_runs 4
let_end elements.4
let_end over
ok "the job that was kept back completes" wait_for 30 job_is "$over" Completed
array_over() { row | jq -e '.status.conditions[]? | select(.type == "Failed" and .status == "True")'; }
ok "the array ends, and has failed, as its second task" wait_for 60 array_over
like "the failed task is the one that failed" "$(row)" '"failedIndexes": *"1"'
ok "the held job is still held" job_is "$held" Held
as kilntest1 kctl release "$held" "$failed" >/dev/null
ok "a held job that runs is adopted when it is released" wait_for 30 runs_at_all "$held"
ok "and its node no longer lists it as an orphan" wait_for 30 lists_orphans 0
ok "one that has ended ends as it had" wait_for 30 job_is "$failed" Failed
is "with its exit code" "$(as kilntest1 kctl wait "$failed" --timeout=30s >/dev/null 2>&1; echo $?)" 3
as kilntest1 kctl release "$again" >/dev/null
ok "of one that was requeued, the second attempt is adopted" \
    wait_for 30 runs_at_all "$again-0-r1"
let_end again
ok "it completes" wait_for 30 job_is "$again" Completed
ok "it was not started a third time" started_again
let_end held
ok "the held job completes" wait_for 30 job_is "$held" Completed
for name in elements.1 elements.2 elements.3 elements.4 held failed first over; do
    is "$name was started once" "$(count_of "$name" | tr -d ' ')" 1
done

# --- jobs of several nodes, and one that waits for another --------------------------------
admin delete resourcequota cap >/dev/null
gang=$(submit --hold -N 2 elements.sh gang)
whole=$(submit --hold -N 2 elements.sh whole)
one=$(submit --hold elements.sh one)
after=$(submit -d "afterok:$one" elements.sh after)
store_copy gangs
as kilntest1 kctl release "$gang" "$whole" "$one" >/dev/null
let_end whole
let_end one
ok "a job of two nodes runs" wait_for 30 started gang
ok "another has completed" wait_for 30 job_is "$whole" Completed
ok "a job that waited for a third runs" wait_for 30 started after
put_back gangs
cluster_controller
wait_for 60 ready || bail_out "the nodes are not ready"
as kilntest1 kctl release "$gang" "$whole" "$one" >/dev/null
ok "the first pod of the job of two nodes is adopted" wait_for 30 runs_at_all "$gang-0"
ok "so is the second" wait_for 30 runs_at_all "$gang-1"
ok "the other completes again, without a start" wait_for 30 job_is "$whole" Completed
ok "so does the third" wait_for 30 job_is "$one" Completed
ok "and the job that waited for it is adopted" wait_for 30 runs_at_all "$after-0"
let_end after
let_end gang
ok "that completes" wait_for 30 job_is "$after" Completed
ok "the job of two nodes completes" wait_for 30 job_is "$gang" Completed
for name in gang whole one after; do
    is "$name was started once" "$(count_of "$name" | tr -d ' ')" 1
done
finish
