/* SPDX-License-Identifier: Apache-2.0 */
/* task_log.h - jobs/NAME/log?task=7[&attempt=2][&previous=true]: the output of a
 * task of a job array, whose pod may be gone
 *
 * While the pod is there, the answer is that of pods/NAME/log and needs the
 * same right. Afterwards the row of history says on which node the task ran,
 * and by which uid the agent knows it.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct history_question;
struct json;
struct object;
struct request;

struct task_log {
    const struct object *job; /* while the request is read */
    const char *job_uid;      /* the request's */
    int64_t task, index;
    int64_t attempt;  /* from 1; 0: the last */
    bool is_previous; /* the one before that */
};

/* False: the reply is made. Read: the Job may be read, and the task is one of
 * its array's.
 */
bool task_log_read(struct request *q, struct task_log *ret_log);

/* The name of its pod, if that is still there; or NULL, and history is asked.
 */
const char *task_log_find_pod(struct request *q, struct task_log *log);

/* The question to history, and its answer: false, and the reply is made, or
 * the node, and the words to its agent.
 */
void task_log_ask(const struct task_log *log,
                  struct history_question *ret_question);
bool task_log_take(struct request *q,
                   const struct task_log *log,
                   const struct json *answer,
                   struct json *words,
                   const char **ret_node);
