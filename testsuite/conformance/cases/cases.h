/* SPDX-License-Identifier: Apache-2.0 */
/* cases.h - what every kind of recorded case needs: a verdict, and a cluster
 *
 * A case passes, fails with words, or is skipped with a reason. The functions
 * that run cases return nothing and say all by these.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/scheduler/framework/framework.h"
#include "controller/scheduler/select/node_finder.h"
#include "lib/base/macro.h"
#include "lib/base/random.h"
#include "testsuite/lib/fake_clock.h"

struct arena;
struct cache;
struct json;
struct kind;
struct map;

/* The case at hand. */
struct trial {
    const char *name;
    const struct json *line;
    const struct json *expect;
    struct arena *arena;
    unsigned mismatches;
    const char *skipped; /* why; or NULL */
    bool is_loud;        /* prints mismatches */
};

typedef void case_fn(struct trial *t);
void filter_case(struct trial *t);
void score_case(struct trial *t);
void nominated_case(struct trial *t);
void sequence_case(struct trial *t);
void preemption_case(struct trial *t);
void queue_case(struct trial *t);
void hints_case(struct trial *t);
void misc_case(struct trial *t);
void quantity_case(struct trial *t);
void selectors_case(struct trial *t);
void validation_case(struct trial *t);
void wanted_candidates(struct trial *t);

/* Frees what lines of selectors left for those after them. */
void selectors_end(void);

void trial_skip(struct trial *t, const char *why);
void mismatch(struct trial *t, const char *format, ...) PRINTF(2, 3);

/* Checks: what is wanted comes from the case. A list is compared as a set. */
void want_text(struct trial *t,
               const char *what,
               const char *wanted,
               const char *got);
void
want_number(struct trial *t, const char *what, int64_t wanted, int64_t got);
void want_names(struct trial *t,
                const char *what,
                const struct json *wanted,
                const char *const *got,
                unsigned count);

/* A status of the case ({"code","reasons","plugin"}; NULL: Success) against
 * an answer.
 */
struct sandbox;
void want_answer(struct trial *t,
                 const struct sandbox *s,
                 const char *what,
                 const struct json *wanted,
                 struct answer got);

/* What the node_finder of the case found, against what `expect` (of the case,
 * or of a step of it) says; and why the other nodes would not do.
 */
void want_feasible(struct trial *t,
                   const struct json *expect,
                   const struct node_finder_facts *facts);
void want_diagnosis(struct trial *t,
                    const struct sandbox *s,
                    const struct json *rejected);

/* With results shared among equal pods, the same: feasible, best and message
 * are of `expect`.
 */
void want_shared(struct trial *t,
                 struct sandbox *s,
                 struct pod_view *pod,
                 const struct json *expect);

/* The cluster of a case, under upstream's profile with its pluginConfig. */
struct sandbox {
    struct fake_clock time;
    struct random_source random;
    struct handle handle;
    struct string_ids *signatures;
    struct cache *cache;
    struct snapshot snapshot;
    struct profile *profile;
    struct node_finder *node_finder, *sharing;
    struct map *objects; /* "Kind/namespace/name" to objects */
    struct profile_plugin plugins[PROFILE_MAX_PLUGINS];
    unsigned n_plugins;
    const struct trial *trial;

    /* What preemption did. */
    const char *evicted[256];
    unsigned n_evicted;
    const char *cleared[64];
    unsigned n_cleared;
};

void sandbox_free(struct sandbox *s);
struct sandbox *sandbox_new(struct trial *t) OWNED_BY(sandbox_free);
DEFINE_CLEANUP(struct sandbox, sandbox_free)

/* A pod of the case as a view, with a node it is bound to or NULL. */
struct pod_view *sandbox_pod(struct sandbox *s,
                             const struct json *pod,
                             const char *node_name) OWNED_BY(pod_view_unref);
const struct object *sandbox_object(struct trial *t,
                                    const struct kind *kind,
                                    const struct json *tree);
void
sandbox_bind(struct sandbox *s, const struct json *pod, const char *node_name);

/* Whether Kiln has the plugin. */
bool sandbox_has(const struct sandbox *s, const char *plugin);
