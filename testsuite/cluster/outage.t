#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The controller is down for longer than the time after which a node is given
# up. Jobs run, end and reach their time limits meanwhile, and an agent is
# restarted. When the controller is back, no job is lost, started twice or
# failed because of the outage.

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

# Notes its start, and ends with the exit code that the test writes.
cat >"$home/patient.sh" <<'TXT'
#!/bin/sh
echo $$ >>starts-$KILN_JOB_ID
while [ ! -e end-$1 ]; do sleep 0.2; done
exit "$(cat end-$1)"
TXT
chown kilntest1: "$home/patient.sh"
begun() { grep -q . "$home/starts-$1"; }
submit() { # NODE WORD [OPTION...]: waits until the job runs; its ID is $id
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

# --- the controller is down ---------------------------------------------------

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
is "a submission does not return" "$?" 124
like "it says that it waits for the controller" \
    "$said" 'no answer yet.*cannot reach the controller'
sleep "$((grace * 2))" # twice the time after which nodes are given up
for id in $stays; do
    ok "job $id still runs" kill -0 "$(process_of "$id")"
done

# --- the controller is back ---------------------------------------------------

controller
for node in $nodes; do
    ok "node $node is Ready" wait_for 20 is_ready "$node"
done
set -- 3 4 0
for id in $ends; do
    wanted=Failed
    [ "$1" -ne 0 ] || wanted=Completed
    ok "the end of job $id is reported" wait_for 20 state_is "$id" "$wanted"
    is "its exit code is reported" "$(exit_code_of "$id")" "$1"
    shift
done
ok "the end of the job at its time limit is reported" \
    wait_for 20 state_is "$late" TimedOut
for id in $stays; do
    ok "job $id is Running" state_is "$id" Running
done
submit n3 after
end after 0
ok "a new job completes" wait_for 20 state_is "$id" Completed
for node in $nodes; do
    end "stays-$node" 5
done
for id in $stays; do
    ok "a job that ran through the outage ends" \
        wait_for 20 state_is "$id" Failed
    is "its exit code is reported" "$(exit_code_of "$id")" 5
done
ok "the job that waited completes" wait_for 20 state_is "$waits" Completed
is "each job was started once" "$(cat "$home"/starts-* | wc -l)" 8
is "no submission created two Jobs" "$(kctl get jobs -o name | wc -l)" 9
unlike "no node was given up during the outage" \
    "$(cat "$cluster/log/controller")" \
    'has not reported for'
is "no node has retained allocations" "$(kctl get nodes -o json |
    jq '[.items[].status.remnants // {} | length] | add')" 0
finish
