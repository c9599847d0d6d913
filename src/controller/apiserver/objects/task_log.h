/* SPDX-License-Identifier: Apache-2.0 */
/* task_log.h - jobs/NAME/log?task=7[&attempt=2][&previous=true]: the output of
 * a task of a job array, whose pod may be gone
 *
 * While the pod exists, the answer is that of pods/NAME/log and needs the same
 * right. Later the row of history has the node of the task, and the uid by
 * which the agent knows the pod.
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
    const struct object *job; /* only while the request is read */
    const char *job_uid;      /* in the request's arena */
    int64_t task, index;
    int64_t attempt;  /* from 1; 0: the last */
    bool is_previous; /* the attempt before that */
};

/* Returns false when the reply is made. On success the principal may read the
 * Job, and its array has the task.
 */
bool task_log_read(struct request *q, struct task_log *ret_log);

/* The name of the task's pod; NULL when it is gone, and history has to be
 * asked.
 */
const char *task_log_find_pod(struct request *q, struct task_log *log);

/* The question to history, and its answer. task_log_take returns false when the
 * reply is made; else it sets the node and the request to its agent.
 */
void task_log_ask(const struct task_log *log, struct history_question *ret_question);
bool task_log_take(struct request *q, const struct task_log *log, const struct json *answer,
                   struct json *words, const char **ret_node);
