/* SPDX-License-Identifier: Apache-2.0 */
/* kind.h - the kinds of objects that the API serves, and the list of them
 *
 * A kind is one file (its tables, defaults, validation) and one line in
 * registry.c; doc/architecture.md has the rest. Pure data: no daemon, no clock.
 *
 * Thread:  any; kinds are constants.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/json/record.h"

struct arena;
struct json;
struct object;
struct object_reference;
struct causes;
struct kind_subresource;
struct right;
struct table;

/* A field that `fieldSelector` may name, and a function that reads it from the
 * view; "" if the object does not have it. `buffer` may hold the result.
 */
struct selectable_field {
    const char *path; /* "spec.nodeName" */
    const char *(*value)(const struct object *object, char buffer[64]);
};

/* A value by which objects are found without reading all of them: in the store,
 * and by watches whose field selector names the path (NULL: no selector can). A
 * value of NULL: the index omits the object. `buffer` may hold the result.
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
    KIND_TRANSIENT = 1 << 6,      /* Events: in their own relaxed database */
    KIND_VOLATILE = 1 << 7,       /* Leases: revisions are not durable */
    KIND_ANSWERED = 1 << 8,       /* never stored: computed for each request */
    KIND_MEASURED = 1 << 9,       /* never stored: agents' last reports */
    KIND_SPEC_DEFAULTS = 1 << 10, /* no field of status has a default */
    KIND_KILN = 1 << 11,          /* not in kube-apiserver: absent in conformance */

    /* Deletions. */
    KIND_DELETED_SINGLY = 1 << 12,   /* no deletion of a collection */
    KIND_DELETED_TOGETHER = 1 << 13, /* of a collection all objects or none */
    KIND_ANSWERS_DELETED = 1 << 14,  /* a deletion answers with the object */
    KIND_ORPHANS_PODS = 1 << 15,     /* unless the deletion says otherwise */
    KIND_SPEC_FINALIZERS = 1 << 16,  /* spec has only finalizers, which /finalize removes */
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
    const char *generation_of;      /* the field whose changes count; NULL: spec */

    /* Where the kind has these parts; NULL: it has none. pod_spec is the spec of
     * the pod itself, or of the pods that the object makes; content has the
     * script and the environment of a job.
     */
    const char *pod_spec;
    const char *content;
    unsigned routine_verbs; /* what agents do all day: the audit omits it */

    /* All functions work on normalized trees, and each may be NULL.
     * set_defaults does what upstream's API defaulting does. prepare drops what
     * a client may not set at creation (status) and restores what an update may
     * not change; prepare_status does so for an update of the status. validate
     * adds mistakes; `old` is NULL at creation.
     */
    void (*set_defaults)(struct arena *arena, struct json *object);
    void (*prepare)(struct arena *arena, struct json *object, const struct json *old);
    void (*prepare_status)(struct arena *arena, struct json *object, const struct json *old);
    void (*validate)(struct causes *causes, const struct json *object, const struct json *old);
    void (*validate_status)(struct causes *causes, const struct json *object,
                            const struct json *old);

    /* The part of validate_status that reads only the status and the part of
     * the spec that part_of_spec returns as a tree; NULL from part_of_spec:
     * this object needs the whole check. A kind has both functions or neither.
     */
    void (*check_status)(struct causes *causes, const struct json *object, const struct json *old);
    struct json *(*part_of_spec)(struct arena *arena, const struct object *object);

    /* For KIND_GRACEFUL_DELETION: the seconds that a deletion gives the object to
     * end, which asked for so many (NULL: for none in particular); 0: at once.
     */
    int64_t (*grace_s)(const struct object *object, const int64_t *asked);

    /* Whether the object has ended for good: only its metadata changes from now on. */
    bool (*is_final)(const struct object *object);

    /* Adds a warning for a valid value that is probably a mistake
     * (causes_warn).
     */
    void (*warn)(struct causes *causes, const struct json *object, const struct json *old);

    /* Removes from a tree what only the owner may read: what the object runs.
     * NULL: every reader sees the whole object.
     */
    void (*redact)(struct arena *arena, struct json *object);

    /* For KIND_TRANSIENT: the object that this one is about. */
    const struct object_reference *(*about)(const struct object *object);

    const struct selectable_field *selectable;
    unsigned n_selectable; /* besides metadata.name and .namespace */

    /* Indexes are identified by their place: a kind with indexes has an enum
     * for them (enum pod_index). A kind that is stored as another one has the
     * indexes of that kind, with its own paths.
     */
    const struct kind_index *indexes;
    unsigned n_indexes;

    /* The subresources besides status, and what principals other than
     * administrators may do (rights.h). operator_fields are the only fields
     * that operators may change in another user's object, NULL-terminated;
     * NULL: all fields.
     */
    const struct kind_subresource *subresources;
    unsigned n_subresources;
    const struct right *rights;
    unsigned n_rights;
    const char *const *operator_fields;

    /* The columns in which the kind is shown: upstream's (NULL: name and age),
     * and Kiln's for clients that ask for them (NULL: upstream's).
     */
    const struct table *table;
    const struct table *kiln_table;

    /* The kind under which this kind is stored, if it is a second name for
     * another one (events.k8s.io Event); NULL: itself. Both functions convert a
     * whole tree; the result shares parts with the argument.
     */
    const struct kind *stored_as;
    struct json *(*to_stored)(struct arena *arena, const struct json *object);
    struct json *(*from_stored)(struct arena *arena, const struct json *object);

    const struct kind *measured; /* of a KIND_MEASURED: the kind whose objects it measures */
};

#define KIND_RIGHTS(array)       .rights = (array), .n_rights = ARRAY_SIZE(array)
#define KIND_SUBRESOURCES(array) .subresources = (array), .n_subresources = ARRAY_SIZE(array)

/* The kind under which objects of this kind are stored; usually the kind
 * itself.
 */
static inline const struct kind *
kind_stored(const struct kind *kind)
{
    return kind->stored_as != NULL ? kind->stored_as : kind;
}

/* All stored kinds, in order of discovery; the kinds that are only answered
 * (KIND_ANSWERED), which are questions about the caller; and the kinds that are
 * read from agents' last reports (KIND_MEASURED).
 */
extern const struct kind *const kinds[];
extern const unsigned n_kinds;
extern const struct kind *const answered_kinds[];
extern const unsigned n_answered_kinds;
extern const struct kind *const measured_kinds[];
extern const unsigned n_measured_kinds;

/* The kinds that Kiln's own code uses. */
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
extern const struct kind pod_group_kind;
extern const struct kind pod_metrics_kind;
extern const struct kind pod_template_kind;
extern const struct kind priority_class_kind;
extern const struct kind reservation_kind;
extern const struct kind resource_quota_kind;
extern const struct kind self_subject_access_review_kind;
extern const struct kind self_subject_review_kind;
extern const struct kind self_subject_rules_review_kind;
extern const struct kind storage_class_kind;

/* NULL: there is no such kind. kind_find_any_name accepts plural, singular,
 * short name or Kind, with or without a ".group" suffix, in any case; it is for
 * command lines and finds stored kinds only.
 */
const struct kind *kind_find(const char *group, const char *version, const char *plural);
const struct kind *kind_find_by_name(const char *api_version, const char *name);
const struct kind *kind_find_any_name(const char *name);
