/* SPDX-License-Identifier: Apache-2.0 */
/* Two structures over the same entries: a hash table to find a key, and a skip
 * list for the order. The order is a skip list and not a tree because entries
 * are visited while others are added, and because adding at the end takes few
 * steps. A key is "namespace NUL name", which memcmp() sorts as needed.
 */
#include "controller/store/memory/object_index.h"

#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/map.h"
#include "lib/base/random.h"

#define MAX_HEIGHT 16 /* 1 in 4 entries is one level higher: good for 4^16 */

struct object_index {
    const struct kind *kind;
    unsigned n_indexes;
    struct entry **slots; /* open addressing, at most half full */
    size_t capacity;      /* a power of two */
    size_t count;
    struct random_source random;
    struct entry *heads[MAX_HEIGHT];
    struct entry *newest;             /* the entry added last, or NULL */
    struct entry **trail[MAX_HEIGHT]; /* the links that point at it */
};

/* A key to be found, as the caller passed it: not joined yet. */
struct key {
    const char *namespace;
    const char *name;
    size_t namespace_length;
    size_t name_length;
};

static struct key
key_of(const char *namespace, const char *name)
{
    if (namespace == NULL)
    namespace = "";
    return (struct key){
        .namespace = namespace,
        .name = name,
        .namespace_length = strlen(namespace),
        .name_length = strlen(name),
    };
}

static const char *
entry_key(const struct entry *entry)
{
    return (const char *)&entry->next[entry->height] + entry->n_indexes * sizeof(entry_postings);
}

const char *
entry_namespace(const struct entry *entry)
{
    return entry_key(entry);
}

static size_t
key_length(const struct key *key)
{
    return key->namespace_length + 1 + key->name_length;
}

static uint32_t
key_hash(const struct key *key)
{
    uint64_t hash = map_hash(key->name, key->name_length);

    if (key->namespace_length > 0)
        hash ^= 31 * map_hash(key->namespace, key->namespace_length);
    return (uint32_t)(hash ^ hash >> 32);
}

static bool
is_at(const struct entry *entry, const struct key *key)
{
    const char *text = entry_key(entry);

    return entry->key_length == key_length(key)
           && memcmp(text, key->namespace, key->namespace_length + 1) == 0
           && memcmp(text + key->namespace_length + 1, key->name, key->name_length) == 0;
}

/* Both texts end with a NUL, so strcmp cannot run past an end. */
static int
compare(const struct entry *entry, const struct key *key)
{
    const char *text = entry_key(entry);
    int order = strcmp(text, key->namespace);

    if (order != 0)
        return order;
    return strcmp(text + key->namespace_length + 1, key->name);
}

struct object_index *
object_index_new(const struct kind *kind, unsigned n_indexes)
{
    struct object_index *s = xnew(struct object_index);

    s->kind = kind;
    s->n_indexes = n_indexes;
    s->capacity = 16;
    s->slots = xnew_array(struct entry *, s->capacity);
    s->random.state = 1;
    return s;
}

static void
entry_free(struct entry *entry)
{
    free(entry->deltas);
    free(entry);
}

void
object_index_free(struct object_index *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->capacity; i++)
        if (s->slots[i] != NULL)
            entry_free(s->slots[i]);
    free(s->slots);
    free(s);
}

static void
place(struct entry **slots, size_t capacity, struct entry *entry)
{
    size_t at = entry->hash & (capacity - 1);

    while (slots[at] != NULL)
        at = (at + 1) & (capacity - 1);
    slots[at] = entry;
}

static void
grow(struct object_index *s)
{
    size_t capacity = s->capacity * 2;
    struct entry **slots = xnew_array(struct entry *, capacity);

    for (size_t i = 0; i < s->capacity; i++)
        if (s->slots[i] != NULL)
            place(slots, capacity, s->slots[i]);
    free(s->slots);
    s->slots = slots;
    s->capacity = capacity;
}

/* Moves entries back that a probe could no longer find behind the hole. */
static void
unplace(struct object_index *s, const struct entry *entry)
{
    size_t mask = s->capacity - 1;
    size_t hole = entry->hash & mask;

    while (s->slots[hole] != entry)
        hole = (hole + 1) & mask;
    for (size_t at = (hole + 1) & mask; s->slots[at] != NULL; at = (at + 1) & mask) {
        size_t home = s->slots[at]->hash & mask;

        if (((at - home) & mask) >= ((at - hole) & mask)) {
            s->slots[hole] = s->slots[at];
            hole = at;
        }
    }
    s->slots[hole] = NULL;
}

static struct entry *
find(const struct object_index *s, const struct key *key, uint32_t hash)
{
    size_t mask = s->capacity - 1;
    struct entry *entry;

    for (size_t at = hash & mask; (entry = s->slots[at]) != NULL; at = (at + 1) & mask)
        if (entry->hash == hash && is_at(entry, key))
            return entry;
    return NULL;
}

/* One allocation for the entry, its links, its pairs of postings and its key.
 */
static struct entry *
entry_new(struct object_index *s, const struct key *key, uint32_t hash)
{
    unsigned height = 1;
    const size_t postings = s->n_indexes * sizeof(entry_postings);
    struct entry *entry;
    char *text;

    while (height < MAX_HEIGHT && (random_next(&s->random) & 3) == 0)
        height++;
    entry = xcalloc(1, sizeof(*entry) + height * sizeof(entry->next[0]) + postings + key_length(key)
                           + 1);
    entry->height = (uint8_t)height;
    entry->n_indexes = (uint8_t)s->n_indexes;
    entry->hash = hash;
    entry->key_length = (uint16_t)key_length(key);
    text = (char *)&entry->next[height] + postings;
    memcpy(text, key->namespace, key->namespace_length + 1);
    memcpy(text + key->namespace_length + 1, key->name, key->name_length + 1);
    return entry;
}

/* Finds the links that would point at a key, one for each height. */
static void
links_before(struct object_index *s, const struct key *key, struct entry **links[MAX_HEIGHT])
{
    struct entry **level = s->heads;

    for (int i = MAX_HEIGHT - 1; i >= 0; i--) {
        while (level[i] != NULL && compare(level[i], key) < 0)
            level = level[i]->next;
        links[i] = &level[i];
    }
}

/* Numbered names arrive in order: an entry that belongs right after the newest
 * one is linked without a search. The newest entry's own links lead on, as far
 * as its height.
 */
static bool
follows_newest(const struct object_index *s, const struct key *key)
{
    return s->newest != NULL && compare(s->newest, key) < 0
           && (s->newest->next[0] == NULL || compare(s->newest->next[0], key) > 0);
}

static void
link_in(struct object_index *s, struct entry *entry, const struct key *key)
{
    if (follows_newest(s, key))
        for (unsigned i = 0; i < s->newest->height; i++)
            s->trail[i] = &s->newest->next[i];
    else
        links_before(s, key, s->trail);
    for (unsigned i = 0; i < entry->height; i++) {
        entry->next[i] = *s->trail[i];
        *s->trail[i] = entry;
    }
    s->newest = entry;
}

struct entry *
object_index_add(struct object_index *s, const char *namespace, const char *name)
{
    struct key key = key_of(namespace, name);
    uint32_t hash = key_hash(&key);
    struct entry *entry = find(s, &key, hash);

    if (entry != NULL)
        return entry;
    entry = entry_new(s, &key, hash);
    link_in(s, entry, &key);
    s->count++;
    if (s->count * 2 > s->capacity)
        grow(s);
    place(s->slots, s->capacity, entry);
    return entry;
}

void
object_index_remove(struct object_index *s, struct entry *entry)
{
    const char *text = entry_key(entry);
    struct key key = key_of(text, text + strlen(text) + 1);
    struct entry **links[MAX_HEIGHT];

    links_before(s, &key, links);
    for (unsigned i = 0; i < entry->height; i++)
        *links[i] = entry->next[i];
    s->newest = NULL;
    unplace(s, entry);
    s->count--;
    entry_free(entry);
}

struct entry *
object_index_find(const struct object_index *s, const char *namespace, const char *name)
{
    struct key key = key_of(namespace, name);

    return find(s, &key, key_hash(&key));
}

struct entry *
object_index_first(const struct object_index *s)
{
    return s->heads[0];
}

struct entry *
object_index_seek(const struct object_index *s, const char *namespace, const char *name)
{
    struct key key = key_of(namespace, name);
    struct entry *const *level = s->heads;

    for (int i = MAX_HEIGHT - 1; i >= 0; i--)
        while (level[i] != NULL && compare(level[i], &key) < 0)
            level = level[i]->next;
    return level[0];
}

struct entry *
object_index_seek_behind(const struct object_index *s, const char *namespace, const char *name)
{
    struct key key = key_of(namespace, name);
    struct entry *entry = object_index_seek(s, namespace, name);

    return entry != NULL && is_at(entry, &key) ? entry->next[0] : entry;
}

const struct kind *
object_index_kind(const struct object_index *s)
{
    return s->kind;
}
