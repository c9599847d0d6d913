/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_command.h - one of Slurm's commands: its name and its function
 *
 * There is one file for each command; main.c lists all of them. A command reads
 * its own options, because several have their own rules, and prints its errors
 * by slurm_client.h.
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>

struct slurm_client;

/* Run: the exit status. */
struct slurm_command {
    const char *name;
    const char *summary;
    bool is_refused; /* it only says what to use instead */
    int (*run)(struct slurm_client *client, int argc, char **argv);
};

extern const struct slurm_command sacct_slurm_command;
extern const struct slurm_command sacctmgr_slurm_command;
extern const struct slurm_command salloc_slurm_command;
extern const struct slurm_command sattach_slurm_command;
extern const struct slurm_command sbatch_slurm_command;
extern const struct slurm_command sbcast_slurm_command;
extern const struct slurm_command scancel_slurm_command;
extern const struct slurm_command scontrol_slurm_command;
extern const struct slurm_command scrontab_slurm_command;
extern const struct slurm_command sdiag_slurm_command;
extern const struct slurm_command seff_slurm_command;
extern const struct slurm_command sinfo_slurm_command;
extern const struct slurm_command sprio_slurm_command;
extern const struct slurm_command squeue_slurm_command;
extern const struct slurm_command sreport_slurm_command;
extern const struct slurm_command srun_slurm_command;
extern const struct slurm_command sshare_slurm_command;
extern const struct slurm_command sstat_slurm_command;
extern const struct slurm_command strigger_slurm_command;
extern const struct slurm_command sview_slurm_command;
