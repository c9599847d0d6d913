#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Tasks of an array that run, have failed or are done run again, each as a new
# attempt with its own row and log, whatever becomes of the controller; the
# others are left alone, and so is an array that has ended.

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
# counts JOB: succeeded, failed, ready.
counts() {
    root get job "job-$1" -o json | jq -r '.status |
        "\(.succeeded // 0) \(.failed // 0) \(.ready // 0)"'
}
has_counts() { [ "$(counts "$1")" = "$2" ]; }
# The attempts of a task and how they ended: "1 Failed 2 Completed".
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

# Task 1 is done, 2 fails until a file is there, 3 and 4 run on.
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

ok "what failed runs again" says "requeued" requeue "${a}_2"
ok "as a new attempt" wait_for 20 has_attempts "${a}_2" "1 Failed 2 Failed"
ok "and counts once" wait_for 20 has_counts "$a" "1 1 2"
: >"$cluster/flags/mended"
wait=$(submit -d "afterok:${a}_2" --hold --wrap true)
ok "of a range, those that began" says "requeued" requeue "${a}_[1-3]"
ok "one that failed is done by now" wait_for 20 has_attempts "${a}_2" \
    "1 Failed 2 Failed 3 Completed"
ok "one that was done is done again" wait_for 20 has_attempts "${a}_1" \
    "1 Completed 2 Completed"
ok "one that ran was ended for it" wait_for 20 has_attempts "${a}_3" "1 Requeued"
ok "and runs again; the counts are right" wait_for 20 has_counts "$a" "2 0 2"
like "the log is that of its last attempt" \
    "$(as kilntest1 kctl logs "${a}_2" 2>&1)" "^try 2"
like "that before is there, too" \
    "$(as kilntest1 kctl logs --previous "${a}_2" 2>&1)" "try"
as kilntest1 kctl release "$wait" >/dev/null
ok "who waits for it goes by its last end" wait_for 20 has_state "$wait" Completed

# --- while the controller dies ---------------------------------------------------

requeue "${a}_[3-4]" >/dev/null
signal controller KILL
await_end controller || bail_out "the controller lives"
cluster_controller --socket "$cluster/socket"
ok "a requeue is heeded after a kill" wait_for 30 has_attempts "${a}_4" "1 Requeued"
ok "once" wait_for 20 has_attempts "${a}_3" "1 Requeued 2 Requeued"
ok "held with it, it waits" says "requeued and held" requeue --hold "${a}_4"
ok "until it is released" wait_for 20 has_counts "$a" "2 0 1"
as kilntest1 kctl release "${a}_4" >/dev/null
ok "and then runs" wait_for 20 has_counts "$a" "2 0 2"
told_who() {
    as kilntest1 kctl history --no-headers --job "${a}_3" -o state,by |
        grep -q '^Requeued *kilntest1$'
}
ok "history tells who asked for it" wait_for 20 told_who
ok "it is its owner's to say" says "cannot change it" \
    as kilntest2 kctl requeue "${a}_3"

# --- what does not run again -----------------------------------------------------

b=$(submit -a 1-9%1 --wrap 'exec sleep 1000')
wait_for 20 has_counts "$b" "0 0 1" || bail_out "$(counts "$b")"
ok "a task that waits has nothing to begin anew" says "has not started yet" \
    requeue "${b}_5"
ok "nor has one that there is not" says "has no such task" requeue "${b}_10"
as kilntest1 kctl cancel "${b}_7" >/dev/null
ok "a cancelled one stays so" says "what is cancelled stays so; 'ksub -a 7'" \
    requeue "${b}_7"
: >"$cluster/flags/go"
ok "the array completes" wait_for 30 has_state "$a" Completed
ok "and is not opened again" says "has ended as a whole.*ksub -a" requeue "${a}_2"
finish
