/* SPDX-License-Identifier: Apache-2.0 */
/* krun_variables.h - the variables that stand for options of krun, as for srun
 *
 * Thread:  the main one.
 * Source:  srun(1) of Slurm 22.05, "input environment variables".
 */
#pragma once

struct error;
struct krun_settings;

/* Before the command line, which counts more. Numbers of tasks and nodes that come from
 * here are the job's (has_tasks and the others stay false). -EINVAL, with the variable.
 */
int krun_variables_read(struct krun_settings *settings, struct error *err);
