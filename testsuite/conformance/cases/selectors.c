/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of selectors, tolerations and names as upstream reads them. The first
 * lines of a file hold the sets that later lines select from.
 */
#include "lib/api/object/field_query.h"
#include "lib/api/value/selector.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/node/node.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/pod/pod_records.h"
#include "lib/api/value/name.h"
#include "lib/api/value/rows.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/json/json.h"
#include "testsuite/conformance/cases/cases.h"

/* Tables for the two kinds of lists that are no API objects. */
struct label_set {
    struct string_map labels;
};

#define MAX_SETS 256

static struct arena *kept;
static struct label_set label_sets[MAX_SETS];
static unsigned n_label_sets;
static const struct object *field_sets[MAX_SETS];
static unsigned n_field_sets;
static const struct object *nodes[MAX_SETS];
static unsigned n_nodes;
static struct node tainted; /* its taints are the list */

static const struct field label_set_fields[] = {
    MAP(STRING, "labels", label_set, labels, 0),
};
static RECORD(label_set, label_set, "LabelSet");

static void
keep_label_sets(struct arena *arena, const struct json *sets)
{
    for (uint32_t i = 0; i < json_count(sets) && i < MAX_SETS; i++) {
        struct json *object = json_object(arena);

        json_set(arena, object, "labels", json_at(sets, i));
        record_decode(&label_set_record, kept, object, &label_sets[i]);
    }
    n_label_sets = json_count(sets) < MAX_SETS ? json_count(sets) : MAX_SETS;
}

static const struct object *
make_object(const struct kind *kind, struct arena *arena, struct json *tree)
{
    struct error err = {0};

    if (record_normalize(kind->record, arena, tree, NULL, &err) < 0) {
        printf("Bail out! %s\n", err.text);
        exit(EXIT_FAILURE);
    }
    return object_new(kind, tree);
}

static void
drop_objects(const struct object **objects, unsigned *count)
{
    for (unsigned i = 0; i < *count; i++)
        object_unref(objects[i]);
    *count = 0;
}

/* Each field is placed at its path in a pod. */
static void
keep_field_sets(struct arena *arena, const struct json *sets)
{
    drop_objects(field_sets, &n_field_sets);
    for (uint32_t i = 0; i < json_count(sets) && i < MAX_SETS; i++) {
        const struct json *set = json_at(sets, i);
        struct json *pod = json_object(arena);

        for (uint32_t j = 0; j < set->count; j++) {
            const char *path = set->members[j].name;
            const char *dot = strchr(path, '.');
            char *part = arena_strndup(arena, path, (size_t)(dot - path));

            json_set(arena, json_make_object(arena, pod, part), dot + 1, set->members[j].value);
        }
        field_sets[n_field_sets++] = make_object(&pod_kind, arena, pod);
    }
}

static void
keep_nodes(struct arena *arena, const struct json *list)
{
    drop_objects(nodes, &n_nodes);
    for (uint32_t i = 0; i < json_count(list) && i < MAX_SETS; i++)
        nodes[n_nodes++] = make_object(&node_kind, arena, json_at(list, i));
}

static void
keep_taints(struct arena *arena, struct json *taints)
{
    struct json *node = json_object(arena);

    json_set(arena, json_make_object(arena, node, "spec"), "taints", taints);
    record_decode(&node_record, kept, node, &tainted);
}

static bool
is_listed(const struct json *list, unsigned index)
{
    int64_t n;

    for (uint32_t i = 0; i < json_count(list); i++)
        if (json_to_int(json_at(list, i), &n) == 0 && n == index)
            return true;
    return false;
}

static bool
is_named(const struct json *list, const char *name)
{
    for (uint32_t i = 0; i < json_count(list); i++)
        if (strcmp(json_text(json_at(list, i)), name) == 0)
            return true;
    return false;
}

/* Checks that exactly the listed sets match. */
static void
want_matches(struct trial *t, const char *text, const struct label_query *query)
{
    for (unsigned i = 0; i < n_label_sets; i++)
        if (label_query_matches(query, &label_sets[i].labels)
            != is_listed(json_get(t->expect, "matches"), i)) {
            mismatch(t, "'%s': set %u", text, i);
            return;
        }
}

/* Upstream's canonical form must select the same sets. A selector that matches
 * nothing has the canonical form of one that matches everything.
 */
static void
check_canonical(struct trial *t)
{
    const char *canonical = json_get_text(t->expect, "canonical");
    struct label_query *query;
    struct error err = {0};

    if (canonical == NULL || json_is(json_get(t->line, "selector"), JSON_NULL))
        return;
    if (label_query_parse(t->arena, canonical, &query, &err) < 0)
        mismatch(t, "'%s': %s", canonical, err.text);
    else
        want_matches(t, canonical, query);
}

static void
check_label_query(struct trial *t)
{
    const struct json *expect = t->expect;
    const char *in = json_get_text(t->line, "in");
    const char *wanted = json_get_text(expect, "error");
    struct label_query *query;
    struct error err = {0};
    int r = label_query_parse(t->arena, in, &query, &err);

    if ((r < 0) != (wanted != NULL)) {
        mismatch(t, "'%s': %s", in, err.text);
        return;
    }
    if (r < 0) {
        /* Upstream's message contains Go's notation of lists. */
        if (strstr(wanted, "[]string") == NULL)
            want_text(t, in, wanted, err.text);
        return;
    }
    want_matches(t, in, query);
    check_canonical(t);
}

/* Pods have no field "absent"; Kiln refuses it as upstream's server does. */
static void
check_field_query(struct trial *t)
{
    const struct json *expect = t->expect;
    const char *in = json_get_text(t->line, "in");
    const char *wanted = json_get_text(expect, "error");
    struct field_query *query;
    struct error err = {0};
    int r = field_query_parse(t->arena, &pod_kind, in, &query, &err);

    if (r < 0) {
        if (strncmp(err.text, "field label not supported", 25) != 0)
            want_text(t, in, wanted, err.text);
        return;
    }
    for (unsigned i = 0; i < n_field_sets; i++)
        if (wanted != NULL
            || field_query_matches(query, field_sets[i])
                   != is_listed(json_get(expect, "matches"), i)) {
            mismatch(t, "'%s': set %u", in, i);
            return;
        }
}

static void
check_label_selector(struct trial *t)
{
    const struct json *expect = t->expect;
    const struct json *tree = json_get(t->line, "selector");
    struct label_selector selector = {0};

    if (json_is(tree, JSON_OBJECT))
        record_decode(&label_selector_record, t->arena, tree, &selector);
    for (unsigned i = 0; i < n_label_sets; i++)
        if (label_selector_matches(json_is(tree, JSON_OBJECT) ? &selector : NULL,
                                   &label_sets[i].labels)
            != is_listed(json_get(expect, "matches"), i)) {
            mismatch(t, "set %u", i);
            return;
        }
    check_canonical(t);
}

static void
check_node_selector(struct trial *t)
{
    const struct json *expect = t->expect;
    struct node_selector selector = {0};

    record_decode(&node_selector_record, t->arena, json_get(t->line, "selector"), &selector);
    for (unsigned i = 0; i < n_nodes; i++)
        if (node_selector_matches(&selector, &nodes[i]->meta->labels, nodes[i]->meta->name)
            != is_named(json_get(expect, "matches"), nodes[i]->meta->name)) {
            mismatch(t, "node %s", nodes[i]->meta->name);
            return;
        }
}

static void
check_toleration(struct trial *t)
{
    const struct json *expect = t->expect;
    struct toleration toleration = {0};

    record_decode(&toleration_record, t->arena, json_get(t->line, "toleration"), &toleration);
    for (unsigned i = 0; i < tainted.spec.taints.count; i++)
        if (toleration_tolerates(&toleration, &tainted.spec.taints.items[i])
            != is_listed(json_get(expect, "tolerates"), i)) {
            mismatch(t, "taint %u", i);
            return;
        }
}

static void
check_name(struct trial *t)
{
    static const struct {
        const char *name;
        enum name_form form;
    } forms[] = {
        {"dns1123Label", NAME_DNS_LABEL},
        {"dns1123Subdomain", NAME_DNS_SUBDOMAIN},
        {"labelValue", NAME_LABEL_VALUE},
        {"qualifiedName", NAME_QUALIFIED},
    };
    const struct json *expect = t->expect;
    const char *in = json_get_text(t->line, "in");

    for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
        if (name_is_valid(forms[i].form, in) != json_is_true(json_get(expect, forms[i].name))) {
            mismatch(t, "'%s' as %s", in, forms[i].name);
            return;
        }
}

/* Keeps a list that later lines select from. False if the line is none. */
static bool
keep_list(const char *kind, struct trial *t)
{
    if (strcmp(kind, "labelSets") == 0)
        keep_label_sets(t->arena, json_get(t->line, "sets"));
    else if (strcmp(kind, "fieldSets") == 0)
        keep_field_sets(t->arena, json_get(t->line, "sets"));
    else if (strcmp(kind, "nodes") == 0)
        keep_nodes(t->arena, json_get(t->line, "nodes"));
    else if (strcmp(kind, "taints") == 0)
        keep_taints(t->arena, json_get(t->line, "taints"));
    else
        return false;
    return true;
}

void
selectors_case(struct trial *t)
{
    static const struct {
        const char *kind;
        case_fn *check;
    } checks[] = {
        {"labelSelectorString", check_label_query}, {"fieldSelectorString", check_field_query},
        {"labelSelector", check_label_selector},    {"nodeSelector", check_node_selector},
        {"toleration", check_toleration},           {"name", check_name},
    };
    const char *kind = json_get_text(t->line, "kind");

    if (kept == NULL)
        kept = arena_new(0);
    if (keep_list(kind, t))
        return;
    for (size_t i = 0; i < ARRAY_SIZE(checks); i++)
        if (strcmp(kind, checks[i].kind) == 0) {
            checks[i].check(t);
            return;
        }
    trial_skip(t, "no runner for selectors of this kind");
}

void
selectors_end(void)
{
    drop_objects(field_sets, &n_field_sets);
    drop_objects(nodes, &n_nodes);
    arena_free(kept);
    kept = NULL;
}
