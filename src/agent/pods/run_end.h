/* SPDX-License-Identifier: Apache-2.0 */
/* run_end.h - how the run of a pod ended, as far as this node knows
 *
 * Owns:   its texts, and the record of its shepherd.
 * Thread: the loop's.
 */
#pragma once

#include <stdbool.h>

struct exit_record;

struct run_end {
    struct exit_record *record; /* of the shepherd; NULL: it never started, or was lost */
    char *reason, *message;     /* in place of what the record says; or NULL */
    bool is_disruption;         /* the pod did not cause its end */
};

void run_end_fini(struct run_end *e);
void run_end_set(struct run_end *e, const char *reason, const char *message);

/* Gives a reason to an end that has none, where the record is not the whole truth. Was_late: it
 * was over its limit, as this agent saw.
 */
void run_end_explain(struct run_end *e, bool was_late);

/* The result of a checkpoint command that the record has, in words, to be freed. */
char *run_end_format_checkpoint(const struct run_end *e, bool *ret_is_good);
