#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=2
#SBATCH --time=5
#SBATCH --output=mpi.out
#SBATCH --exclusive

# Does what "mpirun -n" would do, on a machine without mpirun.
for rank in $(seq 0 $((SLURM_NTASKS - 1))); do
    echo "rank $rank of $SLURM_NTASKS on $SLURM_JOB_NODELIST" &
done
wait
