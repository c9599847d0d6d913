/* SPDX-License-Identifier: Apache-2.0 */
/* Each request asks whether its user belongs to a namespace, and the answer depends on names
 * that a directory service resolves. So names become ids when an annotation changes, on a
 * worker, and a request compares numbers. While new names are being resolved the old members
 * remain, or a slow directory would lock out everybody who stays.
 *
 * The scheduler's thread asks, too (start_rights.c), hence the lock; only the loop changes
 * anything.
 */
#include "controller/apiserver/access/membership.h"

#include <pthread.h>
#include <string.h>

#include "controller/apiserver/access/policy.h"
#include "controller/apiserver/access/principal.h"
#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/policy/node_reservation.h"
#include "lib/api/policy/partition.h"
#include "lib/api/policy/priority_class.h"
#include "lib/auth/user.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/list.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"
#include "lib/loop/loop.h"
#include "lib/loop/workers.h"

/* The names of the members of an object, "*" for everybody, NULL for nobody;
 * owned by the caller.
 */
typedef char *names_of_fn(const struct object *object);

/* ",a,b,", owned by the caller; NULL: no account is named. */
typedef char *accounts_of_fn(const struct object *object);

/* The differences between the kinds. */
struct membership_sort {
    const struct kind *kind;
    names_of_fn *names_of;
    accounts_of_fn *accounts_of; /* or NULL */
    const char *word;            /* for people */
    const char *option;          /* of kctl update */
    const char *open_place;      /* everybody's, also before it is published; or NULL */
    bool is_of_priorities;       /* a named account may use it whoever the user is */
};

struct membership {
    const struct membership_sort *sort;
    struct loop *loop;
    struct store *store;
    struct workers *workers;
    struct store_watch *watch;
    pthread_mutex_t lock; /* guards `places`; only the loop changes them */
    struct map *places;   /* by name of the namespace */
    struct list troubled; /* places with unknown names */
    int64_t usual;        /* of classes: the priority of pods without one */
};

struct namespace_members {
    struct list link; /* in `troubled`, or in no list */
    char *trouble;    /* the first name that is unknown; or NULL */
    bool has_everybody;
    bool is_resolving; /* `people` are those of earlier names */
    char *names;       /* as annotated */
    char *uid;         /* of the object */
    char *accounts;    /* ",a,b,"; of a Partition or Reservation the only ones
                        * (NULL: all), of a class those of which everybody may
                        * use it
                        */
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
    list_remove(&place->link);
    free(place->trouble);
    policy_people_fini(&place->people);
    free(place->names);
    free(place->uid);
    free(place->accounts);
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
note_trouble(struct membership *m, struct namespace_members *place,
             const struct membership_lookup *lookup)
{
    list_remove(&place->link);
    free(place->trouble);
    place->trouble = NULL;
    if (lookup->err.code == 0)
        return;
    place->trouble = xasprintf("members of %s %s: %s", m->sort->kind->singular, lookup->namespace,
                               lookup->err.text);
    list_add_last(&m->troubled, &place->link);
}

static void
resolved(void *arg)
{
    struct membership_lookup *lookup = arg;
    struct membership *m = lookup->membership;
    struct namespace_members *place = map_find(m->places, lookup->namespace);

    if (lookup->err.code != 0)
        log_warning("members of %s '%s': %s, ignoring that name",
                    lookup->membership->sort->kind->singular, lookup->namespace, lookup->err.text);
    /* The annotation may have changed since the look-up began. */
    if (place != NULL && place->names != NULL && strcmp(place->names, lookup->names) == 0) {
        pthread_mutex_lock(&m->lock);
        policy_people_fini(&place->people);
        place->people = lookup->people;
        memset(&lookup->people, 0, sizeof(lookup->people));
        place->is_resolving = false;
        pthread_mutex_unlock(&m->lock);
        note_trouble(m, place, lookup);
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

/* ",*," if the class is for all accounts. */
static char *
accounts_of_class(const struct object *object)
{
    CLEANUP_STRBUF struct strbuf names = STRBUF_INIT;

    strbuf_add_char(&names, ',');
    if (add_names(&names,
                  string_map_find(&object->meta->annotations, ANNOTATION_ALLOWED_NAMESPACES), ""))
        strbuf_add_text(&names, "*,");
    return names.length > 1 ? xstrdup(names.text) : NULL;
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

/* NULL: the object is for all accounts. */
static char *
list_accounts(const char *const *items, unsigned count)
{
    CLEANUP_STRBUF struct strbuf all = STRBUF_INIT;

    for (unsigned i = 0; i < count; i++)
        strbuf_printf(&all, "%s%s,", i == 0 ? "," : "", items[i]);
    return count > 0 ? xstrdup(all.text) : NULL;
}

static char *
accounts_of_partition(const struct object *object)
{
    const struct partition_spec *spec = &partition_of(object)->spec;

    return list_accounts(spec->allowed_accounts.items, spec->allowed_accounts.count);
}

static char *
accounts_of_reservation(const struct object *object)
{
    const struct node_reservation_spec *spec = &node_reservation_of(object)->spec;

    return list_accounts(spec->accounts.items, spec->accounts.count);
}

static const struct membership_sort of_namespaces = {
    .kind = &namespace_kind,
    .names_of = names_of_namespace,
    .word = "account",
    .open_place = "default",
};
static const struct membership_sort of_classes = {
    .kind = &priority_class_kind,
    .names_of = names_of_class,
    .accounts_of = accounts_of_class,
    .word = "priority class",
    .option = "priority",
    .is_of_priorities = true,
};
static const struct membership_sort of_partitions = {
    .kind = &partition_kind,
    .names_of = names_of_partition,
    .accounts_of = accounts_of_partition,
    .word = "partition",
    .option = "partition",
};
static const struct membership_sort of_reservations = {
    .kind = &reservation_kind,
    .names_of = names_of_reservation,
    .accounts_of = accounts_of_reservation,
    .word = "reservation",
    .option = "reservation",
};

/* Called with the lock. A class is the default before or after a change. */
static void
note_usual(struct membership *m, const struct object *object, bool is_gone)
{
    if (m->sort->is_of_priorities && priority_class_of(object)->global_default)
        m->usual = is_gone ? 0 : priority_class_of(object)->value;
}

static void
note(struct membership *m, const struct object *object)
{
    const char *name = object->meta->name;
    CLEANUP_FREE char *members = m->sort->names_of(object);
    CLEANUP_FREE char *accounts =
        m->sort->accounts_of != NULL ? m->sort->accounts_of(object) : NULL;
    struct namespace_members *place = map_find(m->places, name);
    struct namespace_members *was;

    if (place != NULL && place->names != NULL && text_equals(place->names, members)
        && text_equals(place->accounts, accounts) && text_equals(place->uid, object->meta->uid))
        return;
    was = place;
    place = xnew(struct namespace_members);
    list_init(&place->link);
    /* Objects that a recording has loaded have none. */
    place->uid = object->meta->uid != NULL ? xstrdup(object->meta->uid) : NULL;
    place->accounts = accounts != NULL ? xstrdup(accounts) : NULL;
    place->has_everybody = members != NULL && strcmp(members, "*") == 0;
    pthread_mutex_lock(&m->lock);
    if (members != NULL && !place->has_everybody) {
        place->names = xstrdup(members);
        place->is_resolving = true;
        keep_people(place, was);
        start_lookup(m, name, members);
    }
    place_free(map_put(m->places, name, place));
    pthread_mutex_unlock(&m->lock);
}

static bool
visit(const struct object *object, void *context)
{
    note_usual(context, object, false);
    note(context, object);
    return true;
}

static void
changed(const struct store_change *change, void *context)
{
    struct membership *m = context;

    pthread_mutex_lock(&m->lock);
    if (change->old_object != NULL)
        note_usual(m, change->old_object, true);
    if (change->new_object != NULL)
        note_usual(m, change->new_object, false);
    pthread_mutex_unlock(&m->lock);
    if (change->new_object != NULL)
        note(m, change->new_object);
    else {
        pthread_mutex_lock(&m->lock);
        place_free(map_remove(m->places, change->old_object->meta->name));
        pthread_mutex_unlock(&m->lock);
    }
}

static struct membership *
new_of(const struct membership_sort *sort, struct loop *loop, struct store *store,
       struct workers *workers)
{
    struct membership *m = xnew(struct membership);

    m->sort = sort;
    m->loop = loop;
    m->store = store;
    m->workers = workers;
    pthread_mutex_init(&m->lock, NULL);
    m->places = map_new();
    list_init(&m->troubled);
    store_list(store, sort->kind, NULL, NULL, 0, visit, m);
    if (store_watch(store, sort->kind, store_revision(store), -1, NULL, changed, m, &m->watch) < 0)
        log_error("cannot watch the %s", sort->kind->plural);
    return m;
}

struct membership *
membership_new(struct loop *loop, struct store *store, struct workers *workers)
{
    return new_of(&of_namespaces, loop, store, workers);
}

struct membership *
membership_new_of_classes(struct loop *loop, struct store *store, struct workers *workers)
{
    return new_of(&of_classes, loop, store, workers);
}

struct membership *
membership_new_of_partitions(struct loop *loop, struct store *store, struct workers *workers)
{
    return new_of(&of_partitions, loop, store, workers);
}

struct membership *
membership_new_of_reservations(struct loop *loop, struct store *store, struct workers *workers)
{
    return new_of(&of_reservations, loop, store, workers);
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
    pthread_mutex_destroy(&m->lock);
    free(m);
}

bool
membership_has(const struct membership *m, const char *name, const struct principal *principal)
{
    const struct namespace_members *place = name != NULL ? map_find(m->places, name) : NULL;

    if (place == NULL) /* not published yet, or absent */
        return name != NULL && text_equals(m->sort->open_place, name);
    return (place->has_everybody
            || policy_people_has(&place->people, principal->uid, principal->groups,
                                 principal->n_groups));
}

static bool
has_account(const char *accounts, const char *account)
{
    size_t n = strlen(account);

    if (n == 0)
        return false;
    for (const char *at = strstr(accounts, account); at != NULL; at = strstr(at + 1, account))
        if (at[-1] == ',' && at[n] == ',')
            return true;
    return false;
}

/* Called with the lock. */
static bool
is_for_account(const struct membership *m, const struct namespace_members *place,
               const struct membership_question *q)
{
    return m->sort->is_of_priorities && place->accounts != NULL
           && (has_account(place->accounts, "*") || has_account(place->accounts, q->account));
}

/* Called with the lock. */
static enum membership_answer
check_place(const struct membership *m, const struct namespace_members *place,
            const struct membership_question *q, struct strbuf *why)
{
    const char *kind = m->sort->word;

    if (q->uid != NULL && !text_equals(place->uid, q->uid)) {
        strbuf_printf(why,
                      "%s %s is not the one that the job was submitted to, which was deleted; "
                      "'kctl update job' with %s=%s asks for the new one",
                      kind, q->place, m->sort->option, q->place);
        return MEMBERSHIP_NO;
    }
    if (q->skips_people || is_for_account(m, place, q))
        return MEMBERSHIP_YES;
    if (!m->sort->is_of_priorities && place->accounts != NULL
        && !has_account(place->accounts, q->account)) {
        strbuf_printf(why, "%s %s is no longer for account %s", kind, q->place, q->account);
        return MEMBERSHIP_NO;
    }
    if (place->has_everybody)
        return MEMBERSHIP_YES;
    if (place->is_resolving || q->user == NULL)
        return MEMBERSHIP_UNKNOWN;
    if (policy_people_has(&place->people, q->user->uid, q->user->groups, q->user->n_groups))
        return MEMBERSHIP_YES;
    strbuf_printf(why, "%s %s is no longer for user %s", kind, q->place, q->user->name);
    return MEMBERSHIP_NO;
}

enum membership_answer
membership_check(struct membership *m, const struct membership_question *q, struct strbuf *why)
{
    const struct namespace_members *place;
    enum membership_answer answer = MEMBERSHIP_YES; /* others say that it is gone */

    pthread_mutex_lock(&m->lock);
    place = map_find(m->places, q->place);
    if (m->sort->is_of_priorities && q->priority <= m->usual)
        ; /* for everybody, whatever the class is */
    else if (place != NULL)
        answer = check_place(m, place, q, why);
    else if (m->sort->is_of_priorities) {
        strbuf_printf(why,
                      "priority class %s no longer exists; 'kctl update job' with priority=CLASS "
                      "asks for another",
                      q->place);
        answer = MEMBERSHIP_NO;
    }
    pthread_mutex_unlock(&m->lock);
    return answer;
}

void
membership_visit_troubles(const struct membership *m,
                          void (*report)(const char *text, void *context), void *context)
{
    list_foreach(pos, &m->troubled)
        report(container_of(pos, struct namespace_members, link)->trouble, context);
}
