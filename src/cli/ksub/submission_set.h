/* SPDX-License-Identifier: Apache-2.0 */
/* submission_set.h - sets members of a submission from the values of options
 *
 * These functions are the `set` of an option's row (lib/program/option.h). The
 * target is a struct submission; a row with an offset sets the member at that
 * offset. Errors are -EINVAL, -ERANGE or -EOPNOTSUPP with a text that follows
 * the option's name; the member is then unchanged. Texts are borrowed from the
 * value.
 *
 * Thread: any.
 */
#pragma once

#include <stdint.h>

#include "lib/program/option.h"

#define SUBMISSION_MOST_CPUS INT64_C(1000000)

/* The words that submission_set_choice accepts, from the row's data; the last
 * entry has no word.
 */
struct submission_choice {
    const char *word;
    const char *meaning; /* NULL: the word itself */
};

typedef int submission_set_fn(const struct option_spec *option, const char *value, void *target,
                              struct error *err);

struct submission;

/* Sets the file of the standard output, or the format of a dry run. */
void submission_set_output(struct submission *submission, const char *value);

/* Call this after all options are read: a --deadline of 08:00 is the first one
 * after a --begin of 20:00.
 */
int submission_set_order(struct submission *submission, struct error *err);

submission_set_fn submission_set_array;
submission_set_fn submission_set_choice;
submission_set_fn submission_set_constraint;
submission_set_fn submission_set_cron;
submission_set_fn submission_set_dependency;
submission_set_fn submission_set_duration;
submission_set_fn submission_set_export;
submission_set_fn submission_set_gpus;
submission_set_fn submission_set_gres;
submission_set_fn submission_set_hugepages;
submission_set_fn submission_set_job_name;
submission_set_fn submission_set_mail;
submission_set_fn submission_set_mail_user;
submission_set_fn submission_set_memory;
submission_set_fn submission_set_moment;
submission_set_fn submission_set_no_requeue;
submission_set_fn submission_set_node_count;
submission_set_fn submission_set_open_mode;
submission_set_fn submission_set_path;
submission_set_fn submission_set_priority;
submission_set_fn submission_set_shared;
submission_set_fn submission_set_signal;
submission_set_fn submission_set_switches;
submission_set_fn submission_set_tmp;
