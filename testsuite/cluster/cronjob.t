#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A CronJob makes one Job for each time that is due, as its owner and by the
# rules that bind its owner at that moment, whatever is restarted in between.

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
cluster_agent n1 --topology 'package:1 core:4 pu:1'
wait_for 20 root wait --for condition=Ready node n1 || bail_out "no node"
for key in $(root get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    root taint node n1 "$key-" >/dev/null
done

# make NAME USER [JSON FIELDS]: a CronJob of every minute.
make() {
    jq -n --arg name "$1" "{apiVersion: \"batch/v1\", kind: \"CronJob\",
        metadata: {name: \$name}, spec: ({schedule: \"* * * * *\",
        jobTemplate: {metadata: {labels: {of: \$name}}, spec: {backoffLimit: 0,
        template: {spec: {restartPolicy: \"Never\", containers: [{name: \"c\",
        image: \"host\", command: [\"/bin/sh\", \"-c\", \"id -u\"]}]}}}}}
        + {${3:-}})}" >"$cluster/$1.json"
    as "$2" kctl create -f - <"$cluster/$1.json"
}
# due NAME: as if the last Job had been made long ago.
due() {
    api root PATCH "/apis/batch/v1/namespaces/${2:-default}/cronjobs/$1/status" \
        '{"status":{"lastScheduleTime":"2026-01-01T00:00:00Z"}}' "$merge" |
        grep -q '^200'
}
jobs_of() { root get jobs -l "of=$1" -o json | jq -r ".items[] | $2"; }
has_jobs() { [ "$(jobs_of "$1" .metadata.name | wc -l)" -ge "$2" ]; }

ok "a user makes a CronJob" make mine kilntest1
like "it is shown as kubectl shows it" \
    "$(as kilntest1 kctl get cronjobs | tr -s ' ')" \
    '^NAME SCHEDULE TIMEZONE SUSPEND ACTIVE LAST SCHEDULE AGE
mine \* \* \* \* \* <none> False 0 <none> '
ok "its last Job was long ago" due mine
ok "a Job is made that was due" wait_for 20 has_jobs mine 1
job=$(jobs_of mine .metadata.name | head -n 1)
like "its name is the CronJob's and minutes" "$job" '^mine-[0-9]{8}$'
is "it is the owner's" "$(jobs_of mine '.metadata.annotations["kiln.hpc/user"] +
    " " + (.spec.template.spec.securityContext.runAsUser | tostring)' |
    head -n 1)" "kilntest1 $(id -u kilntest1)"
ended() { [ "$(jobs_of mine .status.state | head -n 1)" = Completed ]; }
ok "it runs" wait_for 20 ended
in_history() { as kilntest1 kctl history | grep -q Completed; }
ok "it has a row of history" wait_for 20 in_history
told() { [ "$(root get cronjob mine -o json |
    jq -r '.status.lastSuccessfulTime != null')" = true ]; }
ok "the CronJob tells of its success" wait_for 20 told

# Others.
one=/apis/batch/v1/namespaces/default/cronjobs/mine
forbidden "another user cannot change it" \
    kilntest2 PATCH "$one" '{"spec":{"suspend":true}}' "$merge"
not_ok "nor delete it" as kilntest2 kctl delete cronjob mine
not_ok "nor have its Jobs' names" as kilntest2 kctl create -f - <<EOF
$(jq '.metadata.name = "mine-99999999" | .kind = "Job" |
    .spec = .spec.jobTemplate.spec' "$cluster/mine.json")
EOF
not_ok "nor make one that runs as somebody else" \
    make other kilntest2 "jobTemplate: {spec: {template: {spec: {
        securityContext: {runAsUser: $(id -u kilntest1)}, restartPolicy:
        \"Never\", containers: [{name: \"c\", image: \"host\"}]}}}}"
like "what it runs is its owner's to read" \
    "$(as kilntest2 kctl get cronjob mine -o json)" '"schedule"'
unlike "and nobody else's" \
    "$(as kilntest2 kctl get cronjob mine -o json)" 'id -u'

# Held, it makes none, however long.
is "its owner holds it" "$(as kilntest1 kctl hold cronjob/mine)" \
    "cronjob/mine held"
is "once" "$(as kilntest1 kctl hold cronjob mine)" "cronjob/mine is held already"
like "which is shown" "$(as kilntest1 kctl get cronjobs | tr -s ' ')" \
    'mine \* \* \* \* \* <none> True'
like "another user does not release it" \
    "$(as kilntest2 kctl release cronjob/mine 2>&1)" 'cannot|forbidden'
like "nor does one hold what is not there" \
    "$(as kilntest1 kctl hold cronjob/none cronjob/mine 2>&1 | tr '\n' ' ')" \
    'mine is held already.*"none" not found'
make rests kilntest1 '"suspend": true' >/dev/null
make beside kilntest1 >/dev/null
due rests
due beside
ok "another makes its Job when it is due" wait_for 20 has_jobs beside 1
is "one that is held does not" "$(jobs_of rests .metadata.name)" ""
is "until it is released" "$(as kilntest1 kctl release cronjob/rests)" \
    "cronjob/rests released"
ok "it makes the last that was due" wait_for 20 has_jobs rests 1
as kilntest1 kctl release cronjob/mine >/dev/null
as kilntest1 kctl delete cronjob beside rests >/dev/null

# ksub --cron: script and environment are kept, and each run is a job.
cat >"$cluster/home/kilntest1/nightly.sh" <<'EOF'
#!/bin/sh
echo "$GREETING from $KILN_JOB_ID"
EOF
name=$(as kilntest1 env GREETING=hello ksub --cron '* * * * *' --parsable \
    -o "$cluster/home/kilntest1/out" nightly.sh)
like "ksub --cron tells its name" "$name" '^nightly-[a-z]+$'
like "what is no schedule is told" \
    "$(as kilntest1 ksub --cron '61 * * * *' nightly.sh 2>&1)" \
    "above maximum.*|is no schedule"
for at in '0 0 30 2 *' '0 0 31 4,6 *'; do
    like "what never comes is told: $at" \
        "$(as kilntest1 ksub --cron "$at" nightly.sh 2>&1)" \
        'never comes: none of its months has such a day'
done
for on in afterok:1 singleton,afterany:2 'afterok:1?afterok:2'; do
    like "jobs of now are nothing to wait for: $on" \
        "$(as kilntest1 ksub --cron @daily -d "$on" nightly.sh 2>&1)" \
        "--dependency $(echo "$on" | sed 's/?/./') names jobs that are there once.*takes singleton alone"
done
like "those of the same name are" "$(as kilntest1 ksub --cron @yearly \
    --parsable -J alone -d singleton nightly.sh)" '^alone-[a-z]+$'
is "which each of its jobs waits for" "$(as kilntest1 kctl get cronjobs -o json |
    jq -c '.items[] | select(.metadata.name | startswith("alone")) |
        [.spec.jobTemplate.spec.dependencies.jobs[]?.type]')" '["singleton"]'
as kilntest1 kctl delete cronjob "$(as kilntest1 kctl get cronjobs -o json |
    jq -r '.items[].metadata.name | select(startswith("alone"))')" >/dev/null
like "a job that is refused now is not submitted" \
    "$(as kilntest1 ksub --cron @daily -p nowhere nightly.sh 2>&1)" nowhere
like "an array may recur" "$(as kilntest1 ksub --cron @yearly --parsable \
    -a 1-5%2 -J five nightly.sh)" '^five-[a-z]+$'
is "so there are three" "$(as kilntest1 kctl get cronjobs -o name | wc -l)" 3
ok "it is due" due "$name"
greets() { grep -q '^hello from [0-9]' "$cluster/home/kilntest1/out"; }
ok "it runs its script in its environment" wait_for 20 greets
like "the job is one of kctl's" "$(as kilntest1 kctl jobs --all 2>&1; as kilntest1 kctl history)" nightly
ok "it is deleted" as kilntest1 kctl delete cronjob "$name"

# A right that its owner has lost.
root create -f - >/dev/null <<EOF
{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"lab",
 "annotations":{"kiln.hpc/members":"kilntest1"}}}
EOF
jq '.metadata.name = "lost" | .spec.suspend = true' "$cluster/mine.json" \
    >"$cluster/lost.json"
in_lab() { as kilntest1 kctl -n lab create -f - <"$cluster/lost.json"; }
ok "a member of a namespace makes one there" wait_for 10 in_lab
root annotate namespace lab kiln.hpc/members=kilntest2 --overwrite >/dev/null
due lost lab
api root PATCH /apis/batch/v1/namespaces/lab/cronjobs/lost \
    '{"spec":{"suspend":false}}' "$merge" >/dev/null
refused() { root -n lab get events -o json |
    jq -r '.items[] | select(.reason == "FailedCreate") | .message' |
    grep -q 'do not belong to the namespace'; }
ok "when no member any more, nothing is made, and an event says why" \
    wait_for 20 refused
is "no Job is there" "$(root -n lab get jobs -o name)" ""

# The controller dies three times while many are due. Each is due once, since it is
# of every month, and makes one Job, which runs once.
n=20
[ -z "${KILN_LONG-}" ] || n=200
mkdir -m 1777 "$cluster/ran"
for i in $(seq "$n"); do
    jq -c --arg i "$i" --arg ran "$cluster/ran" '.metadata.name = "many" + $i |
        .spec.suspend = true | .spec.schedule = "0 0 1 * *" |
        .spec.jobTemplate.metadata.labels.of = "many" |
        .spec.jobTemplate.spec.template.spec.containers[0].command = ["/bin/sh",
        "-c", "echo many\($i) >>\($ran)/$KILN_JOB_ID"]' "$cluster/mine.json"
done | jq -s '{apiVersion: "v1", kind: "List", items: .}' |
    as kilntest1 kctl create -f - >/dev/null || bail_out "no CronJobs"
for i in $(seq "$n"); do due "many$i" || bail_out "many$i is not there"; done
# A third of them at a time. The kill comes with the news of the first Job of
# these, while most are being made and before any status tells of them.
mkfifo "$cluster/news"
last=0
for kill in 1 2 3; do
    there=$(jobs_of many .metadata.name | wc -l)
    root get jobs -l of=many -w -o name >"$cluster/news" 2>/dev/null &
    watch=$!
    controller=$(pid_of controller)
    while read -r _; do
        [ $((there -= 1)) -ge 0 ] || break
    done <"$cluster/news" && kill -s KILL "$controller" &
    killer=$!
    # shellcheck disable=SC2046 # many operands
    as kilntest1 kctl release $(seq -f 'cronjob/many%.0f' \
        $((last + 1)) $((kill * n / 3))) >/dev/null 2>&1
    last=$((kill * n / 3))
    wait "$killer"
    await_end controller
    kill "$watch" 2>/dev/null
    cluster_controller --socket "$cluster/socket"
done
# Those that the kills have kept from being released.
released() {
    # shellcheck disable=SC2046
    as kilntest1 kctl release $(seq -f 'cronjob/many%.0f' "$n") >/dev/null 2>&1
}
ok "all are released" wait_for 20 released
made() { jobs_of many '.metadata.ownerReferences[0].name' | sort -u | wc -l; }
all_made() { [ "$(made)" = "$n" ]; }
ok "each makes its Job, whenever the controller dies" wait_for 30 all_made
all_ended() { ! jobs_of many .status.state | grep -qvx Completed; }
ok "each Job completes" wait_for 60 all_ended
names() { for i in $(seq "$n"); do echo "many$i"; done | sort; }
is "there is one of each" \
    "$(jobs_of many '.metadata.ownerReferences[0].name' | sort)" "$(names)"
is "and each has run once" "$(cat "$cluster"/ran/* | sort)" "$(names)"
ok "the user deletes it" as kilntest1 kctl delete cronjob mine
gone() { [ -z "$(jobs_of mine .metadata.name)" ]; }
ok "its Jobs go with it" wait_for 20 gone
finish
