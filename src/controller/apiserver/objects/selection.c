/* SPDX-License-Identifier: Apache-2.0 */
/* A list costs what it returns and not what there is: by name, by an index, or, as the last
 * way, by a visit to all in slices. Which index is cheapest depends on the query, so the ways
 * are tried from the narrowest. An index has no order in which a later turn could go on;
 * therefore it is used only for as many objects as can be sorted in one turn.
 */
#include "controller/apiserver/objects/selection.h"

#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/request/kind_hooks.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/job/job.h"
#include "lib/api/object/field_query.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/selector.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/text.h"

#define MOST_HOURS   200  /* looked up one by one */
#define LOOKUPS_MOST 4096 /* of nodes and hours */

/* How far back the last jobs of a user are looked for, hour by hour. */
#define LAST_ENDED_HOURS (31 * 24)

/* The most objects of an index that are examined, and sorted, in one turn of
 * the loop. With more, all objects of the kind are visited in order, in slices:
 * an index has no order in which a later turn could continue.
 */
#define INDEX_MOST 4096u

struct selection_walk {
    const struct request *q;
    const char *after;
    selection_visit_fn *visit;
    void *context;
    bool takes_all;
    size_t left; /* objects still to examine */
    char *reached;
    const struct object **found; /* from an index, to be sorted */
    size_t n_found, capacity;
    size_t n_looked_up;
    bool is_too_many;
};

bool
selection_has(const struct request *q, const struct object *object)
{
    const struct kind_hooks *hooks = kind_hooks_of_route(q);
    const struct options *o = &q->options;

    if (q->route.namespace != NULL
        && (object->meta->namespace == NULL
            || strcmp(object->meta->namespace, q->route.namespace) != 0))
        return false;
    return (o->labels == NULL || label_query_matches(o->labels, &object->meta->labels))
           && (o->fields == NULL || field_query_matches(o->fields, object))
           && (hooks->is_selected == NULL || hooks->is_selected(q, object));
}

static bool
visit_selected(const struct object *object, void *context)
{
    struct selection_walk *walk = context;

    if ((walk->takes_all || selection_has(walk->q, object)) && !walk->visit(object, walk->context))
        return false;
    if (--walk->left > 0)
        return true;
    object_key(object, walk->reached);
    return false;
}

static bool
collect(const struct object *object, void *context)
{
    struct selection_walk *walk = context;

    if (!walk->takes_all && ++walk->n_looked_up > INDEX_MOST) {
        walk->is_too_many = true;
        return false;
    }
    if (walk->takes_all || selection_has(walk->q, object)) {
        xgrow(walk->found, walk->n_found, walk->capacity);
        walk->found[walk->n_found++] = object;
    }
    return true;
}

static int
compare_keys(const void *a, const void *b)
{
    const struct meta *x = (*(const struct object *const *)a)->meta;
    const struct meta *y = (*(const struct object *const *)b)->meta;
    int order = x->namespace != NULL ? strcmp(x->namespace, y->namespace) : 0;

    return order != 0 ? order : strcmp(x->name, y->name);
}

int
selection_find_index(const struct request *q, const char **ret_value)
{
    const struct kind *kind = q->route.kind;

    if (q->options.fields == NULL)
        return -1;
    for (unsigned i = 0; i < kind->n_indexes; i++) {
        const char *path = kind->indexes[i].path, *value;

        if (path == NULL)
            continue;
        value = field_query_demands(q->options.fields, path);
        if (value == NULL)
            continue;
        *ret_value = value;
        return (int)i;
    }
    return -1;
}

static void
collect_of(struct selection_walk *walk, unsigned index, const char *value)
{
    if (walk->is_too_many)
        return;
    store_visit_index(walk->q->server->store, kind_stored(walk->q->route.kind), index,
                      STORE_PUBLISHED, value, collect, walk);
}

/* Visits the collected objects in the order of a list. Returns false when there
 * are too many.
 */
static bool
visit_collected(struct selection_walk *walk)
{
    char key[OBJECT_KEY_SIZE];

    if (walk->is_too_many) {
        free(walk->found);
        return false;
    }
    if (walk->n_found > 0)
        qsort(walk->found, walk->n_found, sizeof(*walk->found), compare_keys);
    for (size_t i = 0; i < walk->n_found; i++) {
        if (i > 0 && walk->found[i] == walk->found[i - 1])
            continue;
        object_key(walk->found[i], key);
        if (walk->after != NULL && strcmp(key, walk->after) <= 0)
            continue;
        if (!walk->visit(walk->found[i], walk->context))
            break;
    }
    free(walk->found);
    return true;
}

static bool
collect_owner(const struct object *pod, void *context)
{
    struct selection_walk *walk = context;
    const struct owner_reference *owner = meta_controller_of(pod->meta, &job_kind);
    const struct object *job = owner != NULL
                                   ? store_find(walk->q->server->store, STORE_PUBLISHED, &job_kind,
                                                pod->meta->namespace, owner->name)
                                   : NULL;

    return job == NULL || !text_is(job->meta->uid, owner->uid) || collect(job, walk);
}

static const char *
demand(const struct options *o, const char *path)
{
    return o->fields != NULL ? field_query_demands(o->fields, path) : NULL;
}

/* Collects Jobs that have not ended, and those of each hour. The caller adds
 * one hour of the future, in case the clock was set back.
 */
static void
collect_hours(struct selection_walk *walk, unsigned index, const char *of, int64_t hour,
              int64_t last_hour)
{
    char buffer[64];

    collect_of(walk, index, job_recency(of, JOB_HOUR_ACTIVE, buffer));
    for (; hour <= last_hour; hour++)
        collect_of(walk, index, job_recency(of, hour, buffer));
}

/* Newest end first; jobs that have not ended are before all others. */
static int
compare_ends(const void *a, const void *b)
{
    const int64_t x = job_ended_at_us(job_of(*(const struct object *const *)a));
    const int64_t y = job_ended_at_us(job_of(*(const struct object *const *)b));

    if (x == y) /* ends have whole seconds */
        return job_of(*(const struct object *const *)a)->status.id
                       > job_of(*(const struct object *const *)b)->status.id
                   ? -1
                   : 1;
    return x == 0 || (y != 0 && x > y) ? -1 : 1;
}

/* Collects the Jobs of a user that have not ended, and the last `most` of those
 * that have: back from now, hour by hour, until there are enough.
 */
static void
collect_last_ended(struct selection_walk *walk, const char *user, int64_t now, size_t most)
{
    char buffer[64];
    size_t n_active;

    collect_of(walk, JOB_BY_RECENCY, job_recency(user, JOB_HOUR_ACTIVE, buffer));
    n_active = walk->n_found;
    for (int64_t hour = now + 1;
         hour > now - LAST_ENDED_HOURS && !walk->is_too_many && walk->n_found - n_active < most;
         hour--)
        collect_of(walk, JOB_BY_RECENCY, job_recency(user, hour, buffer));
    if (walk->is_too_many || walk->n_found - n_active <= most)
        return;
    qsort(walk->found, walk->n_found, sizeof(*walk->found), compare_ends);
    walk->n_found = n_active + most;
}

/* Visits Jobs that have not ended, or have ended recently, by indexes without
 * the many older ones. Returns false when the request does not ask for those,
 * or for too many hours.
 */
static bool
visit_jobs(struct selection_walk *walk)
{
    const struct options *o = &walk->q->options;
    const int64_t now = clock_real_us(walk->q->server->clock) / JOB_HOUR_US;
    const int64_t hour = o->ended_since_us / JOB_HOUR_US;
    const char *value;
    int64_t last_hour;
    bool is_active;

    if (walk->q->route.kind != &job_kind || (o->fields == NULL && o->n_nodes == 0))
        return false;
    value = demand(o, "status.finished");
    is_active = value != NULL && strcmp(value, "false") == 0;
    last_hour = is_active ? hour - 1 : now + 1;
    value = demand(o, "spec.user");
    if (!is_active && o->last_ended > 0 && hour == 0 && value != NULL && o->n_nodes == 0
        && !walk->takes_all) {
        collect_last_ended(walk, value, now, (size_t)o->last_ended);
    } else if (!is_active && (hour == 0 || now - hour > MOST_HOURS)) {
        return false;
    } else if (o->n_nodes > 0 && (int64_t)o->n_nodes * (last_hour - hour + 2) > LOOKUPS_MOST) {
        return false;
    } else if (o->n_nodes > 0) {
        for (size_t i = 0; i < o->n_nodes; i++) {
            store_visit_index(walk->q->server->store, &pod_kind, POD_BY_NODE, STORE_PUBLISHED,
                              o->nodes[i], collect_owner, walk);
            collect_hours(walk, JOB_BY_LAST_NODE, o->nodes[i], hour, last_hour);
        }
    } else if (value != NULL) {
        collect_hours(walk, JOB_BY_RECENCY, value, hour, last_hour);
    } else {
        unsigned index = JOB_BY_ACTIVE_STATE;

        value = demand(o, "status.state");
        if (value == NULL) {
            index = JOB_BY_ACTIVE_PARTITION;
            value = demand(o, "spec.partition");
        }
        if (value == NULL || !is_active)
            return false;
        collect_of(walk, index, value);
    }
    return visit_collected(walk);
}

/* Visits the one object that the selector names, when its key is known. */
static bool
visit_named(struct selection_walk *walk)
{
    const struct request *q = walk->q;
    const struct object *object;
    const char *name;

    if (q->options.fields == NULL
        || (q->route.kind->flags & KIND_NAMESPACED && q->route.namespace == NULL))
        return false;
    name = field_query_demands(q->options.fields, "metadata.name");
    if (name == NULL)
        return false;
    object = store_find(q->server->store, STORE_PUBLISHED, kind_stored(q->route.kind),
                        q->route.namespace, name);
    if (object != NULL && walk->after == NULL)
        visit_selected(object, walk);
    return true;
}

/* Returns false when no index answers, or one with too many objects. */
static bool
visit_by_index(struct selection_walk *walk)
{
    const char *value;
    int index = selection_find_index(walk->q, &value);

    if (visit_jobs(walk))
        return true;
    if (walk->is_too_many || index < 0)
        return false;
    collect_of(walk, (unsigned)index, value);
    return visit_collected(walk);
}

static int
visit(struct selection_walk *walk, int64_t revision)
{
    const struct request *q = walk->q;

    walk->reached[0] = '\0';
    if ((revision == 0 || revision == store_revision(q->server->store)) && !walk->is_too_many
        && (visit_by_index(walk) || visit_named(walk)))
        return 0;
    return store_list(q->server->store, kind_stored(q->route.kind), q->route.namespace, walk->after,
                      revision, visit_selected, walk);
}

int
selection_visit_some(const struct request *q, struct selection_place *place, int64_t revision,
                     size_t most, selection_visit_fn *fn, void *context)
{
    char after[OBJECT_KEY_SIZE];
    struct selection_walk walk = {
        .q = q,
        .after = place->after[0] != '\0' ? after : NULL,
        .visit = fn,
        .context = context,
        .left = most,
        .reached = place->after,
        .is_too_many = place->is_in_order,
    };
    int r;

    memcpy(after, place->after, sizeof(after));
    r = visit(&walk, revision);
    place->is_in_order = walk.is_too_many;
    return r;
}

void
selection_visit_candidates(const struct request *q, selection_visit_fn *fn, void *context)
{
    char reached[OBJECT_KEY_SIZE];
    struct selection_walk walk = {
        .q = q,
        .visit = fn,
        .context = context,
        .takes_all = true,
        .left = SIZE_MAX,
        .reached = reached,
    };

    (void)visit(&walk, 0);
}
