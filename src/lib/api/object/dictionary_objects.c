/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table of small sets, by kind, namespace and user; keys with the same
 * hash share a set. The dictionary that was used last is tried first.
 *
 * An object that compresses well against one dictionary may compress much
 * better against a more similar one: a pending pod with a message, for example,
 * against another that has the message too. So when several objects left much
 * text, one of them is kept whole as a dictionary, and later objects are tried
 * against it. Each such trial makes the next one rarer.
 */
#include "lib/api/object/dictionary_objects.h"

#include <stdlib.h>
#include <string.h>

#include "lib/api/object/dictionary_text.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/map.h"
#include "lib/json/json.h"

#define SETS   256u
#define PLACES 4u

/* The number of dictionaries for which LZ4's index is kept. A few suffice,
 * because the objects of one batch belong to a few kinds and users.
 */
#define INDEXED 8u

#define SHORTEST 256u /* shorter texts are not worth a reference */
#define GOOD     4u   /* at a quarter of the text the search stops */
#define ENOUGH   2u   /* above a half the object is kept whole */
#define LITTLE   9u   /* below a ninth no dictionary is better */

#define POOR        16u /* poor results before one is kept whole; */
#define MOST_TRIALS 8u  /* doubles with each trial, up to this often */
#define COMPARE     8u  /* one in so many poor results tries all */

struct set {
    const struct object *places[PLACES]; /* last used first */
    unsigned n_poor;                     /* since the last trial */
    unsigned n_trials;
    size_t most_left; /* the worst result since the last trial */
};

struct indexed {
    const struct object *object; /* a reference, so the address stays unique */
    struct dictionary_text *dictionary;
    uint64_t used_at; /* value of `uses` at the last use */
};

struct dictionary_objects {
    struct set sets[SETS];
    struct indexed indexed[INDEXED];
    uint64_t uses;
    struct dictionary_packer *packer;
    char best[DICTIONARY_TEXT_MAX / ENOUGH];
    char next[DICTIONARY_TEXT_MAX / ENOUGH];
};

struct dictionary_objects *
dictionary_objects_new(void)
{
    struct dictionary_objects *d = xnew(struct dictionary_objects);

    d->packer = dictionary_packer_new();
    return d;
}

static void
drop_index(struct indexed *at)
{
    dictionary_text_free(at->dictionary);
    object_unref(at->object);
}

void
dictionary_objects_free(struct dictionary_objects *d)
{
    if (d == NULL)
        return;
    for (unsigned i = 0; i < SETS; i++)
        for (unsigned k = 0; k < PLACES; k++)
            object_unref(d->sets[i].places[k]);
    for (unsigned i = 0; i < INDEXED; i++)
        drop_index(&d->indexed[i]);
    dictionary_packer_free(d->packer);
    free(d);
}

static uint64_t
hash_of(const char *text)
{
    return text != NULL ? map_hash(text, strlen(text)) : 0;
}

static struct set *
set_for(struct dictionary_objects *d, const struct kind *kind, const char *namespace,
        const char *user)
{
    uint64_t hash = hash_of(kind->name) + 3 * hash_of(namespace) + 5 * hash_of(user);

    return &d->sets[(hash ^ hash >> 32) % SETS];
}

static struct set *
set_of(struct dictionary_objects *d, const struct kind *kind, const struct json *tree)
{
    const struct json *meta = json_get(tree, "metadata");

    return set_for(d, kind, json_get_text(meta, "namespace"),
                   json_get_text(json_get(meta, "annotations"), ANNOTATION_USER));
}

static void
move_first(struct set *set, unsigned place)
{
    const struct object *first = set->places[place];

    memmove(&set->places[1], &set->places[0], place * sizeof(first));
    set->places[0] = first;
}

static bool
fits(const struct object *pattern, const struct kind *kind, size_t length)
{
    return pattern != NULL && pattern->kind == kind && pattern->length < 4 * length
           && length < 4 * pattern->length;
}

/* Returns the LZ4 index of the object. A new index replaces the least recently
 * used one.
 */
static const struct dictionary_text *
index_of(struct dictionary_objects *d, const struct object *object)
{
    struct indexed *oldest = &d->indexed[0];

    for (unsigned i = 0; i < INDEXED; i++) {
        struct indexed *at = &d->indexed[i];

        if (at->object == object) {
            at->used_at = ++d->uses;
            return at->dictionary;
        }
        if (at->used_at < oldest->used_at)
            oldest = at;
    }
    drop_index(oldest);
    oldest->object = object_ref(object);
    oldest->dictionary = dictionary_text_new(object_own_text(object));
    oldest->used_at = ++d->uses;
    return oldest->dictionary;
}

/* Whether the object is kept whole, given the size that is left of it: it is if
 * enough results were poor and this is among the worst, or if twice as many
 * were.
 */
static bool
is_trial(struct set *set, size_t left)
{
    const unsigned due = POOR << set->n_trials;

    set->n_poor++;
    if (left > set->most_left)
        set->most_left = left;
    return set->n_poor >= due
           && (left >= set->most_left - set->most_left / 4 || set->n_poor >= 2 * due);
}

static void
end_trial(struct set *set)
{
    if (set->n_poor < POOR << set->n_trials)
        return;
    set->n_poor = 0;
    set->most_left = 0;
    if (set->n_trials < MOST_TRIALS)
        set->n_trials++;
}

static bool
pack(struct dictionary_objects *d, struct set *set, const struct kind *kind, const char *text,
     size_t length, struct packed_text *ret)
{
    const bool compares = set->n_poor % COMPARE == COMPARE - 1;
    size_t best = length / ENOUGH + 1;
    unsigned chosen = PLACES;

    if (length < SHORTEST || length > DICTIONARY_TEXT_MAX)
        return false;
    for (unsigned i = 0; i < PLACES; i++) {
        size_t n = !fits(set->places[i], kind, length)
                       ? 0
                       : dictionary_text_pack(d->packer, index_of(d, set->places[i]),
                                              (struct text_span){text, length}, d->next, best - 1);

        if (n == 0)
            continue;
        memcpy(d->best, d->next, n);
        best = n;
        chosen = i;
        if (best <= length / (compares ? LITTLE : GOOD))
            break;
    }
    if (chosen == PLACES)
        return false;
    if (best > length / LITTLE && is_trial(set, best))
        return false;
    move_first(set, chosen);
    *ret = (struct packed_text){set->places[0], d->best, best};
    return true;
}

bool
dictionary_objects_pack(struct dictionary_objects *d, const struct kind *kind,
                        const struct json *tree, const char *text, size_t length,
                        struct packed_text *ret)
{
    return pack(d, set_of(d, kind, tree), kind, text, length, ret);
}

/* Packs the text well against that dictionary, if it is one of the set. */
static bool
pack_beside(struct dictionary_objects *d, struct set *set, const struct object *beside,
            const char *text, size_t length, struct packed_text *ret)
{
    unsigned i = 0;
    size_t n;

    while (i < PLACES && set->places[i] != beside)
        i++;
    if (i == PLACES || !fits(beside, beside->kind, length) || length > DICTIONARY_TEXT_MAX)
        return false;
    n = dictionary_text_pack(d->packer, index_of(d, beside), (struct text_span){text, length},
                             d->best, length / GOOD);
    *ret = (struct packed_text){beside, d->best, n};
    return n != 0;
}

bool
dictionary_objects_pack_next(struct dictionary_objects *d, const struct object *before,
                             const struct object *beside, const char *text, size_t length,
                             struct packed_text *ret)
{
    const struct meta *meta = before->meta;
    struct set *set = set_for(d, before->kind, meta->namespace,
                              string_map_find(&meta->annotations, ANNOTATION_USER));

    return (beside != NULL && pack_beside(d, set, beside, text, length, ret))
           || pack(d, set, before->kind, text, length, ret);
}

void
dictionary_objects_add(struct dictionary_objects *d, const struct json *tree,
                       const struct object *object)
{
    struct set *set;

    if (object->length < SHORTEST || object->length > DICTIONARY_TEXT_MAX)
        return;
    set = set_of(d, object->kind, tree);
    object_unref(set->places[PLACES - 1]);
    set->places[PLACES - 1] = object_ref(object);
    move_first(set, PLACES - 1);
    end_trial(set);
}
