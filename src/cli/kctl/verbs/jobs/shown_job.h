/* SPDX-License-Identifier: Apache-2.0 */
/* shown_job.h - the times and the resources of a job, as kctl show prints them
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct json;
struct kctl;
struct strbuf;
struct target_object;

/* All that is known of a job, or of a task of an array. */
struct shown_job {
    struct kctl *kctl;
    struct arena *arena;
    struct strbuf *out;
    const struct target_object *job;
    const struct json *tree;
    const struct json *cells; /* a Table with the row of kctl jobs */
    const struct json *pod;   /* the newest; or NULL */
    const struct json *row;   /* of history, of the last attempt; or NULL */
    const struct json *item;  /* of a task (job_tasks.h); or NULL */
    int64_t id, task;
    bool is_hidden; /* another user's: what it runs and its files are not shown */
};

/* The pods' spec in the Job. */
const struct json *shown_job_spec(const struct shown_job *s);

/* NULL: it has none. */
const char *shown_job_node(const struct shown_job *s);

/* The text of a column of kctl history, from a row or an item; "" without. */
const char *shown_job_column(const struct shown_job *s, const struct json *row, const char *name);

/* Adds a line, unless the text is NULL or empty. */
void shown_job_add(struct shown_job *s, const char *name, const char *text);

void shown_job_add_times(struct shown_job *s);
/* How many nodes each attempt has at the same time, if the job says so. */
int64_t shown_job_nodes(const struct shown_job *s);

void shown_job_add_resources(struct shown_job *s, bool has_ended);
