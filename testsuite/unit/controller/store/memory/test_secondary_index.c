/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/memory/secondary_index.h"

#include <check.h>
#include <stdio.h>

#include "controller/store/memory/object_index.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/random.h"
#include "testsuite/lib/suite.h"

#define ENTRIES 60
#define VALUES  40
#define ROUNDS  20000

/* An object's index in the array is its value; 0: no value. */
static struct object objects[VALUES];

static const char *
value_of(const struct object *object, char buffer[64])
{
    if (object == objects)
        return NULL;
    snprintf(buffer, 64, "v%d", (int)(object - objects));
    return buffer;
}

static const struct kind_index index_of_values = {NULL, value_of};

struct object_count {
    const struct object *object;
    unsigned count;
};

static bool
count_one(const struct object *object, void *context)
{
    struct object_count *found = context;

    ck_assert_ptr_eq(object, found->object);
    found->count++;
    return true;
}

static unsigned
count(const struct secondary_index *l, enum store_head head, unsigned value)
{
    struct object_count found = {&objects[value], 0};
    char text[16];

    snprintf(text, sizeof(text), "v%u", value);
    secondary_index_visit(l, head, text, count_one, &found);
    return found.count;
}

static void
set(struct secondary_index *l, struct entry *entry, enum store_head head,
    const struct object *object)
{
    secondary_index_set(l, entry, head, object);
    entry->heads[head] = object;
}

START_TEST(each_value_has_exactly_the_entries_whose_head_has_it)
{
    struct random_source random = {11};
    struct secondary_index *l = secondary_index_new(&index_of_values, 0);
    struct object_index *keys = object_index_new(&pod_kind, 1);
    struct entry *entries[ENTRIES];
    unsigned expected[ENTRY_HEADS][VALUES] = {0};

    for (unsigned i = 0; i < ENTRIES; i++) {
        char name[8];

        snprintf(name, sizeof(name), "%u", i);
        entries[i] = object_index_add(keys, "a", name);
    }
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct entry *entry = entries[random_below(&random, ENTRIES)];
        enum store_head head = (enum store_head)random_below(&random, 2);
        uint64_t value = random_below(&random, VALUES + 5);
        const struct object *old = entry->heads[head];

        if (old != NULL)
            expected[head][old - objects]--;
        if (value < VALUES)
            expected[head][value]++;
        set(l, entry, head, value < VALUES ? &objects[value] : NULL);
    }

    for (unsigned value = 1; value < VALUES; value++) {
        ck_assert_uint_eq(count(l, STORE_PENDING, value), expected[STORE_PENDING][value]);
        ck_assert_uint_eq(count(l, STORE_PUBLISHED, value), expected[STORE_PUBLISHED][value]);
    }
    ck_assert_uint_eq(count(l, STORE_PENDING, 0), 0);
    secondary_index_free(l);
    object_index_free(keys);
}
END_TEST

static bool
stop_at_once(const struct object *object, void *context)
{
    (void)object;
    ++*(unsigned *)context;
    return false;
}

START_TEST(a_visitor_can_stop)
{
    struct secondary_index *l = secondary_index_new(&index_of_values, 0);
    struct object_index *keys = object_index_new(&pod_kind, 1);
    unsigned n = 0;

    set(l, object_index_add(keys, "a", "x"), STORE_PUBLISHED, &objects[3]);
    set(l, object_index_add(keys, "a", "y"), STORE_PUBLISHED, &objects[3]);

    secondary_index_visit(l, STORE_PUBLISHED, "v3", stop_at_once, &n);

    ck_assert_uint_eq(n, 1);
    secondary_index_free(l);
    object_index_free(keys);
}
END_TEST

SUITE("secondary index", each_value_has_exactly_the_entries_whose_head_has_it, a_visitor_can_stop)
