#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Workflow managers of Debian as their users call them, with Slurm's commands of Kiln: snakemake
# by --slurm, by --cluster and by DRMAA; GNU parallel with srun, as in its manual. What is not
# installed is skipped: apt-get install snakemake python3-drmaa parallel

# shellcheck disable=SC2016,SC2119 # expanded by jobs; cluster.sh

: "${top_srcdir:=.}" "${top_builddir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"

command -v snakemake >/dev/null || command -v parallel >/dev/null ||
    skip_all "neither snakemake nor parallel is installed (Debian packages of these names)"
cluster_begin
need jq
cluster_slurm
cluster_user kilntest1 || skip_all "needs root"
cluster_munge
cluster_controller
cluster_agent n1 --topology 'package:2 core:4 pu:1'
admin() { kctl --server "http+unix://$cluster/state/socket" "$@"; }
wait_for 20 admin wait --for condition=Ready node n1 || bail_out "no node"
for key in $(admin get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    admin taint node n1 "$key-" >/dev/null
done
home=$cluster/home/kilntest1

# --- snakemake ----------------------------------------------------------------

cat >"$cluster/Snakefile" <<'E'
rule all:
    input: "report.txt"

rule count:
    output: "counts/{sample}.txt"
    resources: runtime=5
    threads: 2
    shell: "echo {wildcards.sample} $(nproc) > {output}"

rule merge:
    input: expand("counts/{sample}.txt", sample=["a", "b"])
    output: "report.txt"
    shell: "cat {input} > {output}"

rule bad:
    output: "bad.txt"
    shell: "exit 3"

rule slow:
    output: "slow.txt"
    shell: "sleep 600; touch {output}"
E
cat >"$cluster/status.py" <<'E'
#!/usr/bin/python3
import subprocess
import sys

state = subprocess.run(["sacct", "-j", sys.argv[1], "-X", "-n", "-P", "-o", "State"], check=True,
                       stdout=subprocess.PIPE, universal_newlines=True).stdout.split(" ")[0].strip()
if state in ("", "PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "REQUEUED"):
    print("running")
else:
    print("success" if state == "COMPLETED" else "failed")
E
chmod 755 "$cluster/status.py"

# begin FOLDER: a fresh folder for a run.
begin() {
    folder=$home/$1
    as kilntest1 mkdir -p "$folder"
    cp "$cluster/Snakefile" "$folder/"
    chmod 644 "$folder/Snakefile"
}
# snake OPTION...: runs snakemake in the folder; what it said is in $folder/said.
snake() {
    as kilntest1 env HOME="$home" XDG_CACHE_HOME="$home/cache" USER=kilntest1 \
        DRMAA_LIBRARY_PATH="$cluster/bin/libdrmaa.so.1" KILN_DRMAA_BINDIR="$cluster/bin" \
        timeout 300 sh -c 'cd "$1" && shift && exec snakemake "$@"' _ "$folder" \
        "$@" --nocolor -j 4 --latency-wait 20 --max-status-checks-per-second 1 \
        --default-resources mem_mb=500 runtime=5 >"$folder/said" 2>&1
}
told() { note "$(tail -n 40 "$folder/said")"; }
report="a 2
b 2"

if command -v snakemake >/dev/null; then
    begin slurm
    snake report.txt bad.txt --keep-going --slurm
    is "a rule that fails ends snakemake --slurm" "$?" 1
    like "... and it knows the state" "$(cat "$folder/said")" \
        "SLURM-job '[0-9]+' failed, SLURM status is: 'FAILED'"
    is "each other rule has a job with the CPUs that it asked for" \
        "$(cat "$folder/report.txt")" "$report" || told
    is "... of which each ran once" "$(as kilntest1 sacct -X -n -P -o state | sort | uniq -c |
        tr -s ' \n' ' ')" " 3 COMPLETED 1 FAILED "

    # Ctrl-C is for the whole group.
    begin interrupt
    as kilntest1 env HOME="$home" XDG_CACHE_HOME="$home/cache" USER=kilntest1 timeout 300 \
        setsid sh -c 'echo $$ >"$1/pid" && cd "$1" && exec snakemake slow.txt --slurm \
            -j 1 --max-status-checks-per-second 1 --default-resources mem_mb=500 runtime=5' _ "$folder" >"$folder/said" 2>&1 &
    snakemake=$!
    runs() { [ "$(as kilntest1 squeue -h -t R -o %j | wc -l)" -eq 1 ]; }
    ok "a long rule runs" wait_for 60 runs || told
    kill -INT "$(cat "$folder/pid")"
    is_cancelled() { [ -z "$(as kilntest1 squeue -h -o %i)" ]; }
    ok "its job is cancelled if snakemake is interrupted" wait_for 60 is_cancelled || told
    wait "$snakemake"

    begin cluster
    snake report.txt bad.txt --keep-going --cluster "sbatch --parsable -J {rule} -c {threads} \
--mem={resources.mem_mb} -t {resources.runtime} -o $folder/job-%j.out" \
        --cluster-status "$cluster/status.py" --cluster-cancel scancel
    is "a rule that fails ends snakemake --cluster, with sbatch, sacct and scancel" "$?" 1
    is "... and the others succeed" "$(cat "$folder/report.txt")" "$report" || told

    begin sync
    snake --cluster-sync "sbatch --wait -c {threads} --mem={resources.mem_mb}" || told
    is "snakemake --cluster-sync with sbatch --wait" "$(cat "$folder/report.txt")" "$report"

    begin drmaa
    if /usr/bin/python3 -c 'import importlib.util as u; exit(not u.find_spec("drmaa"))' &&
        ! grep -q -a -e __asan_init -e __tsan_init "$top_builddir/libdrmaa.so.1"; then
        cp "$top_builddir/libdrmaa.so.1" "$cluster/bin/"
        snake report.txt bad.txt --keep-going \
            --drmaa " -c {threads} --mem={resources.mem_mb} -t {resources.runtime}"
        is "a rule that fails ends snakemake --drmaa" "$?" 1
        is "... and the others succeed" "$(cat "$folder/report.txt")" "$report" || told
    else
        skip "snakemake --drmaa" "python3-drmaa is missing, or sanitizers are in"
    fi
else
    skip "workflows of snakemake" "snakemake is not installed (Debian's package snakemake)"
fi

# --- GNU parallel ---------------------------------------------------------------

if command -v parallel >/dev/null; then
    # The example "Slurm cluster" of parallel_examples(7).
    cat >"$home/parallel.sh" <<'E'
#!/bin/bash

#SBATCH --time 00:02:00
#SBATCH --ntasks=4
#SBATCH --job-name GnuParallelDemo
#SBATCH --output gnuparallel.out

my_parallel="parallel --delay .2 -j $SLURM_NTASKS"
my_srun="srun --export=all --exclusive -n1 --cpus-per-task=1 --cpu-bind=cores"
$my_parallel "$my_srun" echo This is job {} ::: {1..20}
E
    as kilntest1 env HOME="$home" sh -c 'cd && sbatch --wait parallel.sh' >/dev/null
    is "GNU parallel starts steps, as in its manual" \
        "$(grep '^This is job' "$home/gnuparallel.out" | sort -k 4n | tr '\n' ';')" \
        "$(for i in $(seq 20); do echo "This is job $i"; done | tr '\n' ';')" ||
        note "$(cat "$home/gnuparallel.out")"
    # Files as parallel distributes them, one CPU each, and its log.
    cat >"$home/files.sh" <<'E'
#!/bin/bash
#SBATCH -n 4 -t 2 -o files.out
for i in 1 2 3 4 5 6; do seq $((i * 100)) >part$i.txt; done
ls part*.txt | parallel -j $SLURM_NTASKS --joblog log srun -N1 -n1 --exact wc -l {} '>' {.}.count
cat part*.count | awk '{ n += $1 } END { print n }'
awk 'NR > 1 && $7 == 0' log | wc -l
parallel -j 2 --halt now,fail=1 srun -n1 --exact sh -c '"exit {}"' ::: 0 5; echo "failed $?"
seq 100 | parallel --pipe -N 50 -j 2 srun -n1 --exact cat | wc -l
E
    as kilntest1 env HOME="$home" sh -c 'cd && sbatch --wait files.sh' >/dev/null
    is "... with its log, its exit code and pipes" "$(grep -v '^srun: error\|^parallel:' "$home/files.out" |
        grep -v 'srun -n1')" "2100
6
failed 5
100" || note "$(cat "$home/files.out")"
else
    skip "GNU parallel with srun" "parallel is not installed (Debian's package parallel)"
fi
finish
