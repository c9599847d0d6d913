/* SPDX-License-Identifier: Apache-2.0 */
/* cancel_choice.h - the jobs and tasks that scancel's filters select
 *
 * The server selects whole jobs. But some tasks of an array run while others wait: with a
 * state, with nodes, or when each is asked about, the tasks are chosen one by one from the
 * lines that squeue has.
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct slurm_client;

/* NULL, 0: any. */
struct cancel_filters {
    const char *ids; /* "17,18_4,19_[1-3]": only these */
    const char *user, *account, *partition, *name, *qos, *reservation;
    const char *nodes; /* a host list */
    uint32_t states;   /* bits of JOB_STATE_BIT */
    bool is_interactive;
};

struct cancel_words {
    const char **items; /* "17", "17_4", "17_[1-3]", in the client's arena */
    size_t count, capacity;
    bool is_cut; /* an array has more tasks that wait than the server lists at once */
};
void cancel_words_fini(struct cancel_words *words);

/* Asks the person about each if that is wanted. */
int cancel_choice_find(struct slurm_client *client, const struct cancel_filters *filters,
                       struct cancel_words *ret_words, struct error *err);
