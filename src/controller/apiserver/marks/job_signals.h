/* SPDX-License-Identifier: Apache-2.0 */
/* job_signals.h - leaves a signal that a user sends to a Job in its running pods,
 * whose agents see it there (lib/api/pod/pod_signal.h)
 *
 * Only pods that run in the transaction of the request get it: no pod that starts
 * later, and none that has ended.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/api/pod/pod_signal.h"

struct apiserver;
struct arena;
struct error;
struct json;
struct object;
struct request;
struct store_txn;
struct task_list;

/* The most pods of one Job that one request can signal, because all are written
 * in one turn of the loop.
 */
#define JOB_SIGNALS_MOST 512

struct job_signal {
    struct pod_signal signal;
    const struct task_list *tasks; /* of an array; NULL: all pods of the Job */
};

struct job_signal_receivers {
    const struct object **pods;
    size_t count;
    bool is_too_many;
    const char *old_agent; /* a node of one whose agent cannot send; or NULL */
};

/* Reads {"name": "USR1", "to": "Script"}, or {"to": "Step", "step": 3}, which ends it. Returns -EINVAL with a message. */
int job_signal_read(const struct json *tree, struct job_signal *ret_signal, struct error *err);

/* The pods that would get the signal, in the pending state. */
void job_signal_find(const struct apiserver *server, const struct object *job,
                     const struct job_signal *signal, struct arena *arena,
                     struct job_signal_receivers *ret_found);

/* Leaves the signal in them, in the transaction. */
void job_signal_note(struct request *q, struct store_txn *txn, const struct object *job,
                     const struct job_signal *signal);
