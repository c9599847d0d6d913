/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/access/membership.h"

#include <string.h>

#include "controller/apiserver/access/policy.h"
#include "controller/apiserver/access/principal.h"
#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/policy/node_reservation.h"
#include "lib/api/policy/partition.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/loop/loop.h"
#include "lib/loop/workers.h"

/* The names of the members of an object, "*" for everybody, NULL for nobody;
 * owned by the caller.
 */
typedef char *names_of_fn(const struct object *object);

struct membership {
    const struct kind *kind;
    names_of_fn *names_of;
    struct loop *loop;
    struct store *store;
    struct workers *workers;
    struct store_watch *watch;
    struct map *places; /* by name of the namespace */
};

struct namespace_members {
    bool has_everybody;
    char *names; /* as annotated */
    struct policy_people people;
};

/* A look-up on a worker. */
struct membership_lookup {
    struct membership *membership;
    char *namespace;
    char *names;
    struct policy_people people;
    struct error err;
};

static void
place_free(struct namespace_members *place)
{
    if (place == NULL)
        return;
    policy_people_fini(&place->people);
    free(place->names);
    free(place);
}

static void
lookup_free(struct membership_lookup *lookup)
{
    policy_people_fini(&lookup->people);
    free(lookup->namespace);
    free(lookup->names);
    free(lookup);
}

static void
resolve(void *arg)
{
    struct membership_lookup *lookup = arg;

    policy_people_add(&lookup->people, lookup->names, &lookup->err);
}

static void
resolved(void *arg)
{
    struct membership_lookup *lookup = arg;
    struct namespace_members *place = map_find(lookup->membership->places, lookup->namespace);

    if (lookup->err.code != 0)
        log_warning("members of %s '%s': %s, ignoring that name",
                    lookup->membership->kind->singular, lookup->namespace, lookup->err.text);
    /* The annotation may have changed since the look-up began. */
    if (place != NULL && place->names != NULL && strcmp(place->names, lookup->names) == 0) {
        policy_people_fini(&place->people);
        place->people = lookup->people;
        memset(&lookup->people, 0, sizeof(lookup->people));
    }
    lookup_free(lookup);
}

static void
start_lookup(struct membership *m, const char *namespace, const char *names)
{
    struct membership_lookup *lookup = xnew(struct membership_lookup);

    lookup->membership = m;
    lookup->namespace = xstrdup(namespace);
    lookup->names = xstrdup(names);
    workers_submit(m->workers, m->loop, resolve, resolved, lookup);
}

/* Keeps the present members until the new names are resolved, so that nobody
 * who remains a member is locked out.
 */
static void
keep_people(struct namespace_members *place, struct namespace_members *was)
{
    if (was == NULL)
        return;
    place->people = was->people;
    memset(&was->people, 0, sizeof(was->people));
}

static char *
names_of_namespace(const struct object *object)
{
    const char *members = string_map_find(&object->meta->annotations, ANNOTATION_MEMBERS);

    if (members == NULL && strcmp(object->meta->name, "default") == 0)
        return xstrdup("*");
    return members != NULL ? xstrdup(members) : NULL;
}

/* Adds each name with the prefix `mark`. Returns true when everybody is a
 * member.
 */
static bool
add_names(struct strbuf *out, const char *names, const char *mark)
{
    CLEANUP_FREE char *copy = xstrdup(names != NULL ? names : "");
    char *rest = copy;
    char *name;

    while ((name = strsep(&rest, ", ")) != NULL) {
        if (strcmp(name, "*") == 0)
            return true;
        if (name[0] != '\0')
            strbuf_printf(out, "%s%s,", mark, name);
    }
    return false;
}

static char *
names_of_class(const struct object *object)
{
    const struct string_map *notes = &object->meta->annotations;
    CLEANUP_STRBUF struct strbuf names = STRBUF_INIT;

    if (add_names(&names, string_map_find(notes, ANNOTATION_ALLOWED_USERS), "")
        || add_names(&names, string_map_find(notes, ANNOTATION_ALLOWED_GROUPS), "@"))
        return xstrdup("*");
    return names.length > 0 ? xstrdup(names.text) : NULL;
}

static char *
names_of_partition(const struct object *object)
{
    const struct partition_spec *spec = &partition_of(object)->spec;
    CLEANUP_STRBUF struct strbuf names = STRBUF_INIT;

    for (unsigned i = 0; i < spec->allowed_users.count; i++)
        strbuf_printf(&names, "%s,", spec->allowed_users.items[i]);
    for (unsigned i = 0; i < spec->allowed_groups.count; i++)
        strbuf_printf(&names, "@%s,", spec->allowed_groups.items[i]);
    return xstrdup(names.length > 0 ? names.text : "*");
}

static char *
names_of_reservation(const struct object *object)
{
    const struct node_reservation_spec *spec = &node_reservation_of(object)->spec;
    CLEANUP_STRBUF struct strbuf names = STRBUF_INIT;

    for (unsigned i = 0; i < spec->users.count; i++)
        strbuf_printf(&names, "%s,", spec->users.items[i]);
    for (unsigned i = 0; i < spec->groups.count; i++)
        strbuf_printf(&names, "@%s,", spec->groups.items[i]);
    return xstrdup(names.length > 0 ? names.text : "*");
}

static void
note(struct membership *m, const struct object *object)
{
    const char *name = object->meta->name;
    CLEANUP_FREE char *members = m->names_of(object);
    struct namespace_members *place = map_find(m->places, name);
    struct namespace_members *was;

    if (place != NULL && place->names != NULL && members != NULL
        && strcmp(place->names, members) == 0)
        return;
    was = place;
    place = xnew(struct namespace_members);
    place->has_everybody = members != NULL && strcmp(members, "*") == 0;
    if (members != NULL && !place->has_everybody) {
        place->names = xstrdup(members);
        keep_people(place, was);
        start_lookup(m, name, members);
    }
    place_free(map_put(m->places, name, place));
}

static bool
visit(const struct object *object, void *context)
{
    note(context, object);
    return true;
}

static void
changed(const struct store_change *change, void *context)
{
    struct membership *m = context;

    if (change->new_object != NULL)
        note(m, change->new_object);
    else
        place_free(map_remove(m->places, change->old_object->meta->name));
}

static struct membership *
new_of(const struct kind *kind, names_of_fn *names_of, struct loop *loop, struct store *store,
       struct workers *workers)
{
    struct membership *m = xnew(struct membership);

    m->kind = kind;
    m->names_of = names_of;
    m->loop = loop;
    m->store = store;
    m->workers = workers;
    m->places = map_new();
    store_list(store, kind, NULL, NULL, 0, visit, m);
    if (store_watch(store, kind, store_revision(store), -1, NULL, changed, m, &m->watch) < 0)
        log_error("cannot watch the %s", kind->plural);
    return m;
}

struct membership *
membership_new(struct loop *loop, struct store *store, struct workers *workers)
{
    return new_of(&namespace_kind, names_of_namespace, loop, store, workers);
}

struct membership *
membership_new_of_classes(struct loop *loop, struct store *store, struct workers *workers)
{
    return new_of(&priority_class_kind, names_of_class, loop, store, workers);
}

struct membership *
membership_new_of_partitions(struct loop *loop, struct store *store, struct workers *workers)
{
    return new_of(&partition_kind, names_of_partition, loop, store, workers);
}

struct membership *
membership_new_of_reservations(struct loop *loop, struct store *store, struct workers *workers)
{
    return new_of(&reservation_kind, names_of_reservation, loop, store, workers);
}

void
membership_stop(struct membership *m)
{
    if (m->watch != NULL)
        store_unwatch(m->watch);
    m->watch = NULL;
}

void
membership_free(struct membership *m)
{
    size_t at = 0;
    void *place;

    if (m == NULL)
        return;
    while (map_next(m->places, &at, NULL, &place))
        place_free(place);
    map_free(m->places);
    free(m);
}

bool
membership_has(const struct membership *m, const char *name, const struct principal *principal)
{
    const struct namespace_members *place = name != NULL ? map_find(m->places, name) : NULL;

    if (place == NULL) /* not published yet, or absent */
        return name != NULL && m->kind == &namespace_kind && strcmp(name, "default") == 0;
    return (place->has_everybody
            || policy_people_has(&place->people, principal->uid, principal->groups,
                                 principal->n_groups));
}
