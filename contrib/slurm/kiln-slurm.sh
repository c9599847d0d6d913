# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# kiln-slurm.sh - puts Slurm's commands for Kiln into the PATH of users
#
# Copy it to /etc/profile.d. The commands come before those of a Slurm that this machine may
# have; to have them behind, put the folder at the end. Jobs of scripts for Slurm have the
# folder in any case, but a script that begins with "#!/bin/bash -l" sets its PATH anew and needs this.

for kiln_slurm in /usr/libexec/kiln/slurm /usr/lib/kiln/slurm /usr/local/libexec/kiln/slurm; do
    if [ -x "$kiln_slurm/sbatch" ]; then
        case :$PATH: in
        *:"$kiln_slurm":*) ;;
        *)
            PATH=$kiln_slurm:$PATH
            export PATH
            ;;
        esac
        break
    fi
done
unset kiln_slurm
