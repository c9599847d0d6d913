/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/membership.h"

#include <string.h>

#include "controller/apiserver/caller.h"
#include "controller/apiserver/policy.h"
#include "controller/store/store.h"
#include "lib/api/kind.h"
#include "lib/api/meta.h"
#include "lib/api/object.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/loop/loop.h"
#include "lib/loop/workers.h"

struct membership {
    struct loop *loop;
    struct store *store;
    struct workers *workers;
    struct store_watch *watch;
    struct map *places; /* by name of the namespace */
};

struct place {
    bool has_everybody;
    char *names; /* as annotated */
    struct policy_people people;
};

/* A look-up on its way through a worker. */
struct lookup {
    struct membership *membership;
    char *namespace;
    char *names;
    struct policy_people people;
    struct error err;
};

static void
place_free(struct place *place)
{
    if (place == NULL)
        return;
    policy_people_fini(&place->people);
    free(place->names);
    free(place);
}

static void
lookup_free(struct lookup *lookup)
{
    policy_people_fini(&lookup->people);
    free(lookup->namespace);
    free(lookup->names);
    free(lookup);
}

static void
resolve(void *arg)
{
    struct lookup *lookup = arg;

    policy_people_add(&lookup->people, lookup->names, &lookup->err);
}

static void
resolved(void *arg)
{
    struct lookup *lookup = arg;
    struct place *place =
        map_find(lookup->membership->places, lookup->namespace);

    if (lookup->err.code != 0)
        log_warning("members of namespace '%s': %s, ignoring that one",
                    lookup->namespace,
                    lookup->err.text);
    /* The annotation may have changed meanwhile. */
    if (place != NULL && place->names != NULL
        && strcmp(place->names, lookup->names) == 0) {
        policy_people_fini(&place->people);
        place->people = lookup->people;
        memset(&lookup->people, 0, sizeof(lookup->people));
    }
    lookup_free(lookup);
}

static void
start_lookup(struct membership *m, const char *namespace, const char *names)
{
    struct lookup *lookup = xnew(struct lookup);

    lookup->membership = m;
    lookup->namespace = xstrdup(namespace);
    lookup->names = xstrdup(names);
    workers_submit(m->workers, m->loop, resolve, resolved, lookup);
}

/* Nobody who stays is locked out while names are resolved. */
static void
keep_people(struct place *place, struct place *was)
{
    if (was == NULL)
        return;
    place->people = was->people;
    memset(&was->people, 0, sizeof(was->people));
}

static void
note(struct membership *m, const struct object *object)
{
    const char *name = object->meta->name;
    const char *members =
        string_map_find(&object->meta->annotations, ANNOTATION_MEMBERS);
    struct place *place = map_find(m->places, name);
    struct place *was;

    if (place != NULL && place->names != NULL && members != NULL
        && strcmp(place->names, members) == 0)
        return;
    was = place;
    place = xnew(struct place);
    place->has_everybody = members != NULL ? strcmp(members, "*") == 0
                                           : strcmp(name, "default") == 0;
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

struct membership *
membership_new(struct loop *loop, struct store *store, struct workers *workers)
{
    struct membership *m = xnew(struct membership);

    m->loop = loop;
    m->store = store;
    m->workers = workers;
    m->places = map_new();
    store_list(store, &namespace_kind, NULL, NULL, 0, visit, m);
    if (store_watch(store,
                    &namespace_kind,
                    store_revision(store),
                    -1,
                    NULL,
                    changed,
                    m,
                    &m->watch)
        < 0)
        log_error("the namespaces cannot be watched");
    return m;
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
membership_has(const struct membership *m,
               const char *namespace,
               const struct caller *caller)
{
    const struct place *place =
        namespace != NULL ? map_find(m->places, namespace) : NULL;

    if (place == NULL) /* not published yet, or not there */
        return namespace != NULL && strcmp(namespace, "default") == 0;
    return (place->has_everybody
            || policy_people_has(&place->people,
                                 caller->uid,
                                 caller->groups,
                                 caller->n_groups));
}
