/* SPDX-License-Identifier: Apache-2.0 */
/* lifecycle.h - the loops that move objects toward what they should be
 *
 * They handle Jobs and their pods, silent nodes, NoExecute taints, disruption
 * budgets, retention and garbage collection. Each loop is a file pair; all of
 * them share one object cache and reach the API through the client given in the
 * settings.
 *
 * Owns:    its loops and their object cache; borrows client, clock and loop.
 * Thread:  that of the loop it is given.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct arena;
struct client;
struct clock;
struct json;
struct kind;
struct lifecycle;
struct loop;
struct metric_registry;
struct object;

struct lifecycle_settings {
    struct loop *loop;
    struct client *client;
    struct clock *clock;
    struct metric_registry *metrics; /* or NULL */
    int64_t node_grace_ms;           /* a node is silent after it; 0: 40,000 */
    int64_t node_check_ms;           /* 0: derived from node_grace_ms */
    const char *fence_program;       /* NULL: silent nodes are not switched off */
    int64_t fence_after_ms, fence_limit_ms;
    const char *mail_program;   /* NULL: no mail is sent */
    const char *cluster;        /* its name; or NULL */
    int64_t mails_an_hour;      /* for each user */
    int64_t gang_prepare_ms;    /* see gang_starter.h: wait_ms */
    int64_t finished_max_age_s; /* 0: 7 days */
    int64_t finished_max_count; /* 0: 100,000 */
    int64_t maximum_requeues;   /* requeues of a job by the system; 0:
                                      * any number */
    bool holds_never_satisfied; /* hold jobs whose dependencies can
                                      * never be met */

    /* See object_cache_ask_damaged; NULL: no object counts as damaged. */
    bool (*is_damaged)(const struct kind *kind, const char *namespace, const char *name,
                       const char *uid, void *context);
    void *damaged_context;

    bool (*is_cut_off)(void *context); /* see node_health.h; or NULL */
    void *cut_off_context;
};

/* Life. The loops start at once and begin to work when all kinds are synced. */
void lifecycle_free(struct lifecycle *lifecycle);
struct lifecycle *lifecycle_new(const struct lifecycle_settings *settings) OWNED_BY(lifecycle_free);
DEFINE_CLEANUP(struct lifecycle, lifecycle_free)

/* Returns what pods and Jobs wait for that the scheduler does not know. An empty
 * object: nothing.
 */
struct json *lifecycle_explain(struct lifecycle *lifecycle, const struct object *object,
                               struct arena *arena);
