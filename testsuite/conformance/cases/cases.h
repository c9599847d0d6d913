/* SPDX-License-Identifier: Apache-2.0 */
/* cases.h - shared by all families of recorded cases: a verdict, and a cluster
 *
 * A case passes, fails with mismatches, or is skipped with a reason. The
 * functions that run cases return nothing and report through these functions.
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

/* The case that is run. */
struct trial {
    const char *name;
    const struct json *line;
    const struct json *expect;
    struct arena *arena;
    unsigned mismatches;
    const char *skipped; /* why it was skipped, or NULL */
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

/* Frees the lists that lines of selectors have left for later lines. */
void selectors_end(void);

void trial_skip(struct trial *t, const char *why);
void mismatch(struct trial *t, const char *format, ...) PRINTF(2, 3);

/* Checks; the wanted values come from the case. A list is compared as a set. */
void want_text(struct trial *t, const char *what, const char *wanted, const char *got);
void want_number(struct trial *t, const char *what, int64_t wanted, int64_t got);
void want_names(struct trial *t, const char *what, const struct json *wanted,
                const char *const *got, unsigned count);

/* Compares an answer with a status of the case ({"code","reasons","plugin"};
 * NULL: Success).
 */
struct sandbox;
void want_answer(struct trial *t, const struct sandbox *s, const char *what,
                 const struct json *wanted, struct answer got);

/* Compare the result of the case's node_finder with `expect` (of the case, or
 * of a step of it), and the reasons for the rejected nodes.
 */
void want_feasible(struct trial *t, const struct json *expect,
                   const struct node_finder_facts *facts);
void want_diagnosis(struct trial *t, const struct sandbox *s, const struct json *rejected);

/* Checks that results shared among equal pods are the same: feasible, best and
 * message of `expect`.
 */
void want_shared(struct trial *t, struct sandbox *s, struct pod_view *pod,
                 const struct json *expect);

/* The cluster of a case, with upstream's profile and the case's pluginConfig.
 */
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

    /* The effects of preemption. */
    const char *evicted[256];
    unsigned n_evicted;
    const char *cleared[64];
    unsigned n_cleared;
};

void sandbox_free(struct sandbox *s);
struct sandbox *sandbox_new(struct trial *t) OWNED_BY(sandbox_free);
DEFINE_CLEANUP(struct sandbox, sandbox_free)

/* A pod of the case as a view; `node_name` is the node that it is bound to, or
 * NULL.
 */
struct pod_view *sandbox_pod(struct sandbox *s, const struct json *pod, const char *node_name)
    OWNED_BY(pod_view_unref);
const struct object *sandbox_object(struct trial *t, const struct kind *kind,
                                    const struct json *tree);
void sandbox_bind(struct sandbox *s, const struct json *pod, const char *node_name);

/* Whether Kiln has the plugin. */
bool sandbox_has(const struct sandbox *s, const char *plugin);
