/* SPDX-License-Identifier: Apache-2.0 */
/* sbatch_values.h - values of sbatch's options in Slurm's words
 *
 * The setters of options whose values Slurm takes in more forms than ksub, and a check of values
 * that have no effect here: a mistake in these is told, too.
 *
 * Thread: the main one.
 */
#pragma once

#include "lib/program/option.h"

/* Adds the option's name to those that have no effect, once. -EINVAL: Slurm would not take the
 * value.
 */
int sbatch_values_note(const struct option_spec *option, const char *value, void *target,
                       struct error *err);

int sbatch_values_set_nice(const struct option_spec *option, const char *value, void *target,
                           struct error *err);
int sbatch_values_set_time(const struct option_spec *option, const char *value, void *target,
                           struct error *err);
int sbatch_values_set_distribution(const struct option_spec *option, const char *value,
                                   void *target, struct error *err);
int sbatch_values_set_gpu_binding(const struct option_spec *option, const char *value, void *target,
                                  struct error *err);
int sbatch_values_set_hint(const struct option_spec *option, const char *value, void *target,
                           struct error *err);
int sbatch_values_set_memory_policy(const struct option_spec *option, const char *value,
                                    void *target, struct error *err);
int sbatch_values_set_mail_type(const struct option_spec *option, const char *value, void *target,
                                struct error *err);
int sbatch_values_set_open_mode(const struct option_spec *option, const char *value, void *target,
                                struct error *err);

/* A copy that stays until the program ends: a submission borrows its texts. */
const char *sbatch_values_keep(const char *text);

/* "none" is /dev/null; a pattern that there is not stays as it is written. */
int sbatch_values_set_path(const struct option_spec *option, const char *value, void *target,
                           struct error *err);
