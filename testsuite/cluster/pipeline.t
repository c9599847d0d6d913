#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ksub --pipeline and --chain: several jobs are submitted in one transaction, all
# or none, whatever is refused of them and whenever the controller dies.

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

# --- the example of the manual --------------------------------------------------

awk '/^# results.yaml/ { on = 1 } /^\.EE/ { on = 0 } on' \
    "$(cd "$OLDPWD" && cd "$top_srcdir" && pwd)/man/ksub.1" |
    sed 's/\\-/-/g' >results.yaml
for script in prepare train report; do
    printf '#!/bin/sh\n#KSUB -o %s.out\necho %s "$@"\n' "$script" "$script" \
        >"$script.sh"
done
is "the manual's example is submitted" \
    "$(submit --pipeline results.yaml 2>&1)" "Submitted job 1 (prepare)
Submitted job 2 (train)
Submitted job 3 (clean)
Submitted job 4 (report)"
is "each stage waits for the number of another" \
    "$(waits 1) $(waits 2) $(waits 3) $(waits 4)" \
    " afterok:1 afterany:2 afterok:2,afterany:3"
is "their names are those of the stages" \
    "$(job 2 '.metadata.annotations["kiln.hpc/job-name"]')" train
is "options of the file are those of all" \
    "$(job 3 .spec.template.spec.activeDeadlineSeconds)" 1800
ok "they run, one after the other" wait_for 20 has_state 4 Completed
is "with their arguments" "$(cat prepare.out)" "prepare 2026 raw"

is "scripts in a chain wait for the one before" \
    "$(submit --parsable -H --chain prepare.sh train.sh report.sh 2>&1)" "5
6
7"
is "with nothing between" "$(waits 5),$(waits 6),$(waits 7)" \
    ",afterok:5,afterok:6"
is "the order of the file does not matter, and numbers are other jobs" \
    "$(submit --parsable --pipeline - 2>&1 <<'TXT'
stages:
- {name: last, wrap: 'true', options: -d afterany:5, after: 'after:first+1'}
- {name: first, wrap: 'true', after: 7}
TXT
    )" "9
8"
is "all of it is waited for" "$(waits 9) $(waits 8)" \
    "afterany:5,after:8 afterok:7"

# --- what is refused -------------------------------------------------------------

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
like "one of five is refused by the controller, with its line" "$(refusal)" \
    "^ksub: standard input:5: stage 'd': .*nowhere.*; nothing was submitted$"
five '[-c, many]' >now.yaml
like "or by ksub" "$(refusal)" \
    "standard input:5: stage 'd': --cpus-per-task.*many"
five '-d afterok:4711' >now.yaml
like "or it waits for a job that never was" "$(refusal)" \
    "stage 'd': .*there is no job 4711"
others=$(as kilntest2 ksub --parsable -H --wrap true)
root create namespace theirs >/dev/null
root annotate namespace theirs kiln.hpc/members=kilntest2 >/dev/null 2>&1
five '[-A, theirs]' >now.yaml
like "or is for an account that is another's" "$(refusal)" \
    "standard input:5: stage 'd': "
five '--wait' >now.yaml
like "or has an option of the command line" "$(refusal)" \
    "standard input:5: stage 'd': options of a stage"
printf 'stages:\n- {name: a, script: one.sh}\n- {name: b, script: two.sh}\n' \
    >now.yaml
printf '#!/bin/sh\n#KSUB -c none\n#KSUB --tiem 3\n' >one.sh
printf 'echo\n' >two.sh
refusal >refusals
like "all problems are told at once" "$(tail -n 1 refusals)" \
    "^ksub: 4 problems, nothing was submitted$"
like "with stage, script and line" "$(cat refusals)" \
    "standard input:2: stage 'a': one.sh:3: .*--tiem"
while IFS='|' read -r words text; do
    printf '%b' "$text" >now.yaml
    like "refused: $words" "$(refusal)" "$words"
done <<'TXT'
standard input:3: there are two stages 'a', the first on line 2|stages:\n- {name: a, wrap: x}\n- {name: a, wrap: x}\n
standard input:2: stage 'a' waits for stage 'b', which is not in this file|stages:\n- {name: a, wrap: x, after: b}\n
standard input:2: stage 'a' waits for itself|stages:\n- {name: a, wrap: x, after: a}\n
stage 'a' waits for 'b', which waits for 'c', which waits for 'a': none|stages:\n- {name: d, wrap: x, after: a}\n- {name: a, wrap: x, after: b}\n- {name: b, wrap: x, after: c}\n- {name: c, wrap: x, after: a}\n
standard input:3: 'scirpt' is no word of a pipeline .did you mean 'script'|stages:\n- name: a\n  scirpt: x\n
stage 'a' has neither: one of script and wrap|stages:\n- name: a\n
standard input:2: a stage cannot be called '7': that is the number of a job|stages:\n- {name: 7, wrap: x}\n
standard input:2: after: 'afterokay' is no dependency|stages:\n- {name: a, wrap: x, after: 'afterokay:b'}\n
standard input:1: a list of stages is expected|stages: none\n
line 3, column|stages:\n- {name: a, wrap\n
it is empty|# nothing\n
TXT
{
    echo stages:
    i=0
    while [ $((i += 1)) -le 129 ]; do echo "- {name: s$i, wrap: x}"; done
} >now.yaml
like "too many stages are refused" "$(refusal)" \
    "a pipeline has 128 stages at the most, not 129"
head -c 1100000 /dev/zero | tr '\0' '#' >now.yaml
like "as is a file without end" "$(refusal)" "more than 1 MiB"
like "and what is for one job alone" \
    "$(submit --wait --chain prepare.sh 2>&1)" "--wait is for one job"
like "a script beside a file" "$(submit --pipeline now.yaml train.sh 2>&1)" \
    "'train.sh' beside --pipeline"
is "of all of these there is nothing" "$(count)" "$((before + 1))"
is "nor of a try" "$(submit --test-only --chain prepare.sh train.sh 2>&1)" \
    "The controller would accept all 2 jobs."
is "nor of a look" \
    "$(submit --dry-run -o json --chain prepare.sh train.sh |
        jq -r '.items[1].spec.dependencies.jobs[0].stage')" prepare.sh
is "nothing at all" "$(count)" "$((before + 1))"
job "$others" .status.state >/dev/null

# --- a hundred, and a controller that dies -----------------------------------------

{
    echo stages:
    echo "- {name: s1, wrap: 'true', options: -H}"
    i=1
    while [ $((i += 1)) -le 100 ]; do
        echo "- {name: s$i, wrap: 'true', after: s$((i - 1))}"
    done
} >hundred.yaml
is "a hundred stages are one request" \
    "$(submit --parsable --pipeline hundred.yaml 2>&1 | wc -l)" 100
is "which are there" "$(count)" "$((before + 101))"

# Each has a name of its own; it ends when it says so or cannot.
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
ok "all are answered" wait_for 40 wait_told
root get jobs -o json |
    jq -r '.items[].metadata.annotations["kiln.hpc/job-name"]' |
    grep '^kill' | sort | uniq -c | awk '{ print $1 }' | sort -u >counts
is "a controller that is killed leaves all of them or none, and once" \
    "$(cat counts)" 5
like "those that were told are there" "$(cat told*)" '[0-9]'
is "each of them" \
    "$(cat told* | grep -c '^[0-9]')" \
    "$(root get jobs -o json | jq -r \
        '.items[].metadata.annotations["kiln.hpc/job-name"]' | grep -c '^kill')"
finish
