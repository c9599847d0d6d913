/* SPDX-License-Identifier: Apache-2.0 */
/* kind.h - the kinds of objects the API serves, and the one list of them
 *
 * A kind is one file (its tables, defaults, validation) and one line in
 * registry.c; doc/architecture.md has the rest. Pure data: no daemon, no clock.
 *
 * Thread:  any; kinds are constants.
 */
#pragma once

#include <stdbool.h>

#include "lib/json/record.h"

struct arena;
struct json;
struct object;
struct causes;
struct kind_subresource;
struct right;
struct table;

/* A field that `fieldSelector` may name, and how to read it from the view.
 * "" when the object does not have it. `buffer` may hold the result.
 */
struct selectable_field {
    const char *path; /* "spec.nodeName" */
    const char *(*value)(const struct object *object, char buffer[64]);
};

/* A value that objects are found by without a look at all of them: in the store,
 * and by watches whose field selector names the path (NULL: none does). NULL:
 * the object is not found by it. `buffer` may hold the result.
 */
struct kind_index {
    const char *path;
    const char *(*value)(const struct object *object, char buffer[64]);
};

enum kind_flag {
    KIND_NAMESPACED = 1 << 0,
    KIND_HAS_STATUS = 1 << 1, /* status changes through /status only */
    KIND_GENERATION = 1 << 2, /* counts changes of spec */
    KIND_CREATE_ON_UPDATE = 1 << 3,
    KIND_UNCONDITIONAL_UPDATE = 1 << 4, /* PUT without resourceVersion */
    KIND_GRACEFUL_DELETION = 1 << 5,
    KIND_TRANSIENT = 1 << 6,      /* Events: their own relaxed database */
    KIND_VOLATILE = 1 << 7,       /* Leases: revisions that are not durable */
    KIND_ANSWERED = 1 << 8,       /* never stored: made when it is asked for */
    KIND_MEASURED = 1 << 9,       /* never stored: what agents reported last */
    KIND_SPEC_DEFAULTS = 1 << 10, /* none of the status has a default */
    KIND_KILN = 1 << 11, /* none of kube-apiserver: absent in conformance */
};

struct kind {
    const char *group; /* "" for core */
    const char *version;
    const char *api_version; /* "batch/v1", "v1" */
    const char *name;        /* "Pod" */
    const char *list_name;   /* "PodList" */
    const char *plural;
    const char *singular;
    const char *const *short_names; /* NULL-terminated, or NULL */
    const char *const *categories;  /* "all"; or NULL */
    unsigned flags;                 /* enum kind_flag */
    const struct record *record;    /* bound to the view */
    const char *generation_of;      /* counts changes of this; NULL: of spec */

    /* All on normalized trees. Defaults fills in what upstream's API
     * defaulting does. Prepare drops what a client may not set at creation
     * (status) or keeps what an update may not change, of the whole or by its
     * status. Validate adds what is
     * wrong; `old` is NULL at creation. Any may be NULL.
     */
    void (*set_defaults)(struct arena *arena, struct json *object);
    void (*prepare)(struct arena *arena,
                    struct json *object,
                    const struct json *old);
    void (*prepare_status)(struct arena *arena,
                           struct json *object,
                           const struct json *old);
    void (*validate)(struct causes *causes,
                     const struct json *object,
                     const struct json *old);
    void (*validate_status)(struct causes *causes,
                            const struct json *object,
                            const struct json *old);

    /* The part of validate_status that looks at the status, and at no more of the
     * spec than part_of_spec has, as a tree; that of an object that needs the whole
     * is NULL. Either both or none.
     */
    void (*check_status)(struct causes *causes,
                         const struct json *object,
                         const struct json *old);
    struct json *(*part_of_spec)(struct arena *arena,
                                 const struct object *object);

    /* Adds a warning where a valid value is hardly meant (causes_warn). */
    void (*warn)(struct causes *causes,
                 const struct json *object,
                 const struct json *old);

    /* Removes from a tree what only the owner of the object may read: what it
     * runs. NULL: all who may read it see the whole.
     */
    void (*redact)(struct arena *arena, struct json *object);

    const struct selectable_field *selectable;
    unsigned n_selectable; /* beyond metadata.name and metadata.namespace */

    /* Named by their place: a kind with some has an enum for it, enum pod_index.
     * Of a kind that is stored as another one: that one's, with its own paths.
     */
    const struct kind_index *indexes;
    unsigned n_indexes;

    /* Its subresources beside status, and what others than administrators may
     * do (rights.h). Operators may change these fields alone of an object that
     * is another user's, NULL-terminated; NULL: all.
     */
    const struct kind_subresource *subresources;
    unsigned n_subresources;
    const struct right *rights;
    unsigned n_rights;
    const char *const *operator_fields;

    /* The columns it is shown in, upstream's; NULL: name and age. Kiln's own,
     * for clients that ask for them; NULL: the same.
     */
    const struct table *table;
    const struct table *kiln_table;

    /* A kind that is another one under a second name (events.k8s.io Event)
     * is kept as that one; NULL: as itself. Both convert a whole tree, whose
     * parts the result shares.
     */
    const struct kind *stored_as;
    struct json *(*to_stored)(struct arena *arena, const struct json *object);
    struct json *(*from_stored)(struct arena *arena, const struct json *object);
};

#define KIND_RIGHTS(array) .rights = (array), .n_rights = ARRAY_SIZE(array)
#define KIND_SUBRESOURCES(array) \
    .subresources = (array), .n_subresources = ARRAY_SIZE(array)

/* The kind that objects of this one are kept as: mostly itself. */
static inline const struct kind *
kind_stored(const struct kind *kind)
{
    return kind->stored_as != NULL ? kind->stored_as : kind;
}

/* All kinds that are stored, in order of discovery; those that are only
 * answered (KIND_ANSWERED): questions about the caller; and those that are
 * read from the last reports of agents (KIND_MEASURED).
 */
extern const struct kind *const kinds[];
extern const unsigned n_kinds;
extern const struct kind *const answered_kinds[];
extern const unsigned n_answered_kinds;
extern const struct kind *const measured_kinds[];
extern const unsigned n_measured_kinds;

/* The kinds that Kiln's own code names. */
extern const struct kind config_map_kind;
extern const struct kind cron_job_kind;
extern const struct kind event_kind;
extern const struct kind events_event_kind;
extern const struct kind job_kind;
extern const struct kind lease_kind;
extern const struct kind namespace_kind;
extern const struct kind node_kind;
extern const struct kind node_metrics_kind;
extern const struct kind partition_kind;
extern const struct kind persistent_volume_kind;
extern const struct kind persistent_volume_claim_kind;
extern const struct kind pod_kind;
extern const struct kind pod_disruption_budget_kind;
extern const struct kind pod_metrics_kind;
extern const struct kind pod_template_kind;
extern const struct kind priority_class_kind;
extern const struct kind reservation_kind;
extern const struct kind resource_quota_kind;
extern const struct kind self_subject_access_review_kind;
extern const struct kind self_subject_review_kind;
extern const struct kind self_subject_rules_review_kind;
extern const struct kind storage_class_kind;

/* NULL when there is none. Any name: plural, singular, short, Kind; with or
 * without ".group" behind it; case does not count. For command lines, and so
 * of stored kinds alone.
 */
const struct kind *
kind_find(const char *group, const char *version, const char *plural);
const struct kind *kind_find_by_name(const char *api_version, const char *name);
const struct kind *kind_find_any_name(const char *name);
