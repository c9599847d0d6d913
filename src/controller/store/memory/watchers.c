/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/memory/watchers.h"

#include <string.h>

#include "controller/store/memory/change_log.h"
#include "controller/store/memory/object_index.h"
#include "lib/api/object/kind.h"
#include "lib/base/alloc.h"
#include "lib/base/list.h"
#include "lib/base/map.h"

/* The watches of one kind, or of one value of its index. */
struct watch_group {
    struct list watches;
    struct map *map; /* where the group is, under `value` */
    char *value;
};

struct store_watch {
    struct list link; /* in its group */
    struct store_watch *next_ended;
    struct watchers *owner;
    struct watch_group *group;
    store_change_fn *changed;
    void *context;
    int64_t after; /* revision of the last change reported */
    bool has_ended;
};

struct kind_group {
    const struct kind *kind;
    struct watch_group group;
    struct map **by_value; /* of groups, a map for each index of the kind */
};

/* While changes are reported, a watch that ends is only marked: a caller up the
 * stack may be using its list link.
 */
struct watchers {
    struct kind_group **kinds;
    unsigned n_kinds;
    unsigned capacity;
    unsigned telling; /* nesting depth of reports */
    struct store_watch *ended;
};

struct watchers *
watchers_new(void)
{
    return xnew(struct watchers);
}

static void
group_clear(struct watch_group *group)
{
    while (!list_is_empty(&group->watches)) {
        struct list *link = group->watches.next;

        list_remove(link);
        free(container_of(link, struct store_watch, link));
    }
}

static void
group_free(struct watch_group *group)
{
    group_clear(group);
    free(group->value);
    free(group);
}

static void
map_of_groups_free(struct map *map)
{
    size_t at = 0;
    void *group;

    while (map_next(map, &at, NULL, &group))
        group_free(group);
    map_free(map);
}

static void
kind_group_free(struct kind_group *group)
{
    for (unsigned i = 0; i < group->kind->n_indexes; i++)
        map_of_groups_free(group->by_value[i]);
    group_clear(&group->group);
    free(group->by_value);
    free(group);
}

void
watchers_free(struct watchers *w)
{
    if (w == NULL)
        return;
    for (unsigned i = 0; i < w->n_kinds; i++)
        kind_group_free(w->kinds[i]);
    free(w->kinds);
    free(w);
}

static struct kind_group *
find_kind(const struct watchers *w, const struct kind *kind)
{
    for (unsigned i = 0; i < w->n_kinds; i++)
        if (w->kinds[i]->kind == kind)
            return w->kinds[i];
    return NULL;
}

static struct kind_group *
get_kind(struct watchers *w, const struct kind *kind)
{
    struct kind_group *group = find_kind(w, kind);

    if (group != NULL)
        return group;
    group = xnew(struct kind_group);
    group->kind = kind;
    list_init(&group->group.watches);
    group->by_value = xnew_array(struct map *, kind->n_indexes + 1);
    for (unsigned i = 0; i < kind->n_indexes; i++)
        group->by_value[i] = map_new();
    xgrow(w->kinds, w->n_kinds, w->capacity);
    w->kinds[w->n_kinds++] = group;
    return group;
}

static struct watch_group *
get_value(struct kind_group *of, int index, const char *value)
{
    struct watch_group *group = map_find(of->by_value[index], value);

    if (group != NULL)
        return group;
    group = xnew(struct watch_group);
    list_init(&group->watches);
    group->map = of->by_value[index];
    group->value = xstrdup(value);
    map_put(group->map, value, group);
    return group;
}

static void
notify(struct store_watch *watch, const struct change *c)
{
    struct store_change told = {
        .old_object = c->is_removal ? c->new_object : c->old_object,
        .new_object = c->is_removal ? NULL : c->new_object,
        .revision = c->revision,
    };

    watch->after = c->revision;
    watch->changed(&told, watch->context);
}

/* Reports the change to each watch of a group. A watch that is added meanwhile
 * has got it from the change log.
 */
static void
notify_group(struct watch_group *group, const struct change *c)
{
    struct list *link = group->watches.next;

    while (link != &group->watches) {
        struct store_watch *watch = container_of(link, struct store_watch, link);

        if (!watch->has_ended && watch->after < c->revision)
            notify(watch, c);
        link = link->next;
    }
}

/* Frees ended watches, when no report is in progress. */
static void
sweep(struct watchers *w)
{
    while (w->ended != NULL) {
        struct store_watch *watch = w->ended;
        struct watch_group *group = watch->group;

        w->ended = watch->next_ended;
        list_remove(&watch->link);
        free(watch);
        if (group->map != NULL && list_is_empty(&group->watches)) {
            map_remove(group->map, group->value);
            group_free(group);
        }
    }
}

static void
begin_telling(struct watchers *w)
{
    w->telling++;
}

static void
end_telling(struct watchers *w)
{
    if (--w->telling == 0)
        sweep(w);
}

static const char *
value_of(const struct kind *kind, unsigned index, const struct object *object, char buffer[64])
{
    return object != NULL ? kind->indexes[index].value(object, buffer) : NULL;
}

static void
notify_value(const struct kind_group *of, unsigned index, const struct object *object,
             const struct change *c)
{
    char buffer[64];
    const char *value = value_of(of->kind, index, object, buffer);
    struct watch_group *group = value != NULL ? map_find(of->by_value[index], value) : NULL;

    if (group != NULL)
        notify_group(group, c);
}

void
watchers_notify(struct watchers *w, const struct change *change)
{
    struct change c = *change; /* a callback may reallocate the ring */
    struct kind_group *of = find_kind(w, object_index_kind(c.objects));

    if (of == NULL)
        return;
    begin_telling(w);
    notify_group(&of->group, &c);
    for (unsigned i = 0; i < of->kind->n_indexes; i++) {
        if (map_count(of->by_value[i]) == 0)
            continue;
        notify_value(of, i, c.old_object, &c);
        notify_value(of, i, c.new_object, &c);
    }
    end_telling(w);
}

static bool
has_value(const struct watch_request *request, const struct object *object)
{
    char buffer[64];
    const char *value = value_of(request->kind, (unsigned)request->index, object, buffer);

    return value != NULL && strcmp(value, request->value) == 0;
}

static bool
concerns(const struct watch_request *request, const struct change *c)
{
    if (object_index_kind(c->objects) != request->kind)
        return false;
    return request->index < 0 || has_value(request, c->old_object)
           || has_value(request, c->new_object);
}

static void
replay(const struct change_log *change_log, const struct watch_request *request,
       struct store_watch *watch)
{
    uint64_t n = change_log_seek(change_log, request->revision);

    for (; n < change_log_published(change_log) && !watch->has_ended; n++) {
        struct change c = *change_log_get(change_log, n);

        if (concerns(request, &c))
            notify(watch, &c);
    }
    if (watch->after < change_log_revision(change_log))
        watch->after = change_log_revision(change_log);
}

void
watchers_add(struct watchers *w, const struct change_log *change_log,
             const struct watch_request *request, struct store_watch **ret_watch)
{
    struct store_watch *watch = xnew(struct store_watch);
    struct kind_group *of = get_kind(w, request->kind);

    watch->owner = w;
    watch->changed = request->changed;
    watch->context = request->context;
    watch->after = request->revision;
    watch->group = request->index < 0 ? &of->group : get_value(of, request->index, request->value);
    list_add_last(&watch->group->watches, &watch->link);
    *ret_watch = watch;
    begin_telling(w);
    replay(change_log, request, watch);
    end_telling(w);
}

void
watchers_remove(struct store_watch *watch)
{
    struct watchers *w = watch->owner;

    watch->has_ended = true;
    watch->next_ended = w->ended;
    w->ended = watch;
    if (w->telling == 0)
        sweep(w);
}
