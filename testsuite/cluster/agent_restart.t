#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The agent or the controller goes away while jobs run: no job is disturbed,
# lost or doubled, and what ended meanwhile is reported as it was.

# shellcheck disable=SC2119,SC2317 # functions that are called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge
cluster_controller
agent() { cluster_agent n1 --topology 'package:1 core:8 pu:1'; }
agent

admin() { kctl --server "http+unix://$cluster/state/socket" "$@"; }
home=$cluster/home/kilntest1
node_is_ready() { admin get nodes | grep -qw Ready; }
state_is() { # ID STATE
    admin get job "$1" --no-headers | grep -qw "$2"
}
started() { grep -q . "$home/starts-$1"; }
pod_of_job() { # ID JQ
    admin get pods -o json | jq -r --arg job "job-$1" '.items[] |
        select(.metadata.ownerReferences[0].name == $job) | '"$2"
}
exit_code_of() {
    pod_of_job "$1" '.status.containerStatuses[0].state.terminated.exitCode'
}
starts_of() { wc -l <"$home/starts-$1"; }
# One that notes each of its starts, and ends as it is told to.
cat >"$home/patient.sh" <<'TXT'
#!/bin/sh
echo $$ >>starts-$KILN_JOB_ID
while [ ! -e end-$1 ]; do sleep 0.05; done
exit "$(cat end-$1)"
TXT
chown kilntest1: "$home/patient.sh"
# submit WORD [OPTION...]: a job of that script is running, its id in $id.
submit() {
    submit_word=$1
    shift
    id=$(as kilntest1 ksub --parsable "$@" patient.sh "$submit_word")
    wait_for 20 started "$id"
}
process_of() { tail -n 1 "$home/starts-$1"; }
end() { # WORD CODE
    as kilntest1 sh -c "echo $2 >end-$1.new && mv end-$1.new end-$1"
}
# Virtual nodes keep ordinary jobs away.
ok "a node registers" wait_for 20 node_is_ready
admin taint nodes n1 --all- >/dev/null 2>&1
finish
