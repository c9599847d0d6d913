-- SPDX-License-Identifier: Apache-2.0
-- slurm-kiln.lua - a module (Lmod) that puts Slurm's commands for Kiln into PATH
--
-- Copy it into a folder of MODULEPATH and adapt the path to where Kiln is installed.

help([[Slurm's commands (sbatch, squeue, scancel, scontrol, ...) for a Kiln cluster: see man kiln-slurm.]])
whatis("Name: slurm-kiln")
whatis("Description: Slurm's commands for a Kiln cluster")
conflict("slurm")
prepend_path("PATH", "/usr/libexec/kiln/slurm")
