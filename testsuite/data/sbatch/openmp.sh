#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#SBATCH --job-name=omp
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=2
#SBATCH --time=0-00:05
#SBATCH --mem-per-cpu=32M
#SBATCH --hint=multithread --wckey=bench
#SBATCH --output=%x_%A.out
#SBATCH --mail-type=BEGIN,END,FAIL
#SBATCH --mail-user=me@example.org
#SBATCH --qos=normal

cd "$SLURM_SUBMIT_DIR" || exit 1
export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK
echo "directory=$PWD threads=$OMP_NUM_THREADS"
env | grep '^SLURM' | sort
