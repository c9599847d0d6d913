#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A CronJob creates one Job for each time that is due, as its owner and under
# the rules that apply to the owner at that moment, whatever is restarted in
# between.

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

# make NAME USER [JSON FIELDS]: creates a CronJob that is due every minute.
make() {
    jq -n --arg name "$1" "{apiVersion: \"batch/v1\", kind: \"CronJob\",
        metadata: {name: \$name}, spec: ({schedule: \"* * * * *\",
        jobTemplate: {metadata: {labels: {of: \$name}}, spec: {backoffLimit: 0,
        template: {spec: {restartPolicy: \"Never\", containers: [{name: \"c\",
        image: \"host\", command: [\"/bin/sh\", \"-c\", \"id -u\"]}]}}}}}
        + {${3:-}})}" >"$cluster/$1.json"
    as "$2" kctl create -f - <"$cluster/$1.json"
}
# due NAME [NAMESPACE]: makes the CronJob due now: its last Job appears to have
# been created long ago.
due() {
    api root PATCH "/apis/batch/v1/namespaces/${2:-default}/cronjobs/$1/status" \
        '{"status":{"lastScheduleTime":"2026-01-01T00:00:00Z"}}' "$merge" |
        grep -q '^200'
}
jobs_of() { root get jobs -l "of=$1" -o json | jq -r ".items[] | $2"; }
has_jobs() { [ "$(jobs_of "$1" .metadata.name | wc -l)" -ge "$2" ]; }

ok "a user can create a CronJob" make mine kilntest1
like "kctl shows it as kubectl does" \
    "$(as kilntest1 kctl get cronjobs | tr -s ' ')" \
    '^NAME SCHEDULE TIMEZONE SUSPEND ACTIVE LAST SCHEDULE AGE
mine \* \* \* \* \* <none> False 0 <none> '
ok "it is made due" due mine
ok "a Job is created" wait_for 20 has_jobs mine 1
job=$(jobs_of mine .metadata.name | head -n 1)
like "the Job's name is that of the CronJob with the minutes of its time" \
    "$job" '^mine-[0-9]{8}$'
is "the Job belongs to the owner of the CronJob" \
    "$(jobs_of mine '.metadata.annotations["kiln.hpc/user"] +
    " " + (.spec.template.spec.securityContext.runAsUser | tostring)' |
    head -n 1)" "kilntest1 $(id -u kilntest1)"
ended() { [ "$(jobs_of mine .status.state | head -n 1)" = Completed ]; }
ok "the Job completes" wait_for 20 ended
in_history() { as kilntest1 kctl history | grep -q Completed; }
ok "it has a row in history" wait_for 20 in_history
told() { [ "$(root get cronjob mine -o json |
    jq -r '.status.lastSuccessfulTime != null')" = true ]; }
ok "the CronJob has the time of its last success" wait_for 20 told

# Other users can read its schedule. They can neither change nor delete it, nor
# act in its name.
one=/apis/batch/v1/namespaces/default/cronjobs/mine
forbidden "another user cannot change it" \
    kilntest2 PATCH "$one" '{"spec":{"suspend":true}}' "$merge"
not_ok "another user cannot delete it" as kilntest2 kctl delete cronjob mine
not_ok "another user cannot create a Job with a name of its Jobs" \
    as kilntest2 kctl create -f - <<EOF
$(jq '.metadata.name = "mine-99999999" | .kind = "Job" |
    .spec = .spec.jobTemplate.spec' "$cluster/mine.json")
EOF
not_ok "a user cannot create a CronJob that runs as another user" \
    make other kilntest2 "jobTemplate: {spec: {template: {spec: {
        securityContext: {runAsUser: $(id -u kilntest1)}, restartPolicy:
        \"Never\", containers: [{name: \"c\", image: \"host\"}]}}}}"
like "another user can read the schedule" \
    "$(as kilntest2 kctl get cronjob mine -o json)" '"schedule"'
unlike "another user cannot read the command" \
    "$(as kilntest2 kctl get cronjob mine -o json)" 'id -u'

# A CronJob that is held creates no Jobs.
for what in why show logs script; do
    like "kctl $what of a CronJob says what it is" "$(as kilntest1 kctl "$what" mine 2>&1)" \
        "'mine' is a recurring job .*'kctl jobs --cron'"
done
like "so does kctl wait" "$(as kilntest1 kctl wait mine 2>&1)" "'mine' is a recurring job"
is "its owner can hold a CronJob" "$(as kilntest1 kctl hold cronjob/mine)" \
    "cronjob/mine held"
is "a CronJob that is held already is reported" \
    "$(as kilntest1 kctl hold cronjob mine)" "cronjob/mine is held already"
like "kctl get shows that it is held" \
    "$(as kilntest1 kctl get cronjobs | tr -s ' ')" \
    'mine \* \* \* \* \* <none> True'
like "another user cannot release it" \
    "$(as kilntest2 kctl release cronjob/mine 2>&1)" 'cannot|forbidden'
like "a CronJob that does not exist cannot be held" \
    "$(as kilntest1 kctl hold cronjob/none cronjob/mine 2>&1 | tr '\n' ' ')" \
    'mine is held already.*"none" not found'
make rests kilntest1 '"suspend": true' >/dev/null
make beside kilntest1 >/dev/null
due rests
due beside
ok "another CronJob creates its Job when it is due" \
    wait_for 20 has_jobs beside 1
is "a held CronJob does not create one" "$(jobs_of rests .metadata.name)" ""
is "its owner can release a CronJob" \
    "$(as kilntest1 kctl release cronjob/rests)" \
    "cronjob/rests released"
ok "it creates a Job for the last time that was due" \
    wait_for 20 has_jobs rests 1
as kilntest1 kctl release cronjob/mine >/dev/null
as kilntest1 kctl delete cronjob beside rests >/dev/null

# ksub --cron keeps script and environment, and each run is a job.
cat >"$cluster/home/kilntest1/nightly.sh" <<'EOF'
#!/bin/sh
echo "$GREETING from $KILN_JOB_ID"
EOF
name=$(as kilntest1 env GREETING=hello ksub --cron '* * * * *' --parsable \
    -o "$cluster/home/kilntest1/out" nightly.sh)
like "ksub --cron prints the CronJob's name" "$name" '^nightly$'
like "an invalid schedule is refused" \
    "$(as kilntest1 ksub --cron '61 * * * *' nightly.sh 2>&1)" \
    "above maximum.*|is not a schedule"
for at in '0 0 30 2 *' '0 0 31 4,6 *'; do
    like "a schedule without any date is refused: $at" \
        "$(as kilntest1 ksub --cron "$at" nightly.sh 2>&1)" \
        'never occurs: none of its months has that day'
done
for on in afterok:1 singleton,afterany:2 'afterok:1?afterok:2'; do
    like "a CronJob cannot depend on jobs that exist now: $on" \
        "$(as kilntest1 ksub --cron @daily -d "$on" nightly.sh 2>&1)" \
        "--dependency $(echo "$on" | sed 's/?/./') names particular jobs.*only singleton is allowed"
done
like "a CronJob can depend on jobs of the same name" \
    "$(as kilntest1 ksub --cron @yearly \
    --parsable -J alone -d singleton nightly.sh)" '^alone$'
is "the Job template has that dependency" \
    "$(as kilntest1 kctl get cronjobs -o json |
    jq -c '.items[] | select(.metadata.name | startswith("alone")) |
        [.spec.jobTemplate.spec.dependencies.jobs[]?.type]')" '["singleton"]'
as kilntest1 kctl delete cronjob "$(as kilntest1 kctl get cronjobs -o json |
    jq -r '.items[].metadata.name | select(startswith("alone"))')" >/dev/null
like "a CronJob whose jobs would be refused now is not submitted" \
    "$(as kilntest1 ksub --cron @daily -p nowhere nightly.sh 2>&1)" nowhere
like "a CronJob can create arrays" \
    "$(as kilntest1 ksub --cron @yearly --parsable \
    -a 1-5%2 -J five nightly.sh)" '^five$'
is "three CronJobs exist" "$(as kilntest1 kctl get cronjobs -o name | wc -l)" 3
ok "the CronJob of ksub is made due" due "$name"
greets() { grep -q '^hello from [0-9]' "$cluster/home/kilntest1/out"; }
ok "its job runs the script in the stored environment" wait_for 20 greets
like "kctl shows the job" \
    "$(as kilntest1 kctl jobs --all-users 2>&1; as kilntest1 kctl history)" nightly
ok "its owner can delete it" as kilntest1 kctl delete cronjob "$name"

# Names as users give them.
again() { as kilntest1 ksub --cron @hourly --parsable -J 'Long Sleep' --wrap 'sleep 300' 2>&1; }
is "the name is the job's as a name of an object" "$(again)" long-sleep
is "a second one has a number, and ksub says so" "$(again | paste -sd' ' -)" \
    "ksub: there is a CronJob long-sleep already; this one is long-sleep-2 long-sleep-2"
crons=$(as kilntest1 kctl jobs --cron)
like "kctl jobs --cron shows it with its schedule" "$crons" \
    '^long-sleep +kilntest1 +Active +@hourly .* 0$'
is "kctl jobs --cron shows only the user's own" \
    "$(as kilntest2 kctl jobs --cron 2>&1)" "No CronJobs of user kilntest2; 'ksub --cron' submits one"
like "kctl jobs --cron --all-users shows all" \
    "$(as kilntest2 kctl jobs --cron --all-users --no-headers)" '^long-sleep '
is "kctl hold takes the name" "$(as kilntest1 kctl hold long-sleep)" "cronjob/long-sleep held"
like "kctl jobs --cron shows that it is held" "$(as kilntest1 kctl jobs --cron)" \
    '^long-sleep +kilntest1 +Held '
is "kctl release takes the name" \
    "$(as kilntest1 kctl release long-sleep)" "cronjob/long-sleep released"
ok "it is made due" due long-sleep
sleeps() { as kilntest1 kctl jobs -o id,name,state --no-headers | grep 'Long Sleep *Running'; }
ok "its job runs" wait_for 20 sleeps
like "kctl jobs --cron counts its jobs that have not ended" \
    "$(as kilntest1 kctl jobs --cron)" '^long-sleep .* 1$'
sleeper=$(sleeps | awk '{ print $1 }')
like "another user cannot cancel it" \
    "$(as kilntest2 kctl cancel long-sleep 2>&1)" "cannot patch cronjobs"
is "kctl cancel takes the name, and cancels its job" \
    "$(as kilntest1 kctl cancel long-sleep | paste -sd' ' -)" \
    "cronjob/long-sleep cancelled job/$sleeper cancelled"
unlike "it is gone" "$(as kilntest1 kctl jobs --cron)" '^long-sleep '
gone() { ! as kilntest1 kctl get cronjob long-sleep; }
ok "the object is gone, too" wait_for 20 gone
cancelled() { as kilntest1 kctl jobs "$sleeper" -o state | grep Cancelled; }
ok "its job is cancelled, and its record is kept" wait_for 20 cancelled
like "a name that is neither a job's nor a CronJob's is refused" \
    "$(as kilntest1 kctl cancel no-such-name 2>&1)" 'no-such-name.*not found|no job'
as kilntest1 kctl cancel long-sleep-2 >/dev/null

# The owner has lost the right to create Jobs.
root create -f - >/dev/null <<EOF
{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"lab",
 "annotations":{"kiln.hpc/members":"kilntest1"}}}
EOF
jq '.metadata.name = "lost" | .spec.suspend = true' "$cluster/mine.json" \
    >"$cluster/lost.json"
in_lab() { as kilntest1 kctl -n lab create -f - <"$cluster/lost.json"; }
ok "a member of a namespace can create a CronJob there" wait_for 10 in_lab
root annotate namespace lab kiln.hpc/members=kilntest2 --overwrite >/dev/null
due lost lab
api root PATCH /apis/batch/v1/namespaces/lab/cronjobs/lost \
    '{"spec":{"suspend":false}}' "$merge" >/dev/null
refused() { root -n lab get events -o json |
    jq -r '.items[] | select(.reason == "FailedCreate") | .message' |
    grep -q 'do not belong to the namespace'; }
ok "when the owner is no member any more, an event says why no Job is created" \
    wait_for 20 refused
is "no Job was created" "$(root -n lab get jobs -o name)" ""

# The controller is killed three times while many CronJobs are due. Each is due
# once, because its schedule is monthly, and creates one Job, which runs once.
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
# Releases a third of the CronJobs at a time. The controller is killed when the
# watch reports the first Job of them, while most Jobs are being created and
# before any status names its Job.
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
    as kilntest1 kctl --no-wait release $(seq -f 'cronjob/many%.0f' \
        $((last + 1)) $((kill * n / 3))) >/dev/null 2>&1
    last=$((kill * n / 3))
    wait "$killer"
    await_end controller
    kill "$watch" 2>/dev/null
    cluster_controller --socket "$cluster/socket"
done
# Releases those that the kills have kept from being released.
released() {
    # shellcheck disable=SC2046
    as kilntest1 kctl --no-wait release $(seq -f 'cronjob/many%.0f' "$n") >/dev/null 2>&1
}
ok "all CronJobs are released" wait_for 20 released
made() { jobs_of many '.metadata.ownerReferences[0].name' | sort -u | wc -l; }
all_made() { [ "$(made)" = "$n" ]; }
ok "each CronJob creates its Job although the controller was killed" \
    wait_for 30 all_made
all_ended() { ! jobs_of many .status.state | grep -qvx Completed; }
ok "each Job completes" wait_for 60 all_ended
names() { for i in $(seq "$n"); do echo "many$i"; done | sort; }
is "each CronJob created exactly one Job" \
    "$(jobs_of many '.metadata.ownerReferences[0].name' | sort)" "$(names)"
is "each Job has run once" "$(cat "$cluster"/ran/* | sort)" "$(names)"
ok "the user can delete the CronJob" as kilntest1 kctl delete cronjob mine
gone() { [ -z "$(jobs_of mine .metadata.name)" ]; }
ok "its Jobs are deleted with it" wait_for 20 gone
finish
