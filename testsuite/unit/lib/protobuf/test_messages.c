/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/protobuf/messages.h"

#include "lib/api/node/binding.h"
#include "lib/api/object/delete_options.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/pod/pod.h"
#include "lib/api/policy/pod_disruption_budget.h"
#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"

/* Kiln's own fields, or fields without a wire form: only the server sends
 * UserInfo.extra.
 */
static bool
is_elsewhere(const struct field *f)
{
    return (f->flags & FIELD_KILN) != 0 || strcmp(f->name, "kind") == 0
           || strcmp(f->name, "apiVersion") == 0 || strcmp(f->name, "extra") == 0;
}

/* Whether a field of that name exists, also in inlined messages. */
static bool
has(const char *message, const char *name)
{
    struct message_field f;

    for (uint32_t number = 1; number < 100; number++) {
        if (!message_find_field(message, number, &f))
            continue;
        if (f.inlined != NULL ? has(f.inlined, name)
                              : strlen(name) == f.length && memcmp(f.name, name, f.length) == 0)
            return true;
    }
    return false;
}

static void
check_record(const struct record *record, unsigned depth)
{
    ck_assert_msg(record->message != NULL, "%s is no message", record->name);
    ck_assert_uint_lt(depth, 20);
    for (unsigned i = 0; i < record->n_fields; i++) {
        const struct field *f = &record->fields[i];

        if (is_elsewhere(f))
            continue;
        ck_assert_msg(has(record->message, f->name), "%s has no number for '%s'", record->name,
                      f->name);
        if (f->of != NULL)
            check_record(f->of, depth + 1);
    }
}

START_TEST(every_field_of_every_kind_has_a_number)
{
    for (unsigned i = 0; i < n_kinds; i++)
        if (strcmp(kinds[i]->group, "kiln.hpc") != 0)
            check_record(kinds[i]->record, 0);
    for (unsigned i = 0; i < n_answered_kinds; i++)
        check_record(answered_kinds[i]->record, 0);
    check_record(&binding_record, 0);
    check_record(&delete_options_record, 0);
    check_record(&eviction_record, 0);
}
END_TEST

#define META meta_record.message

START_TEST(a_number_is_one_field)
{
    const struct {
        const char *message;
        uint32_t number;
        const char *field;
    } cases[] = {
        {META, 1, "name"},
        {META, 8, "creationTimestamp"},
        {META, 11, "labels"},
        {META, 17, "managedFields"}, /* with a gap before it */
        {pod_spec_record.message, 10, "nodeName"},
        {pod_spec_record.message, 22, "tolerations"},
        {"a (b (c d) e) f 9 g", 1, "a"},
        {"a (b (c d) e) f 9 g", 3, "f"},
        {"a (b (c d) e) f 9 g", 9, "g"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct message_field f;

        ck_assert(message_find_field(cases[i].message, cases[i].number, &f));
        ck_assert_uint_eq(f.length, strlen(cases[i].field));
        ck_assert_int_eq(memcmp(f.name, cases[i].field, f.length), 0);
        ck_assert_ptr_null(f.inlined);
    }
}
END_TEST

START_TEST(a_number_of_no_field_is_not_found)
{
    struct message_field f;

    ck_assert(!message_find_field(META, 0, &f));
    /* clusterName, removed long ago */
    ck_assert(!message_find_field(META, 15, &f));
    ck_assert(!message_find_field(META, 4000, &f));
    ck_assert(!message_find_field("", 1, &f));
}
END_TEST

START_TEST(an_inlined_message_has_numbers_of_its_own)
{
    struct message_field f, inside;

    ck_assert(message_find_field("a (b (c d) e) f", 2, &f));
    ck_assert_ptr_nonnull(f.inlined);
    ck_assert(message_find_field(f.inlined, 3, &inside));
    ck_assert_int_eq(inside.name[0], 'e');
    ck_assert(!message_find_field(f.inlined, 4, &inside));
    ck_assert(message_find_field(f.inlined, 2, &inside));
    ck_assert(message_find_field(inside.inlined, 2, &f));
    ck_assert_int_eq(f.name[0], 'd');
    ck_assert(!message_find_field(inside.inlined, 3, &f));
}
END_TEST

SUITE("messages", every_field_of_every_kind_has_a_number, a_number_is_one_field,
      a_number_of_no_field_is_not_found, an_inlined_message_has_numbers_of_its_own)
