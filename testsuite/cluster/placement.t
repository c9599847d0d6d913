#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Options of ksub for the placement on a node: what is allocated on several
# kinds of machines, what is reported of it, and why a job waits. The machines
# are models: allocations are made and stored, and processes are not bound.

# shellcheck disable=SC2016,SC2154 # commands that others expand; cluster.sh

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need ksub kctl kiln-controller kiln-agent munged jq
cluster_munge
cluster_controller --allow-root-jobs
KILN_SERVER=$cluster/state/socket
export KILN_SERVER
machines=$(cd "$top_srcdir/testsuite/data/topology" && pwd)
manual_page=$(cd "$top_srcdir/man" && pwd)/kiln-placement.7
begin() { # NODE FILE
    cluster_agent "$1" --allow-root-jobs --devices --topology "$2"
    wait_for 20 kctl wait --for condition=Ready node "$1" >/dev/null ||
        bail_out "no node $1"
    kctl taint "$1" "$(kctl get node "$1" -o json |
        jq -r '.spec.taints[] | select(.key | contains("virtual")) | .key')-" \
        >/dev/null
}
for node in gpu-box epyc-2s-nps4 a64fx; do
    begin "$node" "$machines/$node.xml"
done
cd "$cluster/home" || bail_out "no home"

phase_is() { [ "$(kctl get pod "$1" -o json | jq -r .status.phase)" = "$2" ]; }

# place OPTION...: submits a job that keeps running. Its ID is in $id, its
# allocation in $got.
place() {
    id=$(ksub --parsable -o /dev/null "$@" --wrap 'sleep 1000') || return 1
    wait_for 10 phase_is "job-$id-0" Running || return 1
    got=$(kctl get pod "job-$id-0" -o json | jq -c '.status.allocation')
}
field() { printf '%s' "$got" | jq -r "$1"; }
drop() {
    kctl cancel "$id" >/dev/null
    wait_for 10 sh -c "! kctl get pods -o name | grep -q job-$id-0" ||
        wait_for 10 phase_is "job-$id-0" Failed
}

# --- GPUs ---------------------------------------------------------------------

place -w gpu-box -c 4 --gpus 2 --numa single-numa-node
is "two GPUs are of one NUMA node" "$(field '.devices | length')" 2
is "the CPUs and the memory are on that NUMA node" "$(field '.memoryNodes')" 1
is "the CPUs are two cores of two threads" "$(field '.cpus')" "32-35"
like "kctl topology shows the job's CPUs and GPUs" "$(kctl topology gpu-box)" \
    "job-$id-0 .*CPUs 32-35 .*gpu0,gpu1"
ok "kctl topology --svg draws the node" kctl topology gpu-box --svg plan.svg
is "the picture has all cores" "$(grep -c 'class="core"' plan.svg)" 128
is "the picture has the job's four CPUs" \
    "$(grep -c "CPU .*job-$id-0.*</title>" plan.svg)" 4
drop
place -w gpu-box -c 4 --gpus 1:a100
is "a GPU can be requested by its model" "$(field '.devices | join(",")')" gpu0
drop
place -w gpu-box -c 2 --gpus 1 --gpu-bind none
is "with --gpu-bind none, the CPUs need not be near the GPU" \
    "$(field '.cpus')" "0-1"
drop
id=$(ksub --parsable -o /dev/null -w gpu-box --gpus 1:h100 --wrap true)
ok "a job waits for a model that does not exist" wait_for 20 sh -c \
    "kctl why $id | grep -q '(NoSuchDevices)'"
said() { kctl why "$id" | tr -s ' ' | grep -q -- "$1"; }
ok "kctl why says what the job needs" \
    said "Needs: 1 CPU on whole cores, 1 gpu (h100)"
ok "kctl why says what the nearest node has" \
    said "Nearest: gpu-box has 256 CPUs; no gpu (h100)"
not_ok "kctl why does not name nodes that -w excludes" said "^ *a64fx has"
ok "kctl why says that no node can ever run the job" \
    said "Outlook: no node can ever run it$"
kctl cancel "$id" >/dev/null

# --- cores --------------------------------------------------------------------

place -w epyc-2s-nps4 -c 4 --threads-per-core 1
is "--threads-per-core 1 allocates one CPU of each core" \
    "$(field '.cpus')" "0,2,4,6"
is "the other CPUs of these cores are withheld" "$(field '.withheld')" "1,3,5,7"
drop
place -w epyc-2s-nps4 -c 8 --cores-per-socket 2
is "--cores-per-socket allocates that many cores of each package" \
    "$(field '.cpus')" "0-3,192-195"
drop
place -w epyc-2s-nps4 -c 16 --distribution scatter
is "--distribution scatter allocates cores of all NUMA nodes" \
    "$(field '.memoryNodes')" "0-7"
drop
place -w a64fx -c 12 --mem 4G --mem-bind interleave -t unlimited
is "a job gets a core memory group" \
    "$(field '.cpus') $(field '.memoryNodes')" "0-11 0"
first=$id

# A job needs GPUs of all NUMA nodes that have GPUs, and no core beside two of
# them is free.
place -w gpu-box -c 32 --gpus 1 --numa single-numa-node
full=$id
is "a job occupies the cores beside two GPUs" "$(field '.cpus')" "32-63"
place -w gpu-box -c 6 --gpus 7 --numa restricted
is "seven GPUs of four NUMA nodes are allocated while cores are free on three" \
    "$(field '.devices | length')" 7
like "the CPUs are beside some of them" "$(field '.memoryNodes')" '^[357]$'
drop
id=$(ksub --parsable -o /dev/null -w gpu-box -c 6 --gpus 7 \
    --numa single-numa-node --wrap true)
ok "seven GPUs of one NUMA node do not exist" wait_for 20 sh -c \
    "kctl why $id | grep -q 'too small for the requested placement'"
kctl cancel "$id" >/dev/null
id=$full
drop

# --- a job that does not fit now ----------------------------------------------

for _ in 1 2 3; do
    place -w a64fx -c 4 --distribution scatter -t unlimited
done
waits=$(ksub --parsable -o /dev/null -w a64fx -c 12 --mem 7G \
    --numa single-numa-node --wrap true)
id=$waits
ok "a job that fits later says what it needs" wait_for 20 \
    said "Needs: 12 CPUs on whole cores in one NUMA node, 7Gi of memory"
ok "kctl why says what the nearest node has free" \
    said "a64fx has 24 CPUs free, at most 9 in one NUMA node"
ok "kctl why says under which condition the job may start" \
    said "Outlook: it may start about .*, if jobs without a time limit"
like "ksub --test-only says that, too" \
    "$(ksub --test-only -w a64fx -c 12 --mem 7G \
    --numa single-numa-node --wrap true)" \
    "if jobs .* end by then, on a64fx, which has 24 CPUs free, at most 9"
like "ksub --test-only says that a job that fits could start now" \
    "$(ksub --test-only -w a64fx -c 9 --numa single-numa-node --wrap true)" \
    "It could start now, on a64fx"
like "ksub --test-only considers --cores-per-socket" \
    "$(ksub --test-only -w epyc-2s-nps4 -c 8 --cores-per-socket 1 --wrap true \
        2>&1)" "4 with so many cores of each socket, of the 8 needed"
like "kctl top nodes shows the largest free part of a NUMA node" \
    "$(kctl top nodes a64fx)" \
    "9 cores, 7[0-9.]*Gi"
kctl cancel "$waits" >/dev/null
id=$first
drop

# --- NUMA nodes with offline cores --------------------------------------------

# Some cores of two NUMA nodes are offline, so that the NUMA nodes have 10, 12,
# 2 and 12 cores.
sed 's/ allowed_cpuset="[^"]*"/ allowed_cpuset="0x0000fffc,0x00ffffcf"/' \
    "$machines/a64fx.xml" >"$cluster/holes.xml"
chmod 644 "$cluster/holes.xml"
begin holes "$cluster/holes.xml"
like "offline cores are not part of the node" \
    "$(kctl topology holes)" 'CPUs 4-5,24-33 are offline'
place -w holes -c 10 --numa single-numa-node
is "a job can fill a NUMA node with offline cores" \
    "$(field '.cpus') $(field '.memoryNodes')" "0-3,6-11 0"
place -w holes -c 2 --numa single-numa-node
is "the smallest NUMA node with enough cores is used" \
    "$(field '.cpus') $(field '.memoryNodes')" "34-35 2"
drop
place -w holes -c 14 --numa restricted
is "a job that fits no NUMA node fills two of them" \
    "$(field '.cpus') $(field '.memoryNodes')" "12-23,34-35 1-2"
drop
waits=$(ksub --parsable -o /dev/null -w holes -c 13 \
    --numa single-numa-node --wrap true)
id=$waits
ok "a job that fits no NUMA node and needs one cannot run" \
    wait_for 20 said 'too small for the requested placement'
kctl cancel "$waits" >/dev/null

# --- a controller that is killed between choosing and binding -----------------

many=
another() {
    many="$many $(ksub --parsable -o /dev/null -w a64fx -c 4 --mem 1G \
        --wrap 'sleep 1000')"
}
for _ in 1 2 3; do
    another && another && another
    stop controller KILL
    cluster_controller --allow-root-jobs
done
all_run() {
    for id in $many; do phase_is "job-$id-0" Running || return 1; done
}
ok "all jobs run although the controller was killed again and again" \
    wait_for 30 all_run
is "no CPU is allocated twice" "$(kctl get pods -o json | jq -c '
    [.items[] | select(.spec.nodeName == "a64fx" and
            .status.phase == "Running") | .status.allocation.cpus |
        split(",")[] | split("-") | map(tonumber) |
        range(.[0]; (.[1] // .[0]) + 1)] | [length, (unique | length)]')" \
    "[48,48]"

# --- the manual page ----------------------------------------------------------

# What kiln-placement(7) shows is what Kiln does. The node n17 of that page is
# described here.
manual=$(sed 's/\\-/-/g' "$manual_page")
cluster_agent n17 --allow-root-jobs \
    --topology 'package:1 numa:2(memory=68719476736) l3:2 core:4 pu:2'
wait_for 20 kctl wait --for condition=Ready node n17 >/dev/null
kctl taint n17 "$(kctl get node n17 -o json |
    jq -r '.spec.taints[] | select(.key | contains("virtual")) | .key')-" \
    >/dev/null
# drawn NAME: checks that the lines that kctl topology prints are in the manual
# page.
drawn() {
    kctl topology n17 | awk '
        /NUMA node/ { numa = $3; row = "" }
        $1 == "L3" { sub(/^ *L3 */, ""); row = row (row ? "  " : "") $0
            if (length(row) > 20) print "  NUMA " numa "    " row }' \
        >"$cluster/drawn"
    [ "$(wc -l <"$cluster/drawn")" -eq 2 ] || echo "not drawn" >"$cluster/drawn"
    while read -r line; do
        printf '%s\n' "$manual" | grep -qF -- "$line" || echo "no: $line"
    done <"$cluster/drawn" >"$cluster/missing"
    empty "$1" "$(cat "$cluster/missing")"
}
# spread NAME OPTION...: checks this for a job alone, in one line.
spread() {
    name=$1
    shift
    place -w n17 "$@"
    row=$(kctl topology n17 | sed -n 's/^ *L3 *//p' | awk '
        { printf "%s%s", NR == 1 ? "" : NR == 3 ? "  | " : "  ", $0 }')
    like "$name" "$(printf '%s\n' "$manual" | grep -F -- "$row")" "$name"
    drop
}
spread '-m pack' -c 8 -m pack
spread '-m cyclic' -c 8 -m cyclic
spread '-m scatter' -c 8 -m scatter
place -w n17 -c 4 --mem 100G
drawn "memory of two NUMA nodes for cores of one is as in the manual"
is "as much memory as possible is of the first NUMA node" "$(field '[.memory[] |
    "\(.node) \(.bytes)"] | join(", ")')" "0 64Gi, 1 36Gi"
drop
place -w n17 -c 4 --threads-per-core 1
like "one thread of each core is as in the manual" "$manual" \
    "-c 4 --threads-per-core 1 *$(kctl topology n17 | sed -n 's/^ *L3 *//p;' |
        head -n 1)"
drop
place -w n17 -c 4
place -w n17 -c 3
place -w n17 -c 4
kctl topology n17 | sed -n '/^package/,/^A/p' | grep -v '^A' |
    while read -r line; do
        printf '%s\n' "$manual" | grep -qF -- "$line" || echo "no: $line"
    done >"$cluster/missing"
empty "the node with three jobs is as in the manual" "$(cat "$cluster/missing")"
for policy in none best-effort restricted single-numa-node; do
    place -w n17 -c 8 --mem 48G --numa "$policy"
    drawn "four cores and their memory with $policy are as in the manual"
    beside=$id
    if [ "$policy" = none ] || [ "$policy" = best-effort ]; then
        place -w n17 -c 12 --numa "$policy"
        drawn "six cores beside them with $policy are as in the manual"
        drop
    else
        id=$(ksub --parsable -o /dev/null -w n17 -c 12 --numa "$policy" \
            --wrap true)
        ok "six cores with $policy wait" wait_for 20 said \
            "Nearest: n17 has 12 CPUs free, at most 8 in one NUMA node"
        kctl cancel "$id" >/dev/null
    fi
    id=$beside
    drop
done
for policy in none best-effort restricted; do
    place -w n17 -c 20 --numa "$policy"
    drawn "ten cores with $policy are as in the manual"
    drop
done
id=$(ksub --parsable -o /dev/null -w n17 -c 20 --numa single-numa-node \
    --wrap true)
ok "ten cores never fit one NUMA node" wait_for 20 said "NodeTooSmall"
kctl cancel "$id" >/dev/null

# --- invalid options ----------------------------------------------------------

refused() {
    name=$1 words=$2
    shift 2
    like "$name" "$(ksub "$@" --wrap true 2>&1)" "$words"
}
refused "more GPUs than a node can have are refused" "a job has 1 to" --gpus 1025
refused "an unknown --gpu-bind is refused" "is not one of closest, none" \
    --gpu-bind near
refused "--shared together with -c is refused" "is for jobs without their own cores" \
    --shared 1 -c 2
refused "a part of a huge page is refused" "not a whole number of pages" \
    --hugepages 3M:2M
refused "an unknown --mem-bind is refused" "is not one of bind, preferred" \
    --mem-bind local
refused "an unknown distribution is refused" "is not one of pack, scatter" \
    -m random
finish
