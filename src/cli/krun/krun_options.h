/* SPDX-License-Identifier: Apache-2.0 */
/* krun_options.h - the options of krun, which are srun's, and srun's variables
 *
 * An option of srun that a step cannot have is refused with what to use instead; one
 * that is the job's business is noted, so that krun says that it had no effect.
 *
 * Thread:  the main one.
 * Source:  srun(1) of Slurm 22.05.
 */
#pragma once

#include "cli/krun/krun_settings.h"

struct option_table;

extern const struct option_table krun_options;

/* Whether it does something for a step: it is no option of jobs, and not refused. */
bool krun_options_has_for_steps(const char *name);

/* Reads the variables, then the command line up to the command, which starts at
 * *ret_operands. Returns an option_answer (lib/program/option.h), or -EINVAL or
 * -EOPNOTSUPP with the option and what is wrong with it.
 */
int krun_options_read(struct krun_settings *settings, int argc, char **argv, int *ret_operands,
                      struct error *err);
