/* SPDX-License-Identifier: Apache-2.0 */
/* krun_environment.h - the variables and limits of krun that the tasks of its step get
 *
 * Thread:  the main one.
 * Source:  srun(1) of Slurm 22.05, --export and --propagate.
 */
#pragma once

struct arena;
struct error;
struct krun_settings;

/* Sets request.environment from krun's own environment and --export. Variables of Kiln
 * and Slurm, and PATH, are always there. -EINVAL: --export is malformed.
 */
int krun_environment_set(struct arena *arena, struct krun_settings *settings, struct error *err);

/* Sets request.limits and umask from krun's own and --propagate. -EINVAL: no such limit. */
int krun_environment_set_limits(struct arena *arena, struct krun_settings *settings,
                                struct error *err);
