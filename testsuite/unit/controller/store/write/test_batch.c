/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/write/batch.h"

#include <check.h>
#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/error.h"
#include "testsuite/lib/suite.h"

static char called[16];

static void
note(int outcome, void *context)
{
    (void)outcome;
    strcat(called, context);
}

static void
add(struct batch *b, const char *name)
{
    struct engine_op op = {
        .verb = ENGINE_PUT_SECRET,
        .name = batch_copy(b, name, strlen(name)),
    };

    batch_add(b, &op, NULL);
}

START_TEST(changes_of_a_batch_come_behind_in_their_order)
{
    struct batch *b = batch_new();
    struct batch *other = batch_new();
    static char one[] = "1", two[] = "2", three[] = "3";
    char names[8] = "";
    const struct engine_op *ops;
    size_t n;

    ck_assert(batch_is_empty(b));
    add(b, "a");
    batch_wait(b, note, one);
    add(other, "b");
    add(other, "c");
    batch_wait(other, note, two);
    batch_wait(other, NULL, NULL);
    batch_wait(other, note, three);
    batch_append(b, other);

    ops = batch_ops(b, &n);
    ck_assert_uint_eq(n, 3);
    for (size_t i = 0; i < n; i++)
        strcat(names, ops[i].name);
    ck_assert_str_eq(names, "abc");

    called[0] = '\0';
    batch_run_waiters(b, 0);
    batch_run_waiters(b, 0); /* each once */
    ck_assert_str_eq(called, "123");
    batch_free(b);
}
END_TEST

START_TEST(a_batch_keeps_the_objects_that_it_points_into)
{
    static const char text[] = "{\"kind\":\"Namespace\",\"metadata\":{\"name\":"
                               "\"a\",\"resourceVersion\":\"1\"}}";
    struct batch *b = batch_new();
    struct batch *other = batch_new();
    const struct object *object = NULL;
    struct engine_op op = {.verb = ENGINE_INSERT};
    const struct engine_op *ops;
    size_t n;

    ck_assert_int_eq(object_parse(&namespace_kind, text, strlen(text), &object, NULL), 0);
    op.bytes = batch_text(other, object);
    batch_add(other, &op, object);
    batch_append(b, other);
    object_unref(object);

    ops = batch_ops(b, &n);
    ck_assert_ptr_nonnull(strstr(ops[0].bytes, "\"name\":\"a\""));
    batch_free(b);
}
END_TEST

START_TEST(a_batch_that_somebody_waits_for_is_not_empty)
{
    struct batch *b = batch_new();

    batch_wait(b, NULL, NULL);
    ck_assert(!batch_is_empty(b));
    batch_free(b);
}
END_TEST

SUITE("batch", changes_of_a_batch_come_behind_in_their_order,
      a_batch_keeps_the_objects_that_it_points_into, a_batch_that_somebody_waits_for_is_not_empty)
