#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The topology of a cluster as its administrator configures it, levels by labels of nodes,
# and where the nodes of a job are then.

# shellcheck disable=SC2015,SC2016,SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
cluster_slurm
need munged kiln-controller kiln-agent kiln-pause ksub kctl jq curl
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge
printf 'topology: {levels: [example.com/block, example.com/rack]}\n' >"$cluster/config.yaml"
cluster_controller --socket "$cluster/socket" --config "$cluster/config.yaml"

node_is() { root get node "$1" --no-headers | grep -qw -- "$2"; }
node() { # NAME BLOCK RACK
    cluster_agent "$1" --topology "package:1 core:4 pu:1"
    wait_for 20 node_is "$1" Ready || bail_out "node $1 does not register"
    for key in $(root get node "$1" -o json | jq -r '.spec.taints[]?.key |
        select(test("virtual"))'); do
        root taint node "$1" "$key-" >/dev/null
    done
    root label node "$1" "example.com/block=$2" "example.com/rack=$3" >/dev/null
}
node n1 b1 r1
node n2 b1 r2
node n3 b1 r1
node n4 b1 r2
node n5 b2 r3

home=$cluster/home/kilntest1
gang() { as kilntest1 ksub -D "$home" -t 5 --parsable "$@"; }
state_is() { [ "$(root get job "job-$1" -o json | jq -r .status.state)" = "$2" ]; }
field() { root get "$1" "$2" -o json | jq -r "$3"; }
nodes_of() { field podgroup "job-$1" '.status.nodes // ""'; }
nodes_are() { [ "$(nodes_of "$1")" = "$2" ]; }
why_says() { as kilntest1 kctl why "$1" 2>&1 | grep -qF -- "$2"; }

# --- near to each other ----------------------------------------------------------

id=$(gang -N 2 -c 4 --wrap 'echo $KILN_JOB_NODELIST; sleep 300' -o out)
ok "a job of two nodes is in one rack" wait_for 20 nodes_are "$id" 'n[1,3]'
other=$(gang -N 3 -c 4 --wrap 'sleep 300')
ok "one of three, which no rack holds, is where there is room" \
    wait_for 20 nodes_are "$other" 'n[2,4-5]'
as kilntest1 kctl cancel "$id" "$other" >/dev/null
ok "... until it is cancelled" wait_for 20 state_is "$other" Cancelled
ok "... as is the other" wait_for 20 state_is "$id" Cancelled

id=$(gang -N 4 -c 4 --sbatch --wrap \
    'echo $SLURM_TOPOLOGY_ADDR $SLURM_TOPOLOGY_ADDR_PATTERN >address; cat "$KILN_HOSTFILE" >hosts; sleep 300')
ok "the nodes of a block are in the order of its racks" wait_for 20 nodes_are "$id" 'n[1,3,2,4]'
hosts() { [ "$(grep -o '^n[0-9]' "$home/hosts" | tr -d '\n')" = n1n3n2n4 ]; }
is "... Slurm's variables say where the first is" "$(wait_for 20 test -s "$home/hosts" &&
    cat "$home/address")" "b1.r1.n1 switch.switch.node"
ok "... also for its script" wait_for 20 hosts || note "$(cat "$home/hosts")"
as kilntest1 kctl cancel "$id" >/dev/null
ok "... and ends" wait_for 20 state_is "$id" Cancelled

is "kctl topology lists the parts of the cluster" \
    "$(as kilntest1 kctl topology | tr -s ' ')" "example.com/block:
 b1 4 nodes n[1-4] of r[1-2]
 b2 1 node n5 of r3

example.com/rack:
 r1 2 nodes n[1,3]
 r2 2 nodes n[2,4]
 r3 1 node n5"
is "scontrol show topology, as Slurm prints it" \
    "$(as kilntest1 scontrol show topology)" \
    "SwitchName=r1 Level=0 LinkSpeed=1 Nodes=n[1,3]
SwitchName=r2 Level=0 LinkSpeed=1 Nodes=n[2,4]
SwitchName=r3 Level=0 LinkSpeed=1 Nodes=n5
SwitchName=b1 Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=r[1-2]
SwitchName=b2 Level=1 LinkSpeed=1 Nodes=n5 Switches=r3"

# --- few switches ----------------------------------------------------------------

id=$(gang -N 3 -c 4 --switches 1@1h --wrap 'sleep 300')
ok "a job that no rack holds waits for few switches" \
    wait_for 20 why_says "$id" "for nodes with at most 1 switch (--switches)"
is "... as scontrol says" "$(as kilntest1 scontrol show job "$id" | sed -n 's/^ *Switches=//p')" "1@01:00:00"
ok "... and says how many those have that are free" \
    why_says "$id" "those that are free now have 2" || note "$(root why "$id" 2>&1)"
as kilntest1 kctl cancel "$id" >/dev/null
id=$(gang -N 3 -c 4 --switches 2@1h --wrap 'sleep 300')
ok "one that may have two starts" wait_for 20 state_is "$id" Running
as kilntest1 kctl cancel "$id" >/dev/null
ok "... and ends" wait_for 20 state_is "$id" Cancelled
id=$(gang -N 3 -c 4 --switches 1@2s --wrap 'sleep 300')
ok "after its time a job starts on any" wait_for 20 state_is "$id" Running
as kilntest1 kctl cancel "$id" >/dev/null
ok "... and ends" wait_for 20 state_is "$id" Cancelled
fails() { ! "$@" >"$cluster/said" 2>&1; }
ok "a wrong number is refused" fails gang -N 2 --switches some --wrap true
ok "... in words" grep -qF "'some' is no number of switches" "$cluster/said" ||
    note "$(cat "$cluster/said")"

# --- in one part -----------------------------------------------------------------

one() { # NAME KEY COUNT
    as kilntest1 ksub -D "$home" -t 5 -N "$3" -c 4 -J "$1" --wrap 'sleep 300' --dry-run -o json |
        jq ".spec.scheduling.schedulingConstraints = {topology: [{key: \"$2\"}]}" |
        as kilntest1 kctl create -f - 2>&1
}
number_of() { root get jobs -o json | jq '[.items[].status.id] | max'; }
ok "one that is too large for every rack is told when it is submitted" sh -c 'echo "$1" |
    grep -qF "has at most 2 with the same value of the label"' sh "$(one wide example.com/rack 3)"
as kilntest1 kctl cancel "$(number_of)" >/dev/null
one inside example.com/rack 2 >/dev/null
id=$(number_of)
ok "a job that must be in one rack is" wait_for 20 nodes_are "$id" 'n[1,3]'
one second example.com/rack 2 >/dev/null
second=$(number_of)
ok "so is the next" wait_for 20 nodes_are "$second" 'n[2,4]'
one third example.com/rack 2 >/dev/null
third=$(number_of)
ok "a third waits for a rack" wait_for 20 why_says "$third" \
    "no domain of the node label 'example.com/rack' has room for all 2 pods of its group" ||
    note "$(root why "$third" 2>&1)"
node n6 b2 r3
ok "a node that joins the rack of another helps" wait_for 30 nodes_are "$third" 'n[5-6]'
root label node n6 example.com/rack=r4 --overwrite >/dev/null
ok "a label that changes under a job ends nothing" wait_for 20 state_is "$third" Running
as kilntest1 kctl cancel "$id" "$second" "$third" >/dev/null
ok "... until they are cancelled" wait_for 20 state_is "$third" Cancelled

# --- other levels ----------------------------------------------------------------

loads() { # LEVELS: until the log says once more that the configuration was reloaded
    said=$(grep -c 'configuration was reloaded' "$cluster/log/controller")
    printf 'topology: {levels: %s}\n' "$1" >"$cluster/config.yaml"
    signal controller HUP
    wait_for 20 says_again
}
says_again() { [ "$(grep -c 'configuration was reloaded' "$cluster/log/controller")" -gt "$said" ]; }
for name in n1 n4; do root label node $name example.com/cell=c1 >/dev/null; done
ok "a reload takes other levels" loads '[example.com/cell]'
is "... which kctl topology shows" "$(as kilntest1 kctl topology | tr -s ' ')" "example.com/cell:
 c1 2 nodes n[1,4]"
id=$(gang -N 2 -c 4 --wrap 'sleep 300')
ok "... and the next job has" wait_for 20 nodes_are "$id" 'n[1,4]'
as kilntest1 kctl cancel "$id" >/dev/null
ok "... until it is cancelled" wait_for 20 state_is "$id" Cancelled
ok "without levels" loads '[]'
ok "... kctl topology says so" fails as kilntest1 kctl topology
ok "... in words" grep -qF 'the cluster has no levels (topology.levels' "$cluster/said"

finish
