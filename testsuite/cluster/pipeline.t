#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ksub --pipeline and --chain: several jobs are submitted in one transaction,
# all or none, whichever of them is refused and whenever the controller is
# killed.

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
cluster_agent n1 --topology 'package:1 core:8 pu:1'
wait_for 20 root wait --for condition=Ready node n1 || bail_out "no node"
for key in $(root get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    root taint node n1 "$key-" >/dev/null
done

directory "$cluster/p" 777
cd "$cluster/p" || bail_out "no directory"
submit() { as kilntest1 env -C "$cluster/p" ksub "$@"; }
count() { root get jobs -o json | jq '.items | length'; }
job() { root get job "job-$1" -o json | jq -r "$2"; }
has_state() { [ "$(job "$1" .status.state)" = "$2" ]; }
waits() { job "$1" '[.spec.dependencies.jobs[]? | "\(.type):\(.job)"] | join(",")'; }

# --- the example of the manual page -------------------------------------------

awk '/^# results.yaml/ { on = 1 } /^\.EE/ { on = 0 } on' \
    "$(cd "$OLDPWD" && cd "$top_srcdir" && pwd)/man/ksub.1" |
    sed 's/\\-/-/g' >results.yaml
for script in prepare train report; do
    printf '#!/bin/sh\n#KSUB -o %s.out\necho %s "$@"\n' "$script" "$script" \
        >"$script.sh"
done
is "the manual's example can be submitted" \
    "$(submit --pipeline results.yaml 2>&1)" "Submitted job 1 (prepare)
Submitted job 2 (train)
Submitted job 3 (clean)
Submitted job 4 (report)"
is "each stage depends on the jobs of the stages before" \
    "$(waits 1) $(waits 2) $(waits 3) $(waits 4)" \
    " afterok:1 afterany:2 afterok:2,afterany:3"
is "the jobs have the names of their stages" \
    "$(job 2 '.metadata.annotations["kiln.hpc/job-name"]')" train
is "the options of the file apply to all stages" \
    "$(job 3 .spec.template.spec.activeDeadlineSeconds)" 1800
ok "the stages run one after the other" wait_for 20 has_state 4 Completed
is "the stages have their arguments" "$(cat prepare.out)" "prepare 2026 raw"

is "in a chain each script depends on the one before" \
    "$(submit --parsable -H --chain prepare.sh train.sh report.sh 2>&1)" "5
6
7"
is "the dependencies are afterok" "$(waits 5),$(waits 6),$(waits 7)" \
    ",afterok:5,afterok:6"
is "stages can be in any order, and numbers are other jobs" \
    "$(submit --parsable --pipeline - 2>&1 <<'TXT'
stages:
- {name: last, wrap: 'true', options: -d afterany:5, after: 'after:first+1'}
- {name: first, wrap: 'true', after: 7}
TXT
    )" "9
8"
is "dependencies in options and in the file are combined" \
    "$(waits 9) $(waits 8)" \
    "afterany:5,after:8 afterok:7"

# --- what is refused ----------------------------------------------------------

before=$(count)
five() { # OPTIONS OF THE FOURTH
    cat <<TXT
stages:
- {name: a, wrap: 'true'}
- {name: b, wrap: 'true', after: a}
- {name: c, wrap: 'true'}
- {name: d, wrap: 'true', options: $1}
- {name: e, wrap: 'true', after: d}
TXT
}
refusal() { submit --pipeline - 2>&1 <"$cluster/p/now.yaml" >/dev/null; }
five '[-p, nowhere]' >now.yaml
like "if the controller refuses one of five stages, nothing is submitted" \
    "$(refusal)" \
    "^ksub: standard input:5: stage 'd': .*nowhere.*; nothing was submitted$"
five '[-c, many]' >now.yaml
like "a stage with an invalid option is reported by its line" "$(refusal)" \
    "standard input:5: stage 'd': --cpus-per-task.*many"
five '-d afterok:4711' >now.yaml
like "a stage that depends on an unknown job is refused" "$(refusal)" \
    "stage 'd': .*there is no job 4711"
others=$(as kilntest2 ksub --parsable -H --wrap true)
root create namespace theirs >/dev/null
root annotate namespace theirs kiln.hpc/members=kilntest2 >/dev/null 2>&1
five '[-A, theirs]' >now.yaml
like "a stage for an account of other users is refused" "$(refusal)" \
    "standard input:5: stage 'd': "
five '--wait' >now.yaml
like "a stage with an option for the command line only is refused" \
    "$(refusal)" \
    "standard input:5: stage 'd': a stage takes the options of a job"
printf 'stages:\n- {name: a, script: one.sh}\n- {name: b, script: two.sh}\n' \
    >now.yaml
printf '#!/bin/sh\n#KSUB -c none\n#KSUB --tiem 3\n' >one.sh
printf 'echo\n' >two.sh
refusal >refusals
like "all errors are reported together" "$(tail -n 1 refusals)" \
    "^ksub: 4 problems, nothing was submitted$"
like "errors in scripts are reported with stage, script and line" \
    "$(cat refusals)" \
    "standard input:2: stage 'a': one.sh:3: .*--tiem"
while IFS='|' read -r words text; do
    printf '%b' "$text" >now.yaml
    like "refused: $words" "$(refusal)" "$words"
done <<'TXT'
standard input:3: there are two stages 'a', the first on line 2|stages:\n- {name: a, wrap: x}\n- {name: a, wrap: x}\n
standard input:2: stage 'a' waits for stage 'b', which is not in this file|stages:\n- {name: a, wrap: x, after: b}\n
standard input:2: stage 'a' waits for itself|stages:\n- {name: a, wrap: x, after: a}\n
stage 'a' waits for 'b', which waits for 'c', which waits for 'a': none|stages:\n- {name: d, wrap: x, after: a}\n- {name: a, wrap: x, after: b}\n- {name: b, wrap: x, after: c}\n- {name: c, wrap: x, after: a}\n
standard input:3: unknown pipeline key 'scirpt' .did you mean 'script'|stages:\n- name: a\n  scirpt: x\n
stage 'a' has neither: give either script or wrap|stages:\n- name: a\n
standard input:2: a stage cannot be called '7': that is a job id|stages:\n- {name: 7, wrap: x}\n
standard input:2: after: 'afterokay' is not a dependency|stages:\n- {name: a, wrap: x, after: 'afterokay:b'}\n
standard input:1: expected a list of stages|stages: none\n
line 3, column|stages:\n- {name: a, wrap\n
it is empty|# nothing\n
TXT
{
    echo stages:
    i=0
    while [ $((i += 1)) -le 129 ]; do echo "- {name: s$i, wrap: x}"; done
} >now.yaml
like "a pipeline with too many stages is refused" "$(refusal)" \
    "a pipeline can have at most 128 stages, not 129"
head -c 1100000 /dev/zero | tr '\0' '#' >now.yaml
like "a file that is too large is refused" "$(refusal)" "more than 1 MiB"
like "an option for a single job is refused" \
    "$(submit --wait --chain prepare.sh 2>&1)" "--wait is for one job"
like "a script together with --pipeline is refused" \
    "$(submit --pipeline now.yaml train.sh 2>&1)" \
    "'train.sh' is not expected with --pipeline"
is "none of these has created a job" "$(count)" "$((before + 1))"
is "--test-only accepts a chain" \
    "$(submit --test-only --chain prepare.sh train.sh 2>&1)" \
    "The controller would accept all 2 jobs."
is "--dry-run prints a chain" \
    "$(submit --dry-run -o json --chain prepare.sh train.sh |
        jq -r '.items[1].spec.dependencies.jobs[0].stage')" prepare.sh
is "neither of them has created a job" "$(count)" "$((before + 1))"
job "$others" .status.state >/dev/null

# --- a hundred stages, and a controller that is killed ------------------------

{
    echo stages:
    echo "- {name: s1, wrap: 'true', options: -H}"
    i=1
    while [ $((i += 1)) -le 100 ]; do
        echo "- {name: s$i, wrap: 'true', after: s$((i - 1))}"
    done
} >hundred.yaml
is "a hundred stages can be submitted" \
    "$(submit --parsable --pipeline hundred.yaml 2>&1 | wc -l)" 100
is "all of them are created" "$(count)" "$((before + 101))"

# Submits eight pipelines at once. Each submission has another name, and prints
# "refused" if it fails.
five '[-H]' | sed 's,^stages:,options: -H\nstages:,' >now.yaml
for i in 1 2 3 4 5 6 7 8; do
    (submit --parsable -J "kill$i" --pipeline now.yaml \
        >"told$i" 2>"error$i" || echo refused >>"told$i") &
    [ $((i % 3)) != 0 ] || {
        signal controller KILL
        await_end controller || bail_out "the controller lives"
        cluster_controller --socket "$cluster/socket"
    }
done
wait_told() {
    for i in 1 2 3 4 5 6 7 8; do
        [ "$(wc -l <"told$i")" -ge 5 ] || grep -q refused "told$i" || return 1
    done
}
ok "all submissions get an answer" wait_for 40 wait_told
root get jobs -o json |
    jq -r '.items[].metadata.annotations["kiln.hpc/job-name"]' |
    grep '^kill' | sort | uniq -c | awk '{ print $1 }' | sort -u >counts
is "each pipeline has all five jobs once or none, although the controller was killed" \
    "$(cat counts)" 5
like "the printed jobs exist" "$(cat told*)" '[0-9]'
is "the number of printed jobs is the number of created jobs" \
    "$(cat told* | grep -c '^[0-9]')" \
    "$(root get jobs -o json | jq -r \
        '.items[].metadata.annotations["kiln.hpc/job-name"]' | grep -c '^kill')"
finish
