#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A job starts when its dependencies on other jobs are met, and not before,
# whatever becomes of those jobs meanwhile and whenever the controller is
# killed. If a dependency can never be met, the job says so.

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

# says TEXT COMMAND...: succeeds if the command fails with this text.
says() {
    said=$1
    shift
    "$@" >"$cluster/said" 2>&1 && return 1
    grep -q -- "$said" "$cluster/said" || {
        sed 's/^/# /' "$cluster/said"
        return 1
    }
}
why() { as kilntest1 kctl jobs --all-users --no-headers | awk -v id="$1" '$1 == id'; }
waits() { why "$1" | grep -q "Pending.*waits for $2"; }
ended_never() { has_state "$1" Cancelled && why "$1" | grep -q "never be met"; }
kill_controller() {
    signal controller KILL
    await_end controller || bail_out "the controller lives"
    "$@"
    cluster_controller --socket "$cluster/socket"
}
forget() { root delete job "job-$1" >/dev/null; }
is_gone() { ! root get job "job-$1" >/dev/null 2>&1; }

# --- kinds of dependencies ----------------------------------------------------

a=$(submit --wrap 'exec sleep 1000')
b=$(submit -d "afterok:$a" --wrap true)
c=$(submit -d "afternotok:$a" --wrap true)
d=$(submit -d "afterany:$a,afterok:$c" --wrap true)
e=$(submit -d "after:$a" --wrap 'exec sleep 1000')
f=$(submit -d "afterok:$b?afterok:$c" --wrap true)
g=$(submit -d "afterok:$b" --wrap true)
l=$(submit -d "after:$a+10" --wrap true)
ok "after: the job starts while the other job runs" \
    wait_for 20 has_state "$e" Running
ok "a waiting job says which jobs it waits for" \
    waits "$d" "afterany:$a,afterok:$c"
as kilntest1 kctl cancel "$a" >/dev/null
ok "afternotok: the job starts when the other job was cancelled" \
    wait_for 20 has_state "$c" Completed
ok "afterok: the job is cancelled when the other job was cancelled" \
    wait_for 20 ended_never "$b"
ok "a job that depends on that job is cancelled, too" \
    wait_for 20 ended_never "$g"
ok "afterany and afterok: the job starts when both are met" \
    wait_for 20 has_state "$d" Completed
ok "one of two dependencies: the job starts when one of them is met" \
    wait_for 20 has_state "$f" Completed
m=$(submit -d "afterok:$l" --wrap true)
as kilntest1 kctl why "$m" >"$cluster/said"
like "kctl why shows the chain of dependencies" \
    "$(tr -s ' ' <"$cluster/said" | tr '\n' ' ')" \
    "afterok:$l \(Pending\) +after:$a\+10 \(Cancelled\), for job $l"
ok "after with ten minutes: the job still waits" waits "$l" "after:$a+10"

# --- which jobs can be named --------------------------------------------------

ok "a job that never existed is refused" \
    says "there is no job 999999" submit -d afterok:999999 --wrap true
ok "the number of a future job is refused" \
    says "there is no job" submit -d "afterok:$((m + 1))" --wrap true
ok "an unknown kind of dependency is refused with the reason" \
    says "cannot change its size" submit -d expand:1 --wrap true
other=$(as kilntest2 ksub --parsable --wrap true)
n=$(submit -d "afterok:$other" --wrap true)
ok "a job can depend on a job of another user" \
    wait_for 20 has_state "$n" Completed

never() { # JOB STATE DEPENDENCY: the dependency is refused at once
    says "can never be met: job $1 has ended as $2" submit -d "$3" --wrap true
}
count() { root get jobs -o name | wc -l; }
before=$(count)
ok "afterok of a job that has failed already is refused" \
    never "$a" Cancelled "afterok:$a"
ok "so is afternotok of one that has completed, among others" \
    never "$c" Completed "afterany:$a,afternotok:$c"
ok "and so are two of which none can be met" \
    never "$a" Cancelled "afterok:$a?afternotok:$c"
ok "one of two that can be met is enough" submit -d "afterok:$a?afterok:$c" --wrap true
ok "no job was made of those that were refused" \
    [ "$(count)" -eq $((before + 1)) ]

# --- updates ------------------------------------------------------------------

p=$(submit -d "after:$a+10" --wrap 'exec sleep 1000')
q=$(submit -d "afterok:$p" --wrap true)
ok "a job cannot depend on itself" \
    says "cannot wait for itself" as kilntest1 kctl update "$p" "dependency=afterok:$p"
ok "a job cannot depend on a job that depends on it" \
    says "waits for this job" as kilntest1 kctl update "$p" "dependency=afterok:$q"
ok "a waiting job does not get a dependency that can never be met" \
    says "can never be met: job $a has ended as Cancelled" \
    as kilntest1 kctl update "$p" "dependency=afterok:$a"
ok "and goes on waiting" waits "$p" "after:$a+10"
ok "the dependency of a waiting job can be changed" \
    as kilntest1 kctl update "$p" "dependency=afterany:$a"
ok "the job starts because the new dependency is met already" \
    wait_for 20 has_state "$p" Running
ok "the dependency of a job that has started cannot be changed" \
    says "has started" as kilntest1 kctl update "$p" dependency=
ok "the dependency of a waiting job can be removed" \
    as kilntest1 kctl update "$q" dependency=
ok "the job then starts" wait_for 20 has_state "$q" Completed

# --- a requeue, a deletion, a restart -----------------------------------------

r=$(submit --requeue --wrap 'exec sleep 1000')
wait_for 20 has_state "$r" Running || bail_out "it does not run"
s=$(submit -d "afterany:$r" --wrap true)
t=$(submit -d "afternotok:$r" --wrap true)
u=$(submit -d "afterok:$r" --wrap true)
as kilntest1 kctl requeue "$r" >/dev/null
wait_for 30 has_state "$r" Running
ok "a requeue does not count as the job's end" waits "$s" "afterany:$r"
forget "$r"
ok "afterany: a deleted job counts as ended" \
    wait_for 30 has_state "$s" Completed
ok "afternotok: a deleted job counts as failed" \
    wait_for 20 has_state "$t" Completed
ok "afterok: a job that depends on a deleted job is cancelled" \
    wait_for 20 ended_never "$u"

v=$(submit --wrap true)
w=$(submit -d "afterok:$v,after:$a+10" --wrap true)
wait_for 20 has_state "$v" Completed
gone() { :; }
kill_controller gone
wait_for 20 has_state "$v" Completed || bail_out "no controller"
forget "$v"
wait_for 20 is_gone "$v"
kill_controller gone
x=$(submit -d "afterok:$v" --wrap true)
ok "the result of a deleted job is taken from history" \
    wait_for 20 has_state "$x" Completed
x=$(submit -d "after:$v+10" --wrap true)
sleep 1
ok "after: the delay counts from the start that history has" waits "$x" "after:$v+10"
ok "an update that repeats the dependency waits likewise" \
    as kilntest1 kctl update "$x" "dependency=after:$v+10"
kill_controller gone
ok "and so does a controller that starts anew" waits "$x" "after:$v+10"
as kilntest1 kctl cancel "$x" >/dev/null
ok "afternotok: history says that the deleted job had completed" \
    says "afternotok:$v can never be met: job $v has ended as Completed" \
    submit -d "afternotok:$v" --wrap true
as kilntest1 kctl update "$w" "dependency=afterok:$v" >/dev/null
ok "a job that waited while the other job was deleted starts, too" \
    wait_for 20 has_state "$w" Completed
gg=$(submit -H --wrap true)
ok "an update can name a job that only history knows" \
    as kilntest1 kctl update "$gg" "dependency=afterok:$v"
ok "an update cannot name a job that history does not know either" \
    says "there is no job 999999" \
    as kilntest1 kctl update "$gg" dependency=afterok:999999
as kilntest1 kctl release "$gg" >/dev/null
ok "the updated job starts, because the other job had completed" \
    wait_for 20 has_state "$gg" Completed

# The job ends while no controller runs, so no event reports the end.
# shellcheck disable=SC2016 # for the job
z=$(submit --wrap 'echo $$ >pid; until [ -e go ]; do sleep 0.2; done')
aa=$(submit -d "afterok:$z" --wrap true)
home=$cluster/home/kilntest1
begun() { [ -s "$home/pid" ]; }
wait_for 20 begun || bail_out "no job runs"
ends_alone() {
    as kilntest1 touch go
    wait_for 20 has_ended "$(cat "$home/pid")" || bail_out "the job does not end"
}
kill_controller ends_alone
ok "a job that ended while no controller ran lets the waiting job start" \
    wait_for 40 has_state "$aa" Completed

# --- singleton ----------------------------------------------------------------

sa=$(submit -J one -d singleton --wrap 'exec sleep 1000')
sb=$(submit -J one -d singleton --wrap 'exec sleep 1000')
sc=$(submit -J one -d singleton --wrap 'exec sleep 1000')
sd=$(submit -J two -d singleton --wrap true)
ok "a singleton of another name starts" wait_for 20 has_state "$sd" Completed
ok "the first singleton of a name runs" wait_for 20 has_state "$sa" Running
ok "the second singleton of the name waits" waits "$sb" singleton
as kilntest1 kctl cancel "$sb" >/dev/null
wait_for 20 has_state "$sb" Cancelled
ok "the third singleton waits although the second was cancelled" \
    waits "$sc" singleton
kill_controller gone
ok "it still waits after the controller was killed" \
    wait_for 20 waits "$sc" singleton
ok "the first singleton still runs" wait_for 20 has_state "$sa" Running
as kilntest1 kctl cancel "$sa" >/dev/null
ok "the third singleton runs when the first one has ended" \
    wait_for 20 has_state "$sc" Running

# --- a site that holds such jobs ----------------------------------------------

stop controller
cluster_controller --socket "$cluster/socket" --hold-never-satisfied
ac=$(submit --wrap 'exec sleep 1000')
ab=$(submit -d "afterok:$ac" --wrap true)
wait_for 20 has_state "$ac" Running
as kilntest1 kctl cancel "$ac" >/dev/null
kept() { why "$1" | grep -q "Pending.*can never be met"; }
ok "with the site's setting, a job whose dependency can never be met waits" \
    wait_for 20 kept "$ab"
ok "a new one that could only wait is refused there, too" \
    never "$ac" Cancelled "afterok:$ac"
ok "its dependency can be removed" as kilntest1 kctl update "$ab" dependency=
ok "the job then runs" wait_for 20 has_state "$ab" Completed
finish
