#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A node's scratch space as volumes: a volume is created for a job and deleted
# with it, or kept for a claim from pod to pod. Its space is given only once,
# and no other user can use it.

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
apply() { # USER: applies standard input as that user; root is an administrator
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
pod() { # NAME CLAIM COMMAND [MOUNTPATH]: the command may not contain single quotes
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

# --- a job's own volume -------------------------------------------------------

like "the node reports its scratch space" \
    "$(root get node n1 -o json | jq -c .status.scratch)" \
    "\"path\":\"$scratch\",\"capacity\":\"1Gi\",\"quota\":\"none\""
# What the job leaves in its volume must not affect others: a link to another
# directory, and a directory tree that is too deep for a recursive deletion.
directory "$cluster/precious" 777
touch "$cluster/precious/file"
as kilntest1 ksub --tmp 100M -W -o out --wrap '
stat -c "%U %a %n" "$TMPDIR" "$KILN_VOLUME_TMP"
cd "$TMPDIR" && ln -s '"$cluster/precious"' link && mkdir locked &&
touch locked/x && chmod 0 locked &&
perl -e "for (1..3000) { mkdir q(d) and chdir q(d) or exit 1 }"' \
    >/dev/null
is "a job with --tmp succeeds" $? 0
like "its TMPDIR is a volume of its own" "$(cat "$home/out")" \
    "^kilntest1 700 $scratch/pvc-[0-9a-f-]*
kilntest1 700 $scratch/pvc-[0-9a-f-]*$"
ok "the volume is removed with the job" wait_for 20 nothing_left
ok "its claim and its volume are removed from the API" wait_for 10 no_volumes
ok "the target of a link in the volume still exists" \
    test -f "$cluster/precious/file"

# --- a job that never runs ----------------------------------------------------

never=$(as kilntest1 ksub --parsable --tmp 2G --wrap true)
has_claim() { root get pvc -o name | grep -q "/job-$1-"; }
has_none() { ! has_claim "$1"; }
ok "a job that fits nowhere has a claim" \
    wait_for 10 has_claim "$never"
as kilntest1 kctl delete job "job-$never" >/dev/null
ok "the claim is deleted with the job, although its pod has never run" \
    wait_for 10 has_none "$never"

# --- space is given only once -------------------------------------------------

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
ok "a job with scratch space runs" wait_for 10 is_running_job "$first"
ok "a job for which there is not enough space waits, and says so" \
    wait_for 10 told \
    "$second" "did not have enough free storage"

like "kctl why says how much is missing" "$(root why "$second")" \
    'n1 lacks 376Mi of free scratch'
like "ksub --test-only says that no node has enough" \
    "$(as kilntest1 ksub --test-only --tmp 2G --wrap true 2>&1)" \
    'n1, has 1 GiB of scratch'
# The agent is killed while the job runs.
stop n1 KILL
begin_agent
touch "$home/go"
has_succeeded() { [ "$(job_phase "$1")" = Succeeded ]; }
ok "the job ends although the agent was killed" \
    wait_for 20 has_succeeded "$first"
ok "the next job then gets the space" wait_for 20 has_succeeded "$second"
ok "no volume is left" wait_for 20 nothing_left

# A pod waits until its volume exists.
stop n1
as kilntest1 ksub --tmp 1M --wrap true >/dev/null
third=$((second + 1))
is_asked_for() { [ "$(root get pv -o name | wc -l)" -eq 1 ]; }
ok "a volume is requested while the agent is down" wait_for 10 is_asked_for
is "the pod is not bound before the volume exists" \
    "$(root get pod "job-$third-0" -o json | jq -r .spec.nodeName)" null
begin_agent
ok "the pod runs when the agent is back" wait_for 20 has_succeeded "$third"
ok "no volume is left after it" wait_for 20 nothing_left

# --- a claim of a user --------------------------------------------------------

claim data 50M | apply kilntest1 >/dev/null
pod writer data 'pwd > $KILN_VOLUME_MY_DATA/note' | apply kilntest1 >/dev/null
ok "a pod uses a claim" wait_for 10 has_phase Succeeded pod writer
volume=$(root get pvc data -o json | jq -r .spec.volumeName)
is "the claim then has a volume" "$(phase pv "$volume")" Bound
is "the volume is a directory of the node" \
    "$(root get pv "$volume" -o json | jq -r .spec.local.path)" \
    "$scratch/$volume"
pod reader data "cat $cluster/n1/seen/note > $home/read &&
      grep NoNewPrivs /proc/self/status >> $home/read" \
    "$cluster/n1/seen" | apply kilntest1 >/dev/null
ok "the next pod has the volume mounted" \
    wait_for 10 has_phase Succeeded pod reader
like "the volume has the files of the first pod, and a process in it cannot gain privileges" \
    "$(tr '\n\t' '  ' <"$home/read")" '^/ NoNewPrivs: *1'
ok "the mount is not visible on the host" \
    sh -c "! grep -q '$cluster/n1/seen' /proc/mounts"
pod nowhere data true /no/such/place | apply kilntest1 >/dev/null
ok "a pod whose mount path does not exist fails" \
    wait_for 10 has_phase Failed pod nowhere
like "the message names the path" \
    "$(root get pod nowhere -o json | jq -r .status.message,.status.containerStatuses[0].state.terminated.message)" \
    "'/no/such/place' is not a directory of this node"


# Root finds out nothing for a user about what is in other users' homes.
as kilntest2 mkdir project
as kilntest1 ln -s "$cluster/home/kilntest2/project" link
why() { root get pod "$1" -o json | jq -r .status.message; }
pod there data true "$cluster/home/kilntest2/project" | apply kilntest1 >/dev/null
pod absent data true "$cluster/home/kilntest2/nothing" | apply kilntest1 >/dev/null
pod linked data true "$home/link" | apply kilntest1 >/dev/null
for name in there absent linked; do
    ok "a pod whose mount path is in another user's home fails: $name" \
        wait_for 10 has_phase Failed pod "$name"
done
is "its message does not tell whether there is such a directory" \
    "$(why there | sed 's/project/NAME/')" "$(why absent | sed 's/nothing/NAME/')"
like "it says that the user may not enter it" "$(why linked)" 'may enter .Permission denied'

# --- rights -------------------------------------------------------------------

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
refused "a user cannot delete another user's claim" 'of other users' \
    as kilntest2 kctl delete pvc data
refused "a user cannot create a volume" 'cannot create persistentvolumes' \
    as kilntest1 kctl apply -f "$cluster/etc/volume.yaml"
refused "a user cannot create a claim with another user's uid" \
    "annotation 'kiln.hpc/uid' is set only by the controller" \
    as kilntest1 kctl apply -f "$cluster/etc/forged.yaml"
ok "the owner can delete a claim" as kilntest1 kctl delete pvc data
ok "the volume is deleted with it" wait_for 20 nothing_left

# --- ReadWriteOncePod ---------------------------------------------------------

claim alone 1M | sed 's,ReadWriteOnce,ReadWriteOncePod,' | apply kilntest1 \
    >/dev/null
pod holder alone 'sleep 60' | apply kilntest1 >/dev/null
ok "a pod uses a claim that is for one pod" wait_for 20 has_phase Running pod \
    holder
pod second alone true | apply kilntest1 >/dev/null
says_alone() {
    root describe pod second | grep -q 'ReadWriteOncePod access mode'
}
ok "another pod with that claim waits, and says so" wait_for 10 says_alone
as kilntest1 kctl delete pod holder --now >/dev/null
ok "it runs when the first pod has ended" \
    wait_for 20 has_phase Succeeded pod second
as kilntest1 kctl delete pod second >/dev/null
as kilntest1 kctl delete pvc alone >/dev/null
ok "no volume of it is left" wait_for 20 nothing_left

# --- volumes of an administrator ----------------------------------------------

printf '{apiVersion: storage.k8s.io/v1, kind: StorageClass,
  metadata: {name: fixed}, provisioner: kubernetes.io/no-provisioner}\n' |
    apply root >/dev/null
volume local fixed Retain | apply root >/dev/null
ok "a volume that an administrator created is Available" \
    wait_for 10 has_phase Available pv local
claim local 1M fixed | apply kilntest1 >/dev/null
ok "a claim without a pod is bound to it" \
    wait_for 10 has_phase Bound pvc local
pod user local 'ls $KILN_VOLUME_MY_DATA/file' | apply kilntest1 >/dev/null
ok "a pod finds the files in it" wait_for 10 has_phase Succeeded pod user
as kilntest1 kctl delete pvc local >/dev/null
ok "the volume is Released when the claim is deleted" \
    wait_for 10 has_phase Released pv local
ok "its files are kept, as its reclaim policy says" \
    test -f "$cluster/precious/file"
finish
