/* SPDX-License-Identifier: Apache-2.0 */
/* job_change.h - what it takes to cancel, hold, release or requeue a job: a
 * patch of it, and words for people
 *
 * Thread:  the loop's.
 */
#pragma once

struct apiserver;
struct arena;
struct json;
struct object;
struct principal;

struct job_change {
    const char *name; /* "cancel" */

    /* A merge patch of the job in the arena, and what is said of it when it is
     * done; or NULL, when there is nothing to do, and why not.
     */
    struct json *(*make)(const struct apiserver *server,
                         const struct principal *principal,
                         const struct object *object,
                         struct arena *arena,
                         const char **ret_words);
};

/* NULL: there is none of that name. */
const struct job_change *job_change_find(const char *name);
