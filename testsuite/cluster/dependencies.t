#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A job starts when what it waits for of other jobs has become so, and not
# before, whatever becomes of them meanwhile and whenever the controller dies;
# one that waits in vain is told so.

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


# says TEXT COMMAND...: it fails with these words.
says() {
    said=$1
    shift
    "$@" >"$cluster/said" 2>&1 && return 1
    grep -q -- "$said" "$cluster/said" || {
        sed 's/^/# /' "$cluster/said"
        return 1
    }
}
why() { as kilntest1 kctl jobs --all --no-headers | awk -v id="$1" '$1 == id'; }
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

# --- what is waited for ---------------------------------------------------------

a=$(submit --wrap 'exec sleep 1000')
b=$(submit -d "afterok:$a" --wrap true)
c=$(submit -d "afternotok:$a" --wrap true)
d=$(submit -d "afterany:$a,afterok:$c" --wrap true)
e=$(submit -d "after:$a" --wrap 'exec sleep 1000')
f=$(submit -d "afterok:$b?afterok:$c" --wrap true)
g=$(submit -d "afterok:$b" --wrap true)
l=$(submit -d "after:$a+10" --wrap true)
ok "after: starts beside what it waits for" wait_for 20 has_state "$e" Running
ok "what waits says for what" waits "$d" "afterany:$a,afterok:$c"
as kilntest1 kctl cancel "$a" >/dev/null
ok "afternotok: starts when it was cancelled" wait_for 20 has_state "$c" Completed
ok "afterok of that ends as what can never be" wait_for 20 ended_never "$b"
ok "and what waits for that in turn" wait_for 20 ended_never "$g"
ok "afterany and afterok, both: when both are" wait_for 20 has_state "$d" Completed
ok "one of two: when the other can be" wait_for 20 has_state "$f" Completed
m=$(submit -d "afterok:$l" --wrap true)
as kilntest1 kctl why "$m" >"$cluster/said"
like "why has the chain" "$(tr -s ' ' <"$cluster/said" | tr '\n' ' ')" \
    "afterok:$l \(Pending\) +after:$a\+10 \(Cancelled\), for job $l"
ok "ten minutes after: not yet" waits "$l" "after:$a+10"

# --- who and what is named ------------------------------------------------------

ok "a job that never was is refused" \
    says "there is no job 999999" submit -d afterok:999999 --wrap true
ok "so is what the next one would be" \
    says "there is no job" submit -d "afterok:$((m + 1))" --wrap true
ok "so is what is not there, with the reason" \
    says "burst buffers" submit -d afterburstbuffer:1 --wrap true
other=$(as kilntest2 ksub --parsable --wrap true)
n=$(submit -d "afterok:$other" --wrap true)
ok "somebody else's job is waited for" wait_for 20 has_state "$n" Completed

# --- updates --------------------------------------------------------------------

p=$(submit -d "after:$a+10" --wrap 'exec sleep 1000')
q=$(submit -d "afterok:$p" --wrap true)
ok "a job does not wait for itself" \
    says "cannot wait for itself" as kilntest1 kctl update "$p" "dependency=afterok:$p"
ok "nor for one that waits for it" \
    says "waits for this one" as kilntest1 kctl update "$p" "dependency=afterok:$q"
ok "it may wait for something else" \
    as kilntest1 kctl update "$p" "dependency=afterany:$a"
ok "which is so already, and it starts" wait_for 20 has_state "$p" Running
ok "what runs waits for nothing any more" \
    says "has begun" as kilntest1 kctl update "$p" dependency=
ok "one that waits need not" as kilntest1 kctl update "$q" dependency=
ok "and starts" wait_for 20 has_state "$q" Completed

# --- a requeue, a deletion, a restart -------------------------------------------

r=$(submit --requeue --wrap 'exec sleep 1000')
wait_for 20 has_state "$r" Running || bail_out "it does not run"
s=$(submit -d "afterany:$r" --wrap true)
t=$(submit -d "afternotok:$r" --wrap true)
u=$(submit -d "afterok:$r" --wrap true)
as kilntest1 kctl requeue "$r" >/dev/null
wait_for 30 has_state "$r" Running
ok "a requeue is no end" waits "$s" "afterany:$r"
forget "$r"
ok "a job that was deleted has ended" wait_for 30 has_state "$s" Completed
ok "and not well" wait_for 20 has_state "$t" Completed
ok "so that nothing waits for its success" wait_for 20 ended_never "$u"

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
ok "what is gone is known from history" wait_for 20 has_state "$x" Completed
y=$(submit -d "afternotok:$v" --wrap true)
ok "also that it was not so" wait_for 20 ended_never "$y"
as kilntest1 kctl update "$w" "dependency=afterok:$v" >/dev/null
ok "and noted by who waited" wait_for 20 has_state "$w" Completed
gg=$(submit -H --wrap true)
ok "an update may name what only history knows" \
    as kilntest1 kctl update "$gg" "dependency=afterok:$v"
ok "but not what it does not know" \
    says "there is no job 999999" \
    as kilntest1 kctl update "$gg" dependency=afterok:999999
as kilntest1 kctl release "$gg" >/dev/null
ok "and starts, for it had ended so" wait_for 20 has_state "$gg" Completed

# The end is on the disk, and nobody was told of it.
# shellcheck disable=SC2016 # for the job
z=$(submit --wrap 'echo $$ >pid; until [ -e go ]; do sleep 0.05; done')
aa=$(submit -d "afterok:$z" --wrap true)
home=$cluster/home/kilntest1
begun() { [ -s "$home/pid" ]; }
wait_for 20 begun || bail_out "no job runs"
ends_alone() {
    as kilntest1 touch go
    wait_for 20 has_ended "$(cat "$home/pid")" || bail_out "the job does not end"
}
kill_controller ends_alone
ok "an end while nobody was there starts what waited" \
    wait_for 40 has_state "$aa" Completed

# --- one at a time --------------------------------------------------------------

sa=$(submit -J one -d singleton --wrap 'exec sleep 1000')
sb=$(submit -J one -d singleton --wrap 'exec sleep 1000')
sc=$(submit -J one -d singleton --wrap 'exec sleep 1000')
sd=$(submit -J two -d singleton --wrap true)
ok "a singleton of another name starts" wait_for 20 has_state "$sd" Completed
ok "the first of the name runs" wait_for 20 has_state "$sa" Running
ok "the second waits" waits "$sb" singleton
as kilntest1 kctl cancel "$sb" >/dev/null
wait_for 20 has_state "$sb" Cancelled
ok "the third waits, too" waits "$sc" singleton
kill_controller gone
ok "also when the controller has died" wait_for 20 waits "$sc" singleton
ok "and the first runs on" wait_for 20 has_state "$sa" Running
as kilntest1 kctl cancel "$sa" >/dev/null
ok "and runs when nobody is before it" wait_for 20 has_state "$sc" Running

# --- a site that would rather have them wait ------------------------------------

stop controller
cluster_controller --socket "$cluster/socket" --hold-never-satisfied
ab=$(submit -d "afternotok:$sd" --wrap true)
kept() { why "$1" | grep -q "Pending.*can never be met"; }
ok "what can never be met waits on where the site says so" wait_for 20 kept "$ab"
ok "until it need not" as kilntest1 kctl update "$ab" dependency=
ok "and runs" wait_for 20 has_state "$ab" Completed
finish
