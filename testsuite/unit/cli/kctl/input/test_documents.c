/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/input/documents.h"

#include <check.h>
#include <errno.h>
#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/macro.h"
#include "lib/program/option.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"

static int
read_text(struct arena *arena, const char *text, const char *namespace,
          struct documents *ret_documents, struct error *err)
{
    CLEANUP(scratch_freep) char *directory = scratch_new();
    CLEANUP_FREE char *path = xasprintf("%s/a.yaml", directory);
    const char *paths[] = {path};
    const struct option_texts files = {.items = paths, .count = 1};
    struct kctl kctl = {.namespace = namespace};

    ck_assert_int_eq(file_write_atomic(path, 0600, text, strlen(text), NULL), 0);
    return documents_read(&kctl, &files, arena, ret_documents, err);
}

START_TEST(documents_and_the_items_of_lists_are_objects)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct documents d;

    ck_assert_int_eq(read_text(arena,
                               "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n"
                               "---\n---\n"
                               "apiVersion: v1\nkind: List\nitems:\n"
                               "- {apiVersion: v1, kind: Pod, metadata: {name: p}}\n"
                               "- {apiVersion: batch/v1, kind: Job,"
                               " metadata: {generateName: j-, namespace: ns}}\n",
                               NULL, &d, NULL),
                     0);

    ck_assert_uint_eq(d.count, 3);
    ck_assert_ptr_eq(d.items[0].target.kind, &namespace_kind);
    ck_assert_ptr_null(d.items[0].target.namespace);
    ck_assert_ptr_eq(d.items[1].target.kind, &pod_kind);
    ck_assert_str_eq(d.items[1].target.namespace, "default");
    ck_assert_str_eq(d.items[1].target.name, "p");
    ck_assert_str_eq(d.items[2].target.namespace, "ns");
    ck_assert_ptr_null(d.items[2].target.name);
}
END_TEST

START_TEST(the_namespace_of_the_command_line_counts_for_those_without)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct documents d;

    ck_assert_int_eq(
        read_text(arena, "{apiVersion: v1, kind: Pod, metadata: {name: p}}", "physics", &d, NULL),
        0);

    ck_assert_str_eq(d.items[0].target.namespace, "physics");
}
END_TEST

START_TEST(a_document_that_is_no_object_is_refused_with_its_place)
{
    static const struct {
        const char *text;
        const char *words;
    } cases[] = {
        {"", "no objects"},
        {"a: [", "a.yaml"},
        {"[1]", "not an object"},
        {"kind: Pod\nmetadata: {name: a}\n", "apiVersion and kind"},
        {"apiVersion: v1\nkind: Pood\nmetadata: {name: a}\n", "did you mean 'Pod'?"},
        {"apiVersion: v2\nkind: Pod\nmetadata: {name: a}\n", "unknown kind 'Pod' of version 'v2'"},
        {"apiVersion: v1\nkind: Pod\n", "metadata.name"},
        {"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\n7\n", "document 2"},
        {"apiVersion: v1\nkind: PodList\nitems: [{}]\n", "item 1"},
        {"apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: b}\n", "-n gives 'other'"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        struct error err = {0};
        struct documents d;

        ck_assert_int_lt(read_text(arena, cases[i].text, "other", &d, &err), 0);
        ck_assert_msg(strstr(err.text, cases[i].words) != NULL, "case %zu: %s", i, err.text);
    }
}
END_TEST

SUITE("documents", documents_and_the_items_of_lists_are_objects,
      the_namespace_of_the_command_line_counts_for_those_without,
      a_document_that_is_no_object_is_refused_with_its_place)
