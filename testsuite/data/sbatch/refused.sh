#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#SBATCH --job-name=sweep
#SBATCH --array=99-0%10
#SBATCH --nodes=4 --ntasks=64
#SBATCH --dependency=expand:17
#SBATCH --licenses=matlab:1 --x11

module load openmpi
./sweep "$SLURM_ARRAY_TASK_ID"
