#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Slurm's scontrol, with real daemons: its words, its exit codes and its records as Debian's Slurm
# 22.05 has them; and Slurm's commands inside of jobs

# shellcheck disable=SC2016 # what the user's shell expands

: "${top_srcdir:=.}" "${top_builddir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"

cluster_begin
need jq
cluster_slurm
cluster_user kilntest1
cluster_munge
cluster_controller
cluster_agent n1 --topology 'package:2 core:4 pu:1'
admin() { kctl --server "http+unix://$cluster/state/socket" "$@"; }
wait_for 20 admin wait --for condition=Ready node n1 || bail_out "no node"
for key in $(admin get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    admin taint node n1 "$key-" >/dev/null
done

# What a user's command says, on one line: "OUT|ERR|STATUS".
says() {
    status=0
    as kilntest1 timeout 60 "$@" >"$cluster/out" 2>"$cluster/err" </dev/null || status=$?
    printf '%s|%s|%s\n' "$(tr '\n' '+' <"$cluster/out")" "$(tr '\n' '+' <"$cluster/err")" "$status"
}
submit() { as kilntest1 sbatch --parsable -t 10 -o /dev/null --wrap 'sleep 500' "$@"; }
state() { admin get job "$1" --no-headers -o jsonpath='{.status.state}'; }
is_in() { [ "$(state "$1")" = "$2" ]; }

# --- host lists, which ask nobody ---------------------------------------------

is "hostnames" "$(says scontrol show hostnames 'n[1-3,7],m2')" "n1+n2+n3+n7+m2+||0"
is "of two numbers" "$(says scontrol show hostnames 'r[1-2]n[01-02]')" "r1n01+r1n02+r2n01+r2n02+||0"
is "of the job that it is called in" "$(says env SLURM_NODELIST='n[8-9]' scontrol show hostnames)" \
    "n8+n9+||0"
is "without a list" "$(says scontrol show hostnames)" "|scontrol: error: host list is empty+|0"
is "hostlist" "$(says scontrol show hostlist n1,n2,n3,m1)" "n[1-3],m1+||0"
is "in its order" "$(says scontrol show hostlist n3,n1)" "n[3,1]+||0"
is "sorted" "$(says scontrol show hostlistsorted n3,n1,n2)" "n[1-3]+||0"
is "zeros stay" "$(says scontrol show hostlist n01,n02,n1)" "n[01-02,1]+||0"
like "a list that is none" "$(says scontrol show hostnames 'n[3')" 'Invalid hostlist.*\|1$'

# --- small keywords -----------------------------------------------------------

like "version" "$(says scontrol version)" '^slurm 22\.05\.8 \(kiln .*\|\|0$'
like "ping" "$(says scontrol ping)" '^Slurmctld\(primary\) at .* is UP\+\|\|0$'
like "ping of a controller that is away" "$(says env KILN_SERVER=http://127.0.0.1:1 scontrol ping)" \
    '^Slurmctld\(primary\) at .* is DOWN\+\|\|1$'
is "an unknown keyword" "$(says scontrol foo)" "|invalid keyword: foo+|1"
is "an unknown entity" "$(says scontrol show foo)" "|invalid entity:foo for keyword:show +|1"
is "no entity" "$(says scontrol show)" "|too few arguments for keyword:show+|1"
like "reboot is refused" "$(says scontrol reboot n1)" 'does not reboot nodes.*\|1$'
like "commands come from standard input" "$(says sh -c 'printf "version\nquit\nfoo\n" | scontrol')" \
    '^scontrol: slurm 22.*scontrol: \|\|0$'

# --- jobs ---------------------------------------------------------------------

running=$(submit -J 'a b')
held=$(submit -H -J held)
array=$(submit -a '1-5%1')
ended=$(as kilntest1 sbatch --parsable --wait -o /dev/null --wrap 'exit 3' || true)
ok "a job runs" wait_for 20 is_in "$running" Running

is "hold" "$(says scontrol hold "$held" "${array}_4")" "||0"
is "by name" "$(says scontrol hold name=held)" "||0"
is "a job that does not exist" "$(says scontrol hold 9999)" \
    "|Invalid job id specified for job 9999+slurm_suspend error: Invalid job id specified+|1"
is "with -Q it is not told" "$(says scontrol -Q hold 9999)" "||1"
is "a job that has ended" "$(says scontrol hold "$ended")" \
    "|Job has already finished for job $ended+slurm_suspend error: Job has already finished+|1"
is "no job" "$(says scontrol hold)" "|too few arguments for keyword:hold+|1"
is "requeue of a job that waits" "$(says scontrol requeue "$held")" \
    "|Job is pending execution for job $held+|1"
is "suspend is for operators" "$(says scontrol suspend "$running")" \
    "|Access/permission denied for job $running+|1"
is "update" "$(says scontrol update "JobId=$held" TimeLimit=1:00:00 'Comment=two words' Name=other)" "||0"
is "the job has the new values" "$(admin get job "$held" -o json | jq -r '[
    .spec.template.spec.activeDeadlineSeconds, .metadata.annotations["kiln.hpc/job-name"]] | join(" ")')" \
    "3600 other"
is "update in its other form" "$(says scontrol update job "$held" Comment=foo)" "||0"
is "of a field that no job has" "$(says scontrol update "JobId=$held" Foo=5)" \
    "|Update of this parameter is not supported: Foo=5+Request aborted+|1"
like "of a wrong value" "$(says scontrol update "JobId=$held" TimeLimit=abc)" \
    '^\|scontrol: error: Invalid TimeLimit value.*\|1$'
is "of nothing" "$(says scontrol update "JobId=$held")" "|No changes specified+|1"
is "to a partition that does not exist" "$(says scontrol update "JobId=$held" Partition=nope)" \
    "|Invalid partition name specified for job $held+|1"
is "a longer time of a job that runs" "$(says scontrol update "JobId=$running" TimeLimit=50)" \
    "|Access/permission denied for job $running+|1"
is "the throttle of an array" "$(says scontrol update "JobId=$array" ArrayTaskThrottle=2)" "||0"
is "the script of a job" "$(says scontrol write batch_script "$running" -)" \
    "#!/bin/sh+# Made by sbatch --wrap.++sleep 500+||0"
is "into a file" "$(says scontrol write batch_script "$running")" \
    "batch script for job $running written to slurm-$running.sh+||0"
is "of a job that does not exist" "$(says scontrol write batch_script 9999 -)" \
    "|job script retrieval failed: Invalid job id specified+|1"
is "wait_job" "$(says scontrol wait_job "$running")" "|scontrol: Nodes are ready for job $running+|0"
is "of a job that does not exist" "$(says scontrol wait_job 9999)" \
    "|scontrol: Problem running job 9999+|1"
is "release" "$(says scontrol release "$held")" "||0"
ok "the job runs" wait_for 20 is_in "$held" Running
is "requeuehold" "$(says scontrol requeuehold "$running")" "||0"
ok "the job is held" wait_for 20 is_in "$running" Held

# --- inside of a job ----------------------------------------------------------

as kilntest1 sbatch -Q -W -o "inside.out" --wrap 'scontrol show hostnames
scontrol version; command -v sbatch; squeue -h -j "$SLURM_JOB_ID" -o %T; sbatch --parsable -H --wrap "command -v scancel"
command -v srun; scancel "$SLURM_JOB_ID"; sleep 60'
inside=$(cat "$cluster/home/kilntest1/inside.out")
like "a job finds Slurm's commands, and its own node by them" "$(echo "$inside" | tr '\n' '+')" \
    "^n1\\+slurm 22.*\\+$cluster/bin/slurm/sbatch\\+RUNNING\\+[0-9]+(\\+|\$)"
unlike "it finds no srun of Kiln's" "$inside" "$cluster/bin/slurm/srun"
is "a job of ksub does not have them" "$(as kilntest1 ksub -Q -t 5 --wait --export NONE --no-sbatch -o plain.out \
    --wrap 'echo "$PATH"' >/dev/null && grep -c bin/slurm: "$cluster/home/kilntest1/plain.out")" 0
finish
