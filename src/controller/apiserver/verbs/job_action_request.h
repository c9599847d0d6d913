/* SPDX-License-Identifier: Apache-2.0 */
/* job_action_request.h - a request that changes jobs, while it is served
 *
 * Called by:  job_action.c and job_action_request.c only.
 * Thread:     the API's loop.
 */
#pragma once

#include "controller/apiserver/objects/selection.h"
#include "controller/apiserver/request/time_slice.h"
#include "controller/apiserver/verbs/job_action.h"
#include "lib/api/object/object.h"
#include "lib/api/value/id_ranges.h"
#include "lib/http/http_request.h"

struct job_change;
struct json;

/* A job that the request changes. */
struct chosen {
    const char *namespace;
    const char *name;
    int64_t id;                          /* 0: it was given by name */
    const struct job_elements *elements; /* of an array; NULL: the whole job */
};

struct job_action {
    struct time_slice time_slice;
    struct request *q;
    struct http_peer from;
    const struct job_change *change;
    struct id_ranges ids;
    const char *pattern;       /* of names, or NULL */
    uint32_t states;           /* a set; 0: all */
    const struct json *update; /* of "update" and "signal"; else NULL */
    bool is_selection;         /* else the jobs are given by id or name */
    bool is_dry_run;
    bool is_chosen; /* all jobs are chosen */
    bool is_working;
    size_t at_range; /* in `ids`, of the next job to choose */
    int64_t at_id;
    struct selection_place place;
    char last[OBJECT_KEY_SIZE]; /* key of the last chosen job */
    struct chosen *chosen;
    size_t n_chosen, capacity;
    size_t n_started, n_done;
    int64_t count;     /* of the chosen jobs, those that are not ending yet */
    int64_t at_most;   /* with a higher count nothing is changed; 0: no limit */
    int64_t n_running; /* of the chosen jobs */
    bool is_more;      /* more jobs match than one request takes */
    struct json *results;
};

/* Parses the body, and chooses the jobs that it names. Returns false when the
 * reply says what is wrong.
 */
bool job_action_read(struct job_action *a, const struct json *body);

/* `object` is NULL when the job is gone and only its number is known. */
void job_action_choose(struct job_action *a, const struct object *object, int64_t id,
                       const struct job_elements *elements);

/* Adds the outcome for a job, or for some of its elements, to the answer. */
void job_action_add_result(struct job_action *a, const struct chosen *which, int64_t id,
                           const char *outcome, const char *message);
