/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/protobuf/messages.h"

#include "lib/api/node/binding.h"
#include "lib/api/object/delete_options.h"
#include "lib/api/object/kind.h"
#include "lib/api/policy/pod_disruption_budget.h"
#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"

/* Ours alone, or of no form on the wire: UserInfo.extra is only ever said by
 * the server.
 */
static bool
is_elsewhere(const struct field *f)
{
    return (f->flags & FIELD_KILN) != 0 || strcmp(f->name, "kind") == 0
           || strcmp(f->name, "apiVersion") == 0
           || strcmp(f->name, "extra") == 0;
}

static void
check_record(const struct record *record, unsigned depth)
{
    const struct message *message = message_find(record->name);

    ck_assert_msg(message != NULL, "%s is no message", record->name);
    ck_assert_uint_lt(depth, 20);
    for (unsigned i = 0; i < record->n_fields; i++) {
        const struct field *f = &record->fields[i];

        if (is_elsewhere(f))
            continue;
        ck_assert_msg(message_has(message, f->name),
                      "%s has no number for '%s'",
                      record->name,
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

START_TEST(a_number_is_one_field)
{
    static const struct {
        const char *message;
        uint32_t number;
        const char *field;
    } cases[] = {
        {"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", 1, "name"},
        {"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
         8,
         "creationTimesta"
         "mp"},
        {"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", 11, "labels"},
        {"io.k8s.api.core.v1.PodSpec", 10, "nodeName"},
        {"io.k8s.api.core.v1.PodSpec", 22, "tolerations"},
        {"io.k8s.api.batch.v1.JobSpec", 6, "template"},
        {"io.k8s.api.core.v1.Container", 21, "volumeDevices"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct message_field f;

        ck_assert(message_find_field(message_find(cases[i].message),
                                     cases[i].number,
                                     &f));
        ck_assert_uint_eq(f.length, strlen(cases[i].field));
        ck_assert_int_eq(memcmp(f.name, cases[i].field, f.length), 0);
        ck_assert_ptr_null(f.inlined);
    }
}
END_TEST

START_TEST(what_has_no_number_is_not_found)
{
    const struct message *m =
        message_find("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
    struct message_field f;

    ck_assert(!message_find_field(m, 0, &f));
    ck_assert(!message_find_field(m, 15, &f)); /* clusterName, long gone */
    ck_assert(!message_find_field(m, 4000, &f));
    ck_assert_ptr_null(message_find("io.k8s.api.core.v1.Nothing"));
}
END_TEST

START_TEST(what_is_inlined_names_its_message)
{
    struct message_field f;

    ck_assert(
        message_find_field(message_find("io.k8s.api.core.v1.Volume"), 2, &f));
    ck_assert_ptr_eq(f.inlined,
                     message_find("io.k8s.api.core.v1.VolumeSource"));
}
END_TEST

SUITE("messages",
      every_field_of_every_kind_has_a_number,
      a_number_is_one_field,
      what_has_no_number_is_not_found,
      what_is_inlined_names_its_message)
