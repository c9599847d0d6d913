/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/lib/growth.h"

#include <limits.h>
#include <malloc.h>
#include <string.h>
#include <time.h>

#include "controller/apiserver/objects/managed_fields.h"
#include "lib/api/object/causes.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/json_patch.h"
#include "lib/json/merge.h"
#include "lib/json/strategic.h"

#define NOISE_US 5000
/* A quadratic cost shows in every attempt; a shared machine is slow only at
 * times.
 */
#define ATTEMPTS 20
#define NOW_US   1700000000000000

/* --- growing -------------------------------------------------------------- */

struct growing {
    struct arena *arena;
    unsigned left; /* lists and maps before the one to grow */
    unsigned n;
    bool differs;
    bool is_done;
};

static struct json *
vary(struct arena *arena, const struct json *value, unsigned i)
{
    struct json *copy = json_copy(arena, value);

    if (json_is(copy, JSON_STRING))
        return json_stringf(arena, "%s%u", copy->text, i);
    for (uint32_t k = 0; json_is(copy, JSON_ARRAY) && k < copy->count; k++)
        copy->items[k] = vary(arena, copy->items[k], i);
    for (uint32_t k = 0; json_is(copy, JSON_OBJECT) && k < copy->count; k++)
        copy->members[k].value = vary(arena, copy->members[k].value, i);
    return copy;
}

static struct json *
grown(struct growing *g, const struct json *value)
{
    bool is_list = value->type == JSON_ARRAY;
    struct json *large = is_list ? json_array(g->arena) : json_object(g->arena);

    g->is_done = true;
    for (unsigned i = 0; i < g->n; i++) {
        unsigned from = i % value->count;

        if (is_list)
            json_append(g->arena, large,
                        g->differs ? vary(g->arena, value->items[from], i) : value->items[from]);
        else
            json_add(g->arena, large,
                     json_stringf(g->arena, "%s%u", value->members[from].name, i)->text,
                     value->members[from].value);
    }
    return large;
}

static struct json *
walk(struct growing *g, const struct json *value)
{
    struct json *copy;

    if (json_count(value) > 0 && !g->is_done && g->left-- == 0)
        return grown(g, value);
    copy = json_copy(g->arena, value);
    for (uint32_t i = 0; i < json_count(copy) && !g->is_done; i++)
        if (copy->type == JSON_ARRAY)
            copy->items[i] = walk(g, copy->items[i]);
        else
            copy->members[i].value = walk(g, copy->members[i].value);
    return copy;
}

struct json *
growth_of(struct arena *arena, const struct json *tree, unsigned which, unsigned n, bool differs)
{
    struct growing g = {
        .arena = arena,
        .left = which,
        .n = n,
        .differs = differs,
    };
    struct json *result = walk(&g, tree);

    return g.is_done ? result : NULL;
}

/* --- measuring ------------------------------------------------------------ */

static uint64_t
cpu_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void
validate(struct arena *arena, const struct kind *kind, struct json *tree, const struct json *old)
{
    struct causes causes;

    if (kind->set_defaults != NULL)
        kind->set_defaults(arena, tree);
    if (kind->prepare != NULL)
        kind->prepare(arena, tree, old);
    causes_init(&causes, arena);
    if (kind->validate != NULL)
        kind->validate(&causes, tree, old);
    causes_init(&causes, arena);
    if (kind->warn != NULL)
        kind->warn(&causes, tree, old);
}

static void
change(struct arena *arena, const struct kind *kind, const struct json *tree)
{
    static const struct field_manager applier = {"cost", "", true};
    static const struct field_manager writer = {"other", "", false};
    struct json *patched = json_dup(arena, tree), *noted;
    struct manager_conflicts conflicts;

    (void)strategic_merge(arena, kind->record, patched, tree, NULL);
    patched = json_merge(arena, patched, tree);
    (void)json_merge_diff(arena, tree, patched);
    if (record_normalize(kind->record, arena, patched, NULL, NULL) < 0)
        return;
    validate(arena, kind, patched, tree);
    noted = json_dup(arena, tree);
    managed_fields_note(arena, kind, NULL, noted, &writer, true, NOW_US);
    (void)managed_fields_apply(arena, kind, noted, tree, &applier, true, NOW_US, &conflicts);
}

struct growth_cost
growth_measure(const struct kind *kind, const struct json *large)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct record_notes notes;
    struct json *tree;
    uint64_t start;

    json_print(large, &text);
    start = cpu_us();
    tree = json_parse(arena, text.text, text.length, NULL, NULL);
    if (json_is(tree, JSON_OBJECT)
        && record_normalize(kind->record, arena, tree, &notes, NULL) == 0) {
        validate(arena, kind, tree, NULL);
        change(arena, kind, tree);
        if (record_normalize(kind->record, arena, tree, NULL, NULL) == 0)
            object_unref(object_new(kind, tree));
    }
    return (struct growth_cost){cpu_us() - start, arena_bytes(arena)};
}

static bool
is_steep(const struct kind *kind, const struct json *tree, unsigned which, unsigned n, bool differs)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *once = growth_of(arena, tree, which, n, differs);
    struct json *twice = growth_of(arena, tree, which, n * 2, differs);
    struct growth_cost a, b;

    if (once == NULL)
        return false;
    a = growth_measure(kind, once);
    b = growth_measure(kind, twice);
    return 2 * b.cpu_us > 5 * a.cpu_us + 2 * NOISE_US || b.bytes > 3 * a.bytes + (1u << 20);
}

/* Keeps freed memory in the process: page faults cost a virtual machine more
 * than what is measured.
 */
static void
keep_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, 1 << 25);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
}

bool
growth_is_steep(const struct kind *kind, const struct json *tree, unsigned which, unsigned n,
                bool differs)
{
    keep_memory();
    for (int i = 0; i < ATTEMPTS; i++)
        if (!is_steep(kind, tree, which, n, differs))
            return false;
    return true;
}
