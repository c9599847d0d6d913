#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Slurm's sbatch, with real daemons: options, variables, output and exit codes as Debian's
# Slurm 22.05 has them

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
cd "$cluster/home" || bail_out "no directory for the jobs"

like "sbatch says which Slurm it is" "$(sbatch --version)" '^slurm 22\.05\.8 \(kiln '
like "a job is submitted in Slurm's words" "$(as kilntest1 sbatch --wrap true)" '^Submitted batch job [0-9]+$'
like "--parsable prints the id" "$(as kilntest1 sbatch --parsable --wrap true)" '^[0-9]+$'
finish
