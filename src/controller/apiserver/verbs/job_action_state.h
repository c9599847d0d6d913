/* SPDX-License-Identifier: Apache-2.0 */
/* job_action_state.h - a request that changes jobs, while it is served
 *
 * Called by: job_action.c and job_action_request.c. Nobody else.
 * Thread:    the API's loop.
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

/* A job that the request is about. */
struct chosen {
    const char *namespace;
    const char *name;
    int64_t id;                          /* 0: it was named, not numbered */
    const struct job_elements *elements; /* of an array; NULL: all of it */
};

struct job_action {
    struct time_slice time_slice;
    struct request *q;
    struct http_peer from;
    const struct job_change *change;
    struct id_ranges ids;
    const char *pattern;       /* of names, or NULL */
    uint32_t states;           /* a set; 0: all */
    const struct json *update; /* of "update"; else NULL */
    bool is_selection;         /* or the jobs are named */
    bool is_dry_run;
    bool is_chosen; /* all of them */
    bool is_working;
    size_t at_range; /* of ids that are being chosen */
    int64_t at_id;
    struct selection_place place;
    char last[OBJECT_KEY_SIZE]; /* of the last chosen */
    struct chosen *chosen;
    size_t n_chosen, capacity;
    size_t n_started, n_done;
    int64_t count;     /* of the chosen, those that do not end yet */
    int64_t at_most;   /* or nothing is done; 0: any number */
    int64_t n_running; /* of the chosen */
    bool is_more;      /* than one request takes */
    struct json *results;
};

/* Takes from the body what is wanted, and chooses the jobs that are named there.
 * False: the reply says what is wrong.
 */
bool job_action_read(struct job_action *a, const struct json *body);

/* `object`: NULL when it is not there any more, for its number alone. */
void job_action_choose(struct job_action *a,
                       const struct object *object,
                       int64_t id,
                       const struct job_elements *elements);

/* Adds to the answer how it went with one, or with some elements of it. */
void job_action_add_result(struct job_action *a,
                           const struct chosen *which,
                           int64_t id,
                           const char *outcome,
                           const char *message);
