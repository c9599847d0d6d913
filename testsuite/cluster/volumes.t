#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Scratch of a node as volumes: made for a job and gone with it, kept for a
# claim from pod to pod, promised once, and nobody else's.

# shellcheck disable=SC2016,SC2317 # expanded by jobs; called by others

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
begin_agent() {
    cluster_agent n1 --scratch-dir "$cluster/n1/scratch" \
        --scratch-capacity 1Gi
}
begin_agent
directory "$cluster/n1/seen" 755
root() { kctl --server "http+unix://$cluster/socket" "$@"; }
home=$cluster/home/kilntest1
scratch=$cluster/n1/scratch
is_ready() { root get nodes --no-headers | grep -qw Ready; }
nothing_left() { [ -z "$(ls -A "$scratch")" ]; }
no_volumes() { [ -z "$(root get pv,pvc -o name)" ]; }
phase() { root get "$@" -o json | jq -r .status.phase; }
has_phase() { # PHASE KIND NAME
    [ "$(phase "$2" "$3")" = "$1" ]
}
apply() { # USER (root: an administrator)
    case $1 in
    root) root apply -f - ;;
    *) as "$1" kctl apply -f - ;;
    esac
}
claim() { # NAME SIZE [CLASS]
    printf '{apiVersion: v1, kind: PersistentVolumeClaim,
  metadata: {name: %s}, spec: {accessModes: [ReadWriteOnce],
  storageClassName: %s, resources: {requests: {storage: %s}}}}\n' \
        "$1" "${3:-node-local}" "$2"
}
pod() { # NAME CLAIM COMMAND [MOUNTPATH]: no single quotes in it
    pod_mounts=
    [ -z "${4-}" ] || pod_mounts=", volumeMounts: [{name: my-data,
  mountPath: $4}]"
    printf "{apiVersion: v1, kind: Pod, metadata: {name: %s},
  spec: {restartPolicy: Never, volumes: [{name: my-data,
  persistentVolumeClaim: {claimName: %s}}],
  containers: [{name: main, command: [/bin/sh, -c, '%s']%s}]}}\n" \
        "$1" "$2" "$3" "$pod_mounts"
}
wait_for 10 is_ready || bail_out "the node does not come"

# --- a job's own ------------------------------------------------------------

like "the node says what it offers" \
    "$(root get node n1 -o json | jq -c .status.scratch)" \
    "\"path\":\"$scratch\",\"capacity\":\"1Gi\",\"quota\":\"none\""
# What is left in it is nobody's way out: a link, and a tree too deep for
# anybody's stack.
directory "$cluster/precious" 777
touch "$cluster/precious/file"
as kilntest1 ksub --tmp 100M -W -o out --wrap '
stat -c "%U %a %n" "$TMPDIR" "$KILN_VOLUME_TMP"
cd "$TMPDIR" && ln -s '"$cluster/precious"' link && mkdir locked &&
touch locked/x && chmod 0 locked &&
perl -e "for (1..3000) { mkdir q(d) and chdir q(d) or exit 1 }"' \
    >/dev/null
is "a job with --tmp ends well" $? 0
like "its TMPDIR is a volume of its own" "$(cat "$home/out")" \
    "^kilntest1 700 $scratch/pvc-[0-9a-f-]*
kilntest1 700 $scratch/pvc-[0-9a-f-]*$"
ok "the volume is gone with the job" wait_for 20 nothing_left
ok "and claim and volume from the API" wait_for 10 no_volumes
ok "a link in it was not followed" test -f "$cluster/precious/file"

# --- never had ----------------------------------------------------------------

never=$(as kilntest1 ksub --parsable --tmp 2G --wrap true)
has_claim() { root get pvc -o name | grep -q "/job-$1-"; }
has_none() { ! has_claim "$1"; }
ok "a job that fits nowhere has a claim all the same" \
    wait_for 10 has_claim "$never"
as kilntest1 kctl delete job "job-$never" >/dev/null
ok "which goes with it, though its pod has never run" \
    wait_for 10 has_none "$never"

# --- promised once ----------------------------------------------------------

as kilntest1 ksub --tmp 700M --wrap 'while [ ! -e '"$home"'/go ]; do
sleep 0.1; done' >/dev/null
first=$(root get jobs -o json | jq -r '.items | max_by(.status.id) |
    .status.id')
as kilntest1 ksub --tmp 700M --wrap true >/dev/null
second=$((first + 1))
job_phase() { root get pod "job-$1-0" -o json | jq -r .status.phase; }
is_running_job() { [ "$(job_phase "$1")" = Running ]; }
told() { # JOB WORDS
    root describe pod "job-$1-0" | grep -q "$2"
}
ok "a job has its scratch" wait_for 10 is_running_job "$first"
ok "one that there is no room for waits, and is told" wait_for 10 told \
    "$second" "did not have enough free storage"

like "kctl why says how much is missing" "$(root why "$second")" \
    'n1 lacks 376Mi of free scratch'
like "ksub --test-only says what no node has" \
    "$(as kilntest1 ksub --test-only --tmp 2G --wrap true 2>&1)" \
    'n1, has 1Gi of scratch of the 2Gi needed'
# The agent may die at any time.
stop n1 KILL
begin_agent
touch "$home/go"
has_succeeded() { [ "$(job_phase "$1")" = Succeeded ]; }
ok "the agent was killed, its volume goes with its job all the same" \
    wait_for 20 has_succeeded "$first"
ok "and the next job has the room" wait_for 20 has_succeeded "$second"
ok "nothing is left" wait_for 20 nothing_left

# A volume is waited for, by its own pod alone.
stop n1
as kilntest1 ksub --tmp 1M --wrap true >/dev/null
third=$((second + 1))
is_asked_for() { [ "$(root get pv -o name | wc -l)" -eq 1 ]; }
ok "a volume is asked for while the agent is away" wait_for 10 is_asked_for
is "and its pod is not bound before it is there" \
    "$(root get pod "job-$third-0" -o json | jq -r .spec.nodeName)" null
begin_agent
ok "when the agent is back the pod runs" wait_for 20 has_succeeded "$third"
ok "and leaves nothing" wait_for 20 nothing_left

# --- a claim of one's own ---------------------------------------------------

claim data 50M | apply kilntest1 >/dev/null
pod writer data 'pwd > $KILN_VOLUME_MY_DATA/note' | apply kilntest1 >/dev/null
ok "a pod uses a claim" wait_for 10 has_phase Succeeded pod writer
volume=$(root get pvc data -o json | jq -r .spec.volumeName)
is "which has a volume then" "$(phase pv "$volume")" Bound
is "that is a directory of the node" \
    "$(root get pv "$volume" -o json | jq -r .spec.local.path)" \
    "$scratch/$volume"
pod reader data "cat $cluster/n1/seen/note > $home/read &&
      grep NoNewPrivs /proc/self/status >> $home/read" \
    "$cluster/n1/seen" | apply kilntest1 >/dev/null
ok "the next pod finds it mounted" wait_for 10 has_phase Succeeded pod reader
like "with what the first one left, and no way to become root" \
    "$(tr '\n\t' '  ' <"$home/read")" '^/ NoNewPrivs: *1'
ok "the host sees no mount" sh -c "! grep -q '$cluster/n1/seen' /proc/mounts"
pod nowhere data true /no/such/place | apply kilntest1 >/dev/null
ok "a place that is not there fails the pod" wait_for 10 has_phase Failed pod nowhere
like "and says so" "$(root get pod nowhere -o json | jq -r .status.message,.status.containerStatuses[0].state.terminated.message)" \
    "'/no/such/place' is no directory of this node"

# --- who may do what --------------------------------------------------------

refused() { # NAME WORDS COMMAND...
    refused_name=$1
    refused_words=$2
    shift 2
    like "$refused_name" "$("$@" 2>&1)" "$refused_words"
}
volume() { # NAME CLASS POLICY
    printf '{apiVersion: v1, kind: PersistentVolume, metadata: {name: %s},
  spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce],
  storageClassName: %s, persistentVolumeReclaimPolicy: %s,
  local: {path: %s}, nodeAffinity: {required: {nodeSelectorTerms: [
  {matchExpressions: [{key: kubernetes.io/hostname, operator: In,
  values: [n1]}]}]}}}}\n' "$1" "$2" "$3" "$cluster/precious"
}
volume mine node-local Delete >"$cluster/etc/volume.yaml"
claim forged 1M |
    sed 's|name: forged|&, annotations: {kiln.hpc/uid: "0"}|' \
        >"$cluster/etc/forged.yaml"
refused "nobody deletes another user's claim" 'of other users' \
    as kilntest2 kctl delete pvc data
refused "volumes are administrators' to make" 'cannot create persistentvolumes' \
    as kilntest1 kctl apply -f "$cluster/etc/volume.yaml"
refused "nobody asks for a volume in another's name" \
    "annotation 'kiln.hpc/uid' is the controller's" \
    as kilntest1 kctl apply -f "$cluster/etc/forged.yaml"
ok "its owner deletes a claim" as kilntest1 kctl delete pvc data
ok "and the volume goes with it" wait_for 20 nothing_left

# --- one pod at a time --------------------------------------------------------

claim alone 1M | sed 's,ReadWriteOnce,ReadWriteOncePod,' | apply kilntest1 \
    >/dev/null
pod holder alone 'sleep 60' | apply kilntest1 >/dev/null
ok "a pod has a claim that is for one pod" wait_for 20 has_phase Running pod \
    holder
pod second alone true | apply kilntest1 >/dev/null
says_alone() {
    root describe pod second | grep -q 'ReadWriteOncePod access mode'
}
ok "another that asks for it waits, and is told" wait_for 10 says_alone
as kilntest1 kctl delete pod holder --now >/dev/null
ok "and runs when the first is gone" wait_for 20 has_phase Succeeded pod second
as kilntest1 kctl delete pod second >/dev/null
as kilntest1 kctl delete pvc alone >/dev/null
ok "nothing of it is left" wait_for 20 nothing_left

# --- volumes that are there -------------------------------------------------

printf '{apiVersion: storage.k8s.io/v1, kind: StorageClass,
  metadata: {name: fixed}, provisioner: kubernetes.io/no-provisioner}\n' |
    apply root >/dev/null
volume local fixed Retain | apply root >/dev/null
ok "a volume that an administrator made is there to be had" \
    wait_for 10 has_phase Available pv local
claim local 1M fixed | apply kilntest1 >/dev/null
ok "a claim that waits for no pod gets it" \
    wait_for 10 has_phase Bound pvc local
pod user local 'ls $KILN_VOLUME_MY_DATA/file' | apply kilntest1 >/dev/null
ok "a pod finds what is in it" wait_for 10 has_phase Succeeded pod user
as kilntest1 kctl delete pvc local >/dev/null
ok "its data is kept when the claim goes" \
    wait_for 10 has_phase Released pv local
ok "as the administrator said" test -f "$cluster/precious/file"
finish
