#!/bin/bash -e
# SPDX-License-Identifier: Apache-2.0
#SBATCH -J train -N 1 --gres=gpu:1 --cpus-per-gpu=2
#SBATCH -t 10:00 --mem-per-gpu=64M   # minutes and seconds
#SBATCH -o train-%j.out --open-mode=append
#SBATCH --requeue --signal=B:USR1@120

echo "gpus=$SLURM_GPUS_ON_NODE cpus=$SLURM_CPUS_ON_NODE"
