/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch of a node is promised from the moment of a decision, long before the volume exists.
 * Three sources then say where it is: the decision, the claim's annotation, and the volume,
 * and they appear and vanish in any order. Each is recorded by itself and only the strongest
 * is counted, so that a volume is never charged twice, and never not at all, whichever event
 * comes first. Claims that arrive before their class are charged when the class does.
 */
#include "controller/scheduler/framework/volume_book.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/storage/persistent_volume.h"
#include "lib/api/storage/persistent_volume_claim.h"
#include "lib/api/storage/storage_class.h"
#include "lib/base/alloc.h"
#include "lib/base/map.h"

/* The sources that say on which node a volume is. The first source in this
 * order that has a node decides.
 */
enum book_source { BY_VOLUME, BY_CLAIM, BY_ASSUMING, SOURCES };

struct charge {
    char *nodes[SOURCES];
    int64_t bytes[SOURCES];
};

struct assumption {
    unsigned times;
    char *node;
    char *volume; /* NULL: one will be provisioned */
};

struct volume_book {
    struct map *claims;        /* "NS/NAME" to object */
    struct map *volumes;       /* name to object */
    struct map *classes;       /* name to object */
    struct map *free_by_class; /* class to a map of name to object: free ones */
    struct map *charges;       /* volume name to struct charge */
    struct map *promised;      /* node to int64_t */
    struct map *assumed;       /* claim's "NS/NAME" to struct assumption */
    struct map *taken;         /* volume name to the claim's key */
};

/* --- life ----------------------------------------------------------------- */

struct volume_book *
volume_book_new(void)
{
    struct volume_book *b = xnew(struct volume_book);

    b->claims = map_new();
    b->volumes = map_new();
    b->classes = map_new();
    b->free_by_class = map_new();
    b->charges = map_new();
    b->promised = map_new();
    b->assumed = map_new();
    b->taken = map_new();
    return b;
}

static void
free_objects(struct map *objects)
{
    size_t at = 0;
    void *object;

    while (map_next(objects, &at, NULL, &object))
        object_unref(object);
    map_free(objects);
}

static void
free_plain(struct map *values)
{
    size_t at = 0;
    void *value;

    while (map_next(values, &at, NULL, &value))
        free(value);
    map_free(values);
}

static void
free_charge(struct charge *c)
{
    for (unsigned i = 0; i < SOURCES; i++)
        free(c->nodes[i]);
    free(c);
}

static void
free_assumption(struct assumption *a)
{
    free(a->node);
    free(a->volume);
    free(a);
}

void
volume_book_free(struct volume_book *b)
{
    size_t at = 0;
    void *value;

    if (b == NULL)
        return;
    while (map_next(b->free_by_class, &at, NULL, &value))
        map_free(value);
    map_free(b->free_by_class);
    at = 0;
    while (map_next(b->charges, &at, NULL, &value))
        free_charge(value);
    map_free(b->charges);
    at = 0;
    while (map_next(b->assumed, &at, NULL, &value))
        free_assumption(value);
    map_free(b->assumed);
    free_plain(b->promised);
    free_plain(b->taken);
    free_objects(b->claims);
    free_objects(b->volumes);
    free_objects(b->classes);
    free(b);
}

/* --- promised bytes ------------------------------------------------------- */

static void
promise(struct volume_book *b, const char *node, int64_t bytes)
{
    int64_t *sum = map_find(b->promised, node);

    if (sum == NULL) {
        sum = xnew(int64_t);
        map_put(b->promised, node, sum);
    }
    *sum += bytes;
    if (*sum == 0)
        free(map_remove(b->promised, node));
}

static int
counting(const struct charge *c)
{
    for (int i = 0; i < SOURCES; i++)
        if (c->nodes[i] != NULL)
            return i;
    return -1;
}

/* Sets what the source says; node NULL: nothing. True when a node has more
 * unpromised scratch afterwards.
 */
static bool
charge(struct volume_book *b, const char *volume, enum book_source source, const char *node,
       int64_t bytes)
{
    struct charge *c = map_find(b->charges, volume);
    int64_t before = 0;
    char *was = NULL;
    bool gained;
    int at;

    if (c == NULL && node == NULL)
        return false;
    if (c == NULL) {
        c = xnew(struct charge);
        map_put(b->charges, volume, c);
    }
    at = counting(c);
    if (at >= 0) {
        before = c->bytes[at];
        was = xstrdup(c->nodes[at]);
        promise(b, was, -before);
    }
    free(c->nodes[source]);
    c->nodes[source] = node != NULL ? xstrdup(node) : NULL;
    c->bytes[source] = bytes;
    at = counting(c);
    if (at >= 0)
        promise(b, c->nodes[at], c->bytes[at]);
    gained = was != NULL && (at < 0 || strcmp(was, c->nodes[at]) != 0 || c->bytes[at] < before);
    free(was);
    if (at < 0) {
        map_remove(b->charges, volume);
        free_charge(c);
    }
    return gained;
}

int64_t
volume_book_promised(const struct volume_book *b, const char *node_name)
{
    const int64_t *sum = map_find(b->promised, node_name);

    return sum != NULL ? *sum : 0;
}

/* The name of the volume that is provisioned for the claim. */
static char *
made_name(const struct object *claim)
{
    return xasprintf("pvc-%s", claim->meta->uid != NULL ? claim->meta->uid : claim->meta->name);
}

static bool
is_scratch(const struct volume_book *b, const struct persistent_volume_claim *c)
{
    const struct object *class = map_find(b->classes, persistent_volume_claim_class(c));

    return class != NULL && storage_class_is_scratch(storage_class_of(class));
}

static bool
charge_claim(struct volume_book *b, const struct object *claim, enum book_source source,
             const char *node)
{
    CLEANUP_FREE char *volume = made_name(claim);

    return charge(b, volume, source, node,
                  persistent_volume_claim_bytes(persistent_volume_claim_of(claim)));
}

/* --- assumptions ---------------------------------------------------------- */

static void
drop_assumption(struct volume_book *b, const char *key, const struct object *claim)
{
    struct assumption *a = map_remove(b->assumed, key);

    if (a == NULL)
        return;
    if (a->volume != NULL)
        free(map_remove(b->taken, a->volume));
    else
        charge_claim(b, claim, BY_ASSUMING, NULL);
    free_assumption(a);
}

void
volume_book_assume(struct volume_book *b, const struct object *claim, const struct object *volume,
                   const char *node_name)
{
    char key[OBJECT_KEY_SIZE];
    struct assumption *a;

    object_key(claim, key);
    a = map_find(b->assumed, key);
    if (a != NULL) {
        a->times++;
        return;
    }
    a = xnew(struct assumption);
    a->times = 1;
    a->node = xstrdup(node_name);
    map_put(b->assumed, key, a);
    if (volume != NULL) {
        a->volume = xstrdup(volume->meta->name);
        free(map_put(b->taken, a->volume, xstrdup(key)));
    } else if (is_scratch(b, persistent_volume_claim_of(claim))) {
        charge_claim(b, claim, BY_ASSUMING, node_name);
    }
}

void
volume_book_forget(struct volume_book *b, const struct object *claim)
{
    char key[OBJECT_KEY_SIZE];
    struct assumption *a;

    object_key(claim, key);
    a = map_find(b->assumed, key);
    if (a != NULL && --a->times == 0)
        drop_assumption(b, key, claim);
}

const struct object *
volume_book_assumed(const struct volume_book *b, const struct object *claim)
{
    char key[OBJECT_KEY_SIZE];
    const struct assumption *a;

    object_key(claim, key);
    a = map_find(b->assumed, key);
    return a != NULL && a->volume != NULL ? map_find(b->volumes, a->volume) : NULL;
}

const char *
volume_book_claim_node(const struct volume_book *b, const struct object *claim)
{
    const char *node = persistent_volume_claim_node(persistent_volume_claim_of(claim));
    char key[OBJECT_KEY_SIZE];
    const struct assumption *a;

    if (node != NULL)
        return node;
    object_key(claim, key);
    a = map_find(b->assumed, key);
    return a != NULL && a->volume == NULL ? a->node : NULL;
}

/* --- the API's objects ---------------------------------------------------- */

static bool
is_another(const struct object *a, const struct object *b)
{
    const char *x = a->meta->uid, *y = b->meta->uid;

    return x != NULL && y != NULL && strcmp(x, y) != 0;
}

static bool
set_claim(struct volume_book *b, const char *key, const struct object *old_claim,
          const struct object *new_claim)
{
    const struct persistent_volume_claim *c;
    const char *node = NULL;
    bool gained = false;

    if (old_claim != NULL && (new_claim == NULL || is_another(old_claim, new_claim))) {
        drop_assumption(b, key, old_claim);
        gained = charge_claim(b, old_claim, BY_CLAIM, NULL);
    }
    if (new_claim == NULL)
        return gained;
    c = persistent_volume_claim_of(new_claim);
    if (persistent_volume_claim_is_bound(c))
        drop_assumption(b, key, new_claim);
    else if (is_scratch(b, c))
        node = persistent_volume_claim_node(c);
    return charge_claim(b, new_claim, BY_CLAIM, node) || gained;
}

/* Whether the volume is not bound to a claim, nor released or failed. */
static bool
is_free(const struct persistent_volume *v)
{
    return !persistent_volume_is_in_phase(v, "Bound")
           && !persistent_volume_is_in_phase(v, "Released")
           && !persistent_volume_is_in_phase(v, "Failed");
}

static void
remove_free(struct volume_book *b, const struct object *volume)
{
    struct map *of_class =
        map_find(b->free_by_class, persistent_volume_class(persistent_volume_of(volume)));

    if (of_class != NULL)
        map_remove(of_class, volume->meta->name);
}

static void
add_free(struct volume_book *b, const struct object *volume)
{
    const char *class = persistent_volume_class(persistent_volume_of(volume));
    struct map *of_class = map_find(b->free_by_class, class);

    if (of_class == NULL) {
        of_class = map_new();
        map_put(b->free_by_class, class, of_class);
    }
    map_put(of_class, volume->meta->name, (void *)(uintptr_t)volume);
}

static bool
set_volume(struct volume_book *b, const struct object *old_volume, const struct object *new_volume)
{
    const struct persistent_volume *v;

    if (old_volume != NULL)
        remove_free(b, old_volume);
    if (new_volume == NULL)
        return charge(b, old_volume->meta->name, BY_VOLUME, NULL, 0);
    v = persistent_volume_of(new_volume);
    if (is_free(v))
        add_free(b, new_volume);
    return charge(b, new_volume->meta->name, BY_VOLUME, persistent_volume_scratch_node(v),
                  persistent_volume_bytes(v));
}

/* Claims may arrive before their class. */
static bool
set_class(struct volume_book *b)
{
    bool gained = false;
    size_t at = 0;
    const char *key;
    void *claim;

    while (map_next(b->claims, &at, &key, &claim))
        gained |= set_claim(b, key, NULL, claim);
    return gained;
}

bool
volume_book_set(struct volume_book *b, const struct object *old_object,
                const struct object *new_object)
{
    const struct object *any = new_object != NULL ? new_object : old_object;
    struct map *objects = any->kind == &persistent_volume_kind ? b->volumes
                          : any->kind == &storage_class_kind   ? b->classes
                                                               : b->claims;
    char key[OBJECT_KEY_SIZE];
    bool gained = false;

    object_key(any, key);
    if (any->kind == &persistent_volume_kind)
        gained = set_volume(b, old_object, new_object);
    else if (any->kind == &persistent_volume_claim_kind)
        gained = set_claim(b, key, old_object, new_object);
    if (new_object != NULL)
        object_unref(map_put(objects, key, (void *)(uintptr_t)object_ref(new_object)));
    else
        object_unref(map_remove(objects, key));
    return any->kind == &storage_class_kind ? set_class(b) : gained;
}

/* --- look ----------------------------------------------------------------- */

const struct object *
volume_book_claim(const struct volume_book *b, const char *namespace, const char *name)
{
    char key[OBJECT_KEY_SIZE];

    snprintf(key, sizeof(key), "%s/%s", namespace, name);
    return map_find(b->claims, key);
}

const struct object *
volume_book_volume(const struct volume_book *b, const char *name)
{
    return map_find(b->volumes, name);
}

const struct object *
volume_book_class(const struct volume_book *b, const char *name)
{
    return map_find(b->classes, name);
}

void
volume_book_visit_free(const struct volume_book *b, const struct object *claim,
                       const char *class_name, volume_visit_fn *visit, void *context)
{
    const struct map *of_class = map_find(b->free_by_class, class_name);
    char key[OBJECT_KEY_SIZE];
    size_t at = 0;
    const char *name;
    void *volume;

    object_key(claim, key);
    while (of_class != NULL && map_next(of_class, &at, &name, &volume)) {
        const char *taker = map_find(b->taken, name);

        if (taker == NULL || strcmp(taker, key) == 0)
            visit(volume, context);
    }
}

struct volume_plan *
volume_plan_new(void)
{
    return xnew(struct volume_plan);
}

void
volume_plan_free(struct volume_plan *plan)
{
    if (plan == NULL)
        return;
    for (unsigned i = 0; i < plan->count; i++) {
        object_unref(plan->steps[i].claim);
        object_unref(plan->steps[i].volume);
    }
    free(plan->steps);
    free(plan);
}

void
volume_plan_add(struct volume_plan *plan, const struct object *claim, const struct object *volume)
{
    plan->steps = xrealloc_array(plan->steps, plan->count + 1, sizeof(*plan->steps));
    plan->steps[plan->count++] = (struct volume_step){
        .claim = object_ref(claim),
        .volume = volume != NULL ? object_ref(volume) : NULL,
    };
}
