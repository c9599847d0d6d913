#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The controller is away for longer than it takes to give a node up. Jobs run,
# end and come to their limits meanwhile, an agent is started anew: when it is
# back nothing is lost, doubled or held against anybody.

# shellcheck disable=SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge
grace=2
controller() { cluster_controller --node-grace "${grace}s"; }
controller
KILN_SERVER=$cluster/state/socket
export KILN_SERVER
home=$cluster/home/kilntest1
nodes="n1 n2 n3"
agent() { # NAME
    cluster_agent "$1" --topology 'package:1 core:8 pu:1' --heartbeat 300ms
}
is_ready() { kctl get node "$1" --no-headers | grep -qw Ready; }
for node in $nodes; do
    agent "$node"
done
for node in $nodes; do
    wait_for 20 is_ready "$node" || bail_out "no node $node"
    kctl taint "$node" "$(kctl get node "$node" -o json | jq -r '.spec.taints[] |
        select(.key | contains("virtual")).key')-" >/dev/null
done

# Says that it begins, and ends as it is told to.
cat >"$home/patient.sh" <<'TXT'
#!/bin/sh
echo $$ >>starts-$KILN_JOB_ID
while [ ! -e end-$1 ]; do sleep 0.05; done
exit "$(cat end-$1)"
TXT
chown kilntest1: "$home/patient.sh"
begun() { grep -q . "$home/starts-$1"; }
submit() { # NODE WORD [OPTION...]: runs; its id is $id
    submit_node=$1 submit_word=$2
    shift 2
    id=$(as kilntest1 ksub --parsable -w "$submit_node" "$@" patient.sh \
        "$submit_word")
    wait_for 20 begun "$id" || bail_out "job $id does not begin"
}
end() { # WORD CODE
    as kilntest1 sh -c "echo $2 >end-$1.new && mv end-$1.new end-$1"
}
process_of() { tail -n 1 "$home/starts-$1"; }
state_is() { kctl get job "$1" --no-headers | grep -qw "$2"; }
exit_code_of() { kctl get job "job-$1" -o json | jq -r '.status.lastRun.exitCode // 0'; }

ends=''
stays=''
for node in $nodes; do
    submit "$node" "ends-$node"
    ends="$ends $id"
    submit "$node" "stays-$node"
    stays="$stays $id"
done
submit n2 never -t 0:03
late=$id
waits=$(as kilntest1 ksub --parsable -w n1 -c 8 --wrap true)

# --- away -------------------------------------------------------------------------

stop controller KILL
end ends-n1 3
end ends-n2 4
end ends-n3 0
for id in $ends $late; do
    ok "job $id ends without a controller" \
        wait_for 20 has_ended "$(process_of "$id")"
done
stop n3 KILL
agent n3
said=$(as kilntest1 timeout 3 ksub --parsable patient.sh meanwhile 2>&1)
is "nothing can be submitted" "$?" 124
like "which is said" "$said" 'no answer yet.*cannot reach the controller'
sleep "$((grace * 2))" # until the nodes would have been given up, twice
for id in $stays; do
    ok "job $id runs on" kill -0 "$(process_of "$id")"
done

# --- back -------------------------------------------------------------------------

controller
for node in $nodes; do
    ok "node $node is heard of" wait_for 20 is_ready "$node"
done
set -- 3 4 0
for id in $ends; do
    wanted=Failed
    [ "$1" -ne 0 ] || wanted=Completed
    ok "the end of job $id is told" wait_for 20 state_is "$id" "$wanted"
    is "with its exit code" "$(exit_code_of "$id")" "$1"
    shift
done
ok "that of one that came to its limit, too" wait_for 20 state_is "$late" TimedOut
for id in $stays; do
    ok "job $id is running" state_is "$id" Running
done
submit n3 after
end after 0
ok "jobs are taken and run again" wait_for 20 state_is "$id" Completed
for node in $nodes; do
    end "stays-$node" 5
done
for id in $stays; do
    ok "what ran through it all ends as it does" wait_for 20 state_is "$id" Failed
    is "with its own code" "$(exit_code_of "$id")" 5
done
ok "and what waited runs" wait_for 20 state_is "$waits" Completed
is "each was started once" "$(cat "$home"/starts-* | wc -l)" 8
is "and is one job" "$(kctl get jobs -o name | wc -l)" 9
unlike "no node was given up meanwhile" "$(cat "$cluster/log/controller")" \
    'has not been heard of'
is "no core is anybody's" "$(kctl get nodes -o json |
    jq '[.items[].status.remnants // {} | length] | add')" 0
finish
