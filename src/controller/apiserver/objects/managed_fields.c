/* SPDX-License-Identifier: Apache-2.0 */
/* Ownership of fields costs memory and time with each write, and Kiln's own programs do not
 * use it. So it is kept only for objects of clients that do (decision 66). From the first
 * apply on, the result has to be upstream's to the letter, because kubectl computes with it;
 * the recordings compare that.
 */
#include "controller/apiserver/objects/managed_fields.h"

#include <string.h>

#include "controller/apiserver/objects/manager_list.h"
#include "lib/api/object/kind.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"
#include "lib/json/typed_tree.h"

#define UPDATERS_MAX 10
#define ANCIENT      "ancient-changes"
#define BEFORE_APPLY "before-first-apply"
#define KUBECTL      "kubectl"
#define LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"

/* The state of one write. */
struct managed_write {
    struct arena *arena;
    const struct kind *kind;
    const struct field_manager *who;
    struct field_set *unowned; /* fields that nobody can own, exactly these */
    struct field_set *ignored; /* fields and all below them that this write does
                                * not own
                                */
    char now[TIME_TEXT_SIZE];
};

static const char *const unowned_fields[] = {
    "creationTimestamp", "generation",      "managedFields", "name",
    "namespace",         "resourceVersion", "selfLink",      "uid",
};

static void
insert(struct arena *arena, struct field_set *set, const char *first, const char *second)
{
    const char *const path[] = {
        arena_printf(arena, "f:%s", first),
        second != NULL ? arena_printf(arena, "f:%s", second) : NULL,
    };

    field_set_insert(arena, set, path, second != NULL ? 2 : 1);
}

static struct managed_write
begin(struct arena *arena, const struct kind *kind, const struct field_manager *who, int64_t now_us)
{
    struct managed_write w = {.arena = arena, .kind = kind, .who = who};

    w.unowned = field_set_new(arena);
    w.ignored = field_set_new(arena);
    insert(arena, w.unowned, "apiVersion", NULL);
    insert(arena, w.unowned, "kind", NULL);
    insert(arena, w.unowned, "metadata", NULL);
    for (unsigned i = 0; i < ARRAY_SIZE(unowned_fields); i++)
        insert(arena, w.unowned, "metadata", unowned_fields[i]);
    if (strcmp(who->subresource, "status") == 0) {
        insert(arena, w.ignored, "spec", NULL);
        insert(arena, w.ignored, "metadata", "deletionTimestamp");
        insert(arena, w.ignored, "metadata", "ownerReferences");
    } else if (kind->flags & KIND_HAS_STATUS)
        insert(arena, w.ignored, "status", NULL);
    time_format(now_us, false, w.now);
    return w;
}

/* --- the list ------------------------------------------------------------- */

/* An applying manager is the same whatever API version it uses. */
static struct manager_entry *
find_entry(const struct managed_write *w, struct manager_list *entries)
{
    for (unsigned i = 0; i < entries->count; i++) {
        struct manager_entry *e = &entries->items[i];

        if (strcmp(e->name, w->who->name) == 0 && e->applies == w->who->applies
            && strcmp(e->subresource, w->who->subresource) == 0
            && (e->applies || strcmp(e->api_version, w->kind->api_version) == 0))
            return e;
    }
    return NULL;
}

static struct manager_entry *
make_entry(const struct managed_write *w, struct manager_list *entries)
{
    struct manager_entry *e = find_entry(w, entries);

    if (e != NULL)
        return e;
    return manager_list_add(w->arena, entries,
                            &(struct manager_entry){
                                .name = w->who->name,
                                .api_version = w->kind->api_version,
                                .subresource = w->who->subresource,
                                .applies = w->who->applies,
                                .set = field_set_new(w->arena),
                            });
}

static struct manager_entry *
oldest_updater(struct manager_list *entries, unsigned *ret_count)
{
    struct manager_entry *oldest = NULL;

    *ret_count = 0;
    for (unsigned i = 0; i < entries->count; i++) {
        struct manager_entry *e = &entries->items[i];

        if (e->applies)
            continue;
        (*ret_count)++;
        if (strcmp(e->name, ANCIENT) != 0
            && (oldest == NULL || manager_compare_times(e->time, oldest->time) < 0))
            oldest = e;
    }
    return oldest;
}

/* Merges the oldest updaters into one when there are too many. */
static void
limit_updaters(const struct managed_write *w, struct manager_list *entries)
{
    unsigned count;
    struct manager_entry *oldest = oldest_updater(entries, &count);

    while (count > UPDATERS_MAX && oldest != NULL) {
        struct field_set *set = oldest->set;
        const char *time = oldest->time;
        const struct field_manager ancient = {ANCIENT, "", false};
        struct managed_write as_ancient = *w;
        struct manager_entry *e;

        oldest->set = field_set_new(w->arena);
        manager_list_drop_empty(entries);
        as_ancient.who = &ancient;
        e = make_entry(&as_ancient, entries);
        e->set = field_set_union(w->arena, e->set, set);
        if (manager_compare_times(e->time, time) < 0)
            e->time = time;
        oldest = oldest_updater(entries, &count);
    }
}

/* --- what a change does to the sets --------------------------------------- */

static struct field_set *
owned(const struct managed_write *w, const struct field_set *set)
{
    return field_set_without(w->arena, field_set_difference(w->arena, set, w->unowned), w->ignored);
}

static struct json *
bare(struct arena *arena, const struct json *tree)
{
    struct json *copy = json_dup(arena, tree);

    json_remove(json_get(copy, "metadata"), "managedFields");
    return copy;
}

static struct json *
empty_tree(struct arena *arena, const struct kind *kind)
{
    struct json *tree = json_object(arena);

    json_set_string(arena, tree, "kind", kind->name);
    json_set_string(arena, tree, "apiVersion", kind->api_version);
    record_normalize(kind->record, arena, tree, NULL, NULL);
    return tree;
}

/* Removes changed and removed fields from every manager except `keeper`. */
static void
take_from_others(const struct managed_write *w, struct manager_list *entries,
                 const struct manager_entry *keeper, const struct field_set *changed,
                 const struct field_set *removed)
{
    for (unsigned i = 0; i < entries->count; i++) {
        struct manager_entry *e = &entries->items[i];

        if (e == keeper)
            continue;
        e->set = field_set_difference(w->arena, e->set, changed);
        e->set = field_set_difference(w->arena, e->set, removed);
    }
}

static void
update(struct managed_write *w, struct manager_list *entries, const struct json *live,
       const struct json *tree)
{
    struct typed_difference d;
    struct field_set *changed, *taken;
    struct manager_entry *e;

    typed_tree_compare(w->arena, w->kind->record, live, tree, &d);
    changed = field_set_union(w->arena, d.modified, d.added);
    take_from_others(w, entries, NULL, changed, d.removed);
    taken = owned(w, changed);
    if (!field_set_is_empty(taken)) {
        e = make_entry(w, entries);
        e->set = field_set_union(w->arena, e->set, taken);
        e->time = arena_strdup(w->arena, w->now);
    }
    manager_list_drop_empty(entries);
    limit_updaters(w, entries);
}

static bool
is_reset(const struct json *list)
{
    return json_count(list) == 1 && json_count(json_at(list, 0)) == 0;
}

/* Reads the list from the write if that has one, else from the live object. */
static void
read_entries(const struct managed_write *w, const struct json *live, const struct json *tree,
             struct manager_list *entries)
{
    const struct json *given = json_get_path(tree, "metadata.managedFields");

    if (is_reset(given))
        return;
    if (w->who->subresource[0] == '\0' && json_count(given) > 0
        && manager_list_decode(w->arena, given, entries))
        return;
    *entries = (struct manager_list){0};
    if (!manager_list_decode(w->arena, json_get_path(live, "metadata.managedFields"), entries))
        *entries = (struct manager_list){0};
}

static void
write_entries(struct arena *arena, struct json *tree, struct manager_list *entries)
{
    struct json *meta = json_make_object(arena, tree, "metadata");

    if (entries->count == 0)
        json_remove(meta, "managedFields");
    else
        json_set(arena, meta, "managedFields", manager_list_encode(arena, entries));
}

void
managed_fields_note(struct arena *arena, const struct kind *kind, const struct json *live,
                    struct json *tree, const struct field_manager *who, bool is_followed,
                    int64_t now_us)
{
    struct managed_write w;
    struct manager_list entries = {0};

    if ((live != NULL || !is_followed) && json_get_path(tree, "metadata.managedFields") == NULL
        && json_get_path(live, "metadata.managedFields") == NULL)
        return;
    w = begin(arena, kind, who, now_us);
    read_entries(&w, live, tree, &entries);
    if (entries.count > 0 || (live == NULL && is_followed))
        update(&w, &entries, live != NULL ? bare(arena, live) : empty_tree(arena, kind),
               bare(arena, tree));
    write_entries(arena, tree, &entries);
}

/* --- apply ---------------------------------------------------------------- */

static void
add_conflict(struct arena *arena, struct manager_conflicts *conflicts, const char *manager,
             const char *path)
{
    if (conflicts->count == conflicts->capacity) {
        unsigned capacity = conflicts->capacity ? conflicts->capacity * 2 : 8;
        struct manager_conflict *longer = arena_new_array(arena, struct manager_conflict, capacity);

        if (conflicts->count > 0)
            memcpy(longer, conflicts->items, conflicts->count * sizeof(*longer));
        conflicts->items = longer;
        conflicts->capacity = capacity;
    }
    conflicts->items[conflicts->count++] =
        (struct manager_conflict){manager, arena_strdup(arena, path)};
}

struct conflict_report {
    struct arena *arena;
    struct manager_conflicts *conflicts;
    const char *manager;
};

static void
report_conflict(const char *path, void *context)
{
    struct conflict_report *t = context;

    add_conflict(t->arena, t->conflicts, t->manager, path);
}

/* Formats `"me"` or `"kubectl-edit" with subresource "status" using v1`. */
static const char *
name_for_people(struct arena *arena, const struct manager_entry *e)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    json_print_string(e->name, strlen(e->name), &text);
    if (e->subresource[0] != '\0')
        strbuf_printf(&text, " with subresource \"%s\"", e->subresource);
    if (!e->applies)
        strbuf_printf(&text, " using %s", e->api_version);
    return arena_strndup(arena, text.text, text.length);
}

/* Lists the changed fields that others own. Fields in `allowed` are no
 * conflict.
 */
static void
find_conflicts(const struct managed_write *w, const struct manager_list *entries,
               const struct manager_entry *own, const struct field_set *changed,
               const struct field_set *allowed, struct manager_conflicts *conflicts)
{
    for (unsigned i = 0; i < entries->count; i++) {
        const struct manager_entry *e = &entries->items[i];
        struct conflict_report t = {.arena = w->arena, .conflicts = conflicts};

        if (e == own)
            continue;
        t.manager = name_for_people(w->arena, e);
        field_set_visit(field_set_difference(
                            w->arena, field_set_intersection(w->arena, e->set, changed), allowed),
                        report_conflict, &t);
    }
}

/* Removes the fields that the manager listed before and that nobody lists now.
 */
static struct json *
prune(const struct managed_write *w, const struct json *merged, const struct manager_list *entries,
      const struct field_set *last)
{
    const struct record *record = w->kind->record;
    struct arena *a = w->arena;
    const struct field_set *had, *all, *left, *wanted;
    struct field_set *kept = field_set_new(a);
    struct json *result;

    if (field_set_is_empty(last))
        return json_dup(a, merged);
    had = typed_tree_complete(a, record, last);
    all = typed_tree_complete(a, record, typed_tree_places(a, record, merged));
    result = typed_tree_remove(a, record, merged, had);
    /* Fields that other managers own are restored, */
    for (unsigned i = 0; i < entries->count; i++)
        kept = field_set_union(a, kept, entries->items[i].set);
    left = typed_tree_complete(a, record, typed_tree_places(a, record, result));
    wanted = field_set_union(a, left, typed_tree_complete(a, record, kept));
    result = typed_tree_remove(a, record, merged, field_set_difference(a, all, wanted));
    /* and with them the fields there that nobody owns. */
    left = typed_tree_complete(a, record, typed_tree_places(a, record, result));
    return typed_tree_remove(a, record, merged,
                             field_set_intersection(a, field_set_difference(a, all, left), had));
}

/* Fields that kubectl applied client-side, and that have not changed after
 * that, are still kubectl's.
 */
static struct field_set *
client_applied(const struct managed_write *w, const struct json *live)
{
    const struct json *annotations = json_get_path(live, "metadata.annotations");
    const char *text = json_get_text(annotations, LAST_APPLIED);
    struct typed_difference d;
    struct field_set *set;
    const struct json *applied;

    if (strcmp(w->who->name, KUBECTL) != 0 || text == NULL)
        return field_set_new(w->arena);
    applied = json_parse(w->arena, text, strlen(text), NULL, NULL);
    if (!json_is(applied, JSON_OBJECT))
        return field_set_new(w->arena);
    typed_tree_compare(w->arena, w->kind->record, applied, live, &d);
    set = typed_tree_places(w->arena, w->kind->record, applied);
    set = field_set_difference(w->arena, set, d.modified);
    set = field_set_difference(w->arena, set, d.added);
    return field_set_difference(w->arena, set, d.removed);
}

/* Updates kubectl's annotation, so that kubectl can return to client-side
 * apply.
 */
static void
renew_last_applied(const struct managed_write *w, struct json *tree,
                   const struct json *configuration)
{
    struct json *annotations = json_get_path(tree, "metadata.annotations");
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (strcmp(w->who->name, KUBECTL) != 0 || json_get(annotations, LAST_APPLIED) == NULL)
        return;
    json_print(configuration, &text);
    strbuf_add_char(&text, '\n');
    json_set_string(w->arena, annotations, LAST_APPLIED, text.text);
}

/* An object without managedFields belongs to the manager of all writes before
 * this apply.
 */
static void
begin_following(struct managed_write *w, struct manager_list *entries, const struct json *live)
{
    const struct field_manager before = {BEFORE_APPLY, "", false};
    struct managed_write as_before = *w;

    as_before.who = &before;
    as_before.ignored = field_set_new(w->arena);
    update(&as_before, entries, empty_tree(w->arena, w->kind), live);
}

struct json *
managed_fields_apply(struct arena *arena, const struct kind *kind, const struct json *live,
                     const struct json *configuration, const struct field_manager *who, bool force,
                     int64_t now_us, struct manager_conflicts *ret_conflicts)
{
    struct managed_write w = begin(arena, kind, who, now_us);
    struct json *is = live != NULL ? bare(arena, live) : empty_tree(arena, kind);
    struct manager_list entries = {0};
    struct typed_difference d;
    struct field_set *changed, *last;
    struct manager_entry *own;
    struct json *tree;

    memset(ret_conflicts, 0, sizeof(*ret_conflicts));
    read_entries(&w, live, NULL, &entries);
    if (entries.count == 0 && live != NULL)
        begin_following(&w, &entries, is);
    own = make_entry(&w, &entries);
    last = own->set;
    own->api_version = kind->api_version;
    own->set = owned(&w, typed_tree_places(arena, kind->record, configuration));
    tree = typed_tree_merge(arena, kind->record, is, configuration);
    tree = prune(&w, tree, &entries, last);
    typed_tree_compare(arena, kind->record, is, tree, &d);
    changed = field_set_union(arena, d.modified, d.added);
    if (!force)
        find_conflicts(&w, &entries, own, changed, client_applied(&w, is), ret_conflicts);
    if (ret_conflicts->count > 0)
        return NULL;
    take_from_others(&w, &entries, own, changed, d.removed);
    if (!json_equals(is, tree))
        own->time = arena_strdup(arena, w.now);
    manager_list_drop_empty(&entries);
    renew_last_applied(&w, tree, configuration);
    write_entries(arena, tree, &entries);
    return tree;
}

static void
drop_times(struct json *tree)
{
    struct json *list = json_get_path(tree, "metadata.managedFields");

    for (uint32_t i = 0; i < json_count(list); i++)
        json_remove(json_at(list, i), "time");
}

bool
managed_fields_same_but_times(struct arena *arena, const struct json *a, const struct json *b)
{
    struct json *x = json_dup(arena, a);
    struct json *y = json_dup(arena, b);

    drop_times(x);
    drop_times(y);
    return json_equals(x, y);
}
