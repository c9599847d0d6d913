#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Partitions: the one that every cluster begins with, those that labels make, and
# what they give and refuse.

# shellcheck disable=SC2119,SC2317 # functions that are called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need munged munge kiln-controller kiln-agent ksub kctl jq
if ! cluster_user kilntest1 || ! cluster_user kilntest2; then
    skip_all "only root can make users"
fi
cluster_munge
cluster_controller --socket "$cluster/socket"
cluster_agent n1 --topology 'package:1 core:4 pu:1'
cluster_agent n2 --topology 'package:1 core:4 pu:1'
root() { kctl --server "http+unix://$cluster/socket" "$@"; }
are_ready() { [ "$(root get nodes --no-headers | grep -cw Ready)" = 2 ]; }
wait_for 20 are_ready || bail_out "no nodes"
root taint nodes n1 n2 kiln.hpc/virtual- >/dev/null
k1() { as kilntest1 kctl "$@"; }
s1() { as kilntest1 ksub -o /dev/null "$@"; }
printf '#!/bin/sh\nsleep 600\n' >"$cluster/home/kilntest1/long.sh"
partition() { # NAME SPEC
    root apply -f - <<TXT >/dev/null
apiVersion: kiln.hpc/v1
kind: Partition
metadata: {name: $1}
spec: $2
TXT
}
job() { # JOB PATH
    root get job "job-$1" -o "jsonpath={$2}"
}
cause() { # JOB WORDS: what its pod waits for
    root get pods -l "batch.kubernetes.io/job-name=job-$1" \
        -o 'jsonpath={.items[0].status.cause.message}' | grep -qF "$2"
}
runs() { # JOB
    [ "$(root get pods -l "batch.kubernetes.io/job-name=job-$1" \
        -o 'jsonpath={.items[0].status.phase}')" = Running ]
}
id() { sed 's/.* //'; }

# The one over all nodes

is "every cluster begins with a partition over all nodes, the default" \
    "$(root get partitions --no-headers | awk '{print $1, $2, $3, $4, $5}')" \
    "all true Up 1-00:00:00 none"
a=$(s1 long.sh | id)
is "a job that names none is in it" \
    "$(job "$a" .spec.template.spec.placement.partition)" all
is "and has an end" \
    "$(job "$a" .spec.template.spec.activeDeadlineSeconds)" 86400
is "what it was given is noted" \
    "$(job "$a" .metadata.annotations.kiln\\.hpc/defaulted)" partition,time
ok "it runs" wait_for 20 runs "$a"
k1 delete job "job-$a" >/dev/null

# Names

like "-p that is not there is refused with those that are" \
    "$(s1 -p nosuch long.sh 2>&1)" "there is no partition 'nosuch'; there are: all"
root label node n2 kiln.hpc/partition=gpu >/dev/null
b=$(s1 -p gpu long.sh | id)
is "a label of a node makes a partition" \
    "$(root get partition gpu -o 'jsonpath={.spec.selector.matchLabels}')" \
    '{"kiln.hpc/partition":"gpu"}'
wait_for 20 runs "$b"
is "whose jobs run on its nodes" \
    "$(root get pods -l "batch.kubernetes.io/job-name=job-$b" \
        -o 'jsonpath={.items[0].spec.nodeName}')" n2
k1 delete job "job-$b" >/dev/null

# Limits

partition gpu '{selector: {matchLabels: {kiln.hpc/partition: gpu}},
  defaultTime: "1:00:00", maximumTime: "4:00:00", maximumCPUs: 2}'
like "a job over the time is refused with both times" \
    "$(s1 -p gpu -t 5:00:00 long.sh 2>&1)" \
    "5:00:00 is more than partition gpu's limit of 4:00:00"
like "without an end, too" "$(s1 -p gpu -t unlimited long.sh 2>&1)" \
    'a job without a time limit has no place in partition gpu'
like "over its CPUs" "$(s1 -p gpu -c 3 long.sh 2>&1)" \
    "3 CPUs is more than partition gpu's limit of 2"

finish
