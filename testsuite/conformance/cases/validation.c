/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of validation errors, and of the resulting object when there are none:
 * the pure functions of lib/api in the API server's order (normalize, default,
 * validate).
 */
#include <stdio.h>
#include <string.h>

#include "lib/api/object/causes.h"
#include "lib/api/object/kind.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "testsuite/conformance/cases/cases.h"
#include "testsuite/lib/difference.h"

static const struct kind *
kind_of(const struct json *object)
{
    const char *api_version = json_get_text(object, "apiVersion");
    const char *name = json_get_text(object, "kind");

    return api_version != NULL && name != NULL ? kind_find_by_name(api_version, name) : NULL;
}

static void
compare_causes(struct trial *t, const struct json *is, const struct json *wanted)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (find_other_causes(is, wanted, &text))
        mismatch(t, "%s", text.text);
}

static void
compare_trees(struct trial *t, const struct json *is, const struct json *wanted)
{
    CLEANUP_STRBUF struct strbuf path = STRBUF_INIT;

    if (find_difference(is, wanted, &path))
        mismatch(t, "%s", path.text);
}

/* These vectors omit empty values: status {}, resources {}, null. */
static void
drop_empty(struct json *value)
{
    if (json_is(value, JSON_ARRAY))
        for (uint32_t i = 0; i < value->count; i++)
            drop_empty(value->items[i]);
    if (!json_is(value, JSON_OBJECT))
        return;
    for (uint32_t i = value->count; i-- > 0;) {
        struct json_member *m = &value->members[i];
        bool was_empty = json_is(m->value, JSON_OBJECT) && m->value->count == 0;

        drop_empty(m->value);
        if (m->value->type == JSON_NULL
            || (json_is(m->value, JSON_OBJECT) && m->value->count == 0
                && (!was_empty || strcmp(m->name, "status") == 0
                    || strcmp(m->name, "resources") == 0 || strcmp(m->name, "spec") == 0)))
            json_remove(value, m->name);
    }
}

/* Upstream's function checks only the spec of budgets. */
static bool
is_looked_at(const struct kind *kind, const struct cause *cause)
{
    return kind != &pod_disruption_budget_kind || strncmp(cause->field, "metadata", 8) != 0;
}

static void
keep_causes(const struct kind *kind, struct causes *c)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < c->count; i++)
        if (is_looked_at(kind, &c->items[i]))
            c->items[kept++] = c->items[i];
    c->count = kept;
}

static void
want_defaults(struct trial *t, struct json *object)
{
    struct json *wanted = json_dup(t->arena, json_get(t->expect, "defaulted"));

    json_remove(json_get(object, "status"), "daemonEndpoints");
    json_remove(json_get(object, "status"), "nodeInfo");
    drop_empty(object);
    drop_empty(wanted);
    compare_trees(t, object, wanted);
}

static void
run_rules(struct trial *t, const struct kind *kind, struct json *object, struct json *old)
{
    struct causes c;

    if (kind->set_defaults != NULL) {
        kind->set_defaults(t->arena, object);
        if (old != NULL)
            kind->set_defaults(t->arena, old);
    }
    causes_init(&c, t->arena);
    if (kind->validate != NULL)
        kind->validate(&c, object, old);
    keep_causes(kind, &c);
    compare_causes(t, causes_tree(t->arena, &c), json_get(t->expect, "errors"));
    if (json_get(t->expect, "defaulted") != NULL)
        want_defaults(t, object);
}

void
validation_case(struct trial *t)
{
    struct json *object = json_dup(t->arena, json_get(t->line, "object"));
    struct json *old = json_get(t->line, "old");
    bool is_unreadable = json_get(t->expect, "decodeError") != NULL;
    const struct kind *kind = kind_of(object);
    struct record_notes notes;
    struct error err = {0};
    int r;

    if (kind == NULL) {
        if (!is_unreadable)
            trial_skip(t, "no such kind");
        return;
    }
    r = record_normalize(kind->record, t->arena, object, &notes, &err);
    if (r == 0 && old != NULL)
        r = record_normalize(kind->record, t->arena, old, NULL, &err);
    if (is_unreadable != (r < 0))
        mismatch(t, "%s", r < 0 ? err.text : "should not be readable");
    else if (r == 0)
        run_rules(t, kind, object, old);
}
