/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/object/kind.h"

#include <check.h>
#include <string.h>

#include "lib/api/object/meta.h"
#include "lib/api/object/rights.h"
#include "testsuite/lib/suite.h"

START_TEST(a_kind_is_found_by_path_and_by_name)
{
    ck_assert_ptr_eq(kind_find("", "v1", "pods"), &pod_kind);
    ck_assert_ptr_eq(kind_find("batch", "v1", "jobs"), &job_kind);
    ck_assert_ptr_null(kind_find("batch", "v1", "pods"));
    ck_assert_ptr_null(kind_find("", "v2", "pods"));
    ck_assert_ptr_null(kind_find("", "v1", ""));
    ck_assert_ptr_eq(kind_find_by_name("v1", "Node"), &node_kind);
    ck_assert_ptr_eq(kind_find_by_name("batch/v1", "Job"), &job_kind);
    ck_assert_ptr_null(kind_find_by_name("v1", "Job"));
}
END_TEST

START_TEST(people_may_call_a_kind_many_names)
{
    static const struct {
        const char *name;
        const struct kind *kind;
    } cases[] = {
        {"po", &pod_kind},
        {"PODS", &pod_kind},
        {"Pod", &pod_kind},
        {"jobs.batch", &job_kind},
        {"jobs.v1.batch", &job_kind},
        {"jobs.apps", NULL},
        {"no", &node_kind},
        {"n", NULL},
        {"", NULL},
        {".batch", NULL},
        {"leases.coordination.k8s.io", &lease_kind},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        ck_assert_msg(kind_find_any_name(cases[i].name) == cases[i].kind, "%s", cases[i].name);
}
END_TEST

/* Rows of tables refer to records, members and keys: checks that they agree. */
static void
check_record(const struct record *record, unsigned depth)
{
    ck_assert_uint_le(record->n_fields, RECORD_MAX_FIELDS);
    ck_assert_uint_lt(depth, 32);
    for (unsigned i = 0; i < record->n_fields; i++) {
        const struct field *f = &record->fields[i];

        ck_assert_ptr_eq(record_find(record, f->name), f);
        if (f->offset != FIELD_UNBOUND)
            ck_assert_msg(record->size > f->offset, "%s.%s", record->name, f->name);
        ck_assert_msg((f->of != NULL) == (f->type == FIELD_OBJECT || f->element == FIELD_OBJECT),
                      "%s.%s", record->name, f->name);
        if (f->merge_keys != NULL && strchr(f->merge_keys, ',') == NULL)
            ck_assert_ptr_nonnull(record_find(f->of, f->merge_keys));
        if (f->of != NULL)
            check_record(f->of, depth + 1);
    }
}

START_TEST(every_table_is_sound)
{
    for (unsigned i = 0; i < n_kinds; i++) {
        const struct field *meta = record_find(kinds[i]->record, "metadata");

        ck_assert_ptr_nonnull(meta);
        ck_assert_ptr_eq(meta->of, &meta_record);
        ck_assert_uint_eq(meta->offset, 0);
        check_record(kinds[i]->record, 0);
    }
}
END_TEST

static bool
is_selectable(const struct kind *kind, const char *path)
{
    bool found = strcmp(path, "metadata.name") == 0;

    for (unsigned i = 0; i < kind->n_selectable; i++)
        found = found || strcmp(kind->selectable[i].path, path) == 0;
    return found;
}

/* An index of a path that no field selector may name would never be used,
 * without any error; and for a kind with two names, the second list has the
 * indexes of the store.
 */
START_TEST(indexes_are_of_fields_that_may_be_selected)
{
    for (unsigned i = 0; i < n_kinds; i++) {
        const struct kind *kind = kinds[i];

        ck_assert_uint_eq(kind->n_indexes, kind_stored(kind)->n_indexes);
        for (unsigned j = 0; j < kind->n_indexes; j++) {
            const struct kind_index *index = &kind->indexes[j];

            ck_assert_msg(index->value == kind_stored(kind)->indexes[j].value, "%s: %u", kind->name,
                          j);
            ck_assert_msg(index->path == NULL || is_selectable(kind, index->path), "%s: %s",
                          kind->name, index->path);
        }
    }
}
END_TEST

static bool
has_subresource(const struct kind *kind, enum subresource subresource)
{
    bool found = subresource == SUBRESOURCE_NONE
                 || (subresource == SUBRESOURCE_STATUS && kind->flags & KIND_HAS_STATUS);

    for (unsigned i = 0; i < kind->n_subresources; i++)
        found = found || kind->subresources[i].subresource == subresource;
    return found;
}

START_TEST(rights_are_of_subresources_that_the_kind_has)
{
    for (unsigned i = 0; i < n_kinds; i++)
        for (unsigned j = 0; j < kinds[i]->n_rights; j++)
            ck_assert_msg(has_subresource(kinds[i], kinds[i]->rights[j].subresource),
                          "%s: right %u", kinds[i]->name, j);
}
END_TEST

SUITE("registry", a_kind_is_found_by_path_and_by_name, people_may_call_a_kind_many_names,
      every_table_is_sound, indexes_are_of_fields_that_may_be_selected,
      rights_are_of_subresources_that_the_kind_has)
