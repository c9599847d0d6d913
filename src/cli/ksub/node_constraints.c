/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ksub/node_constraints.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "cli/ksub/submission.h"
#include "cli/values/hostlist.h"
#include "lib/api/object/meta.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/json/json.h"

#define LABEL_FEATURE "feature.kiln.hpc/"

/* Each alternative becomes a term of the affinity, with the requirements that
 * always hold added to it.
 */
struct wish {
    struct arena *arena;
    struct json *fields;       /* requirements on metadata.name */
    struct json *labels;       /* requirements on labels */
    struct json *alternatives; /* requirements, one of which must hold */
};

static struct json *
requirement(struct arena *arena, const char *key, const char *op)
{
    struct json *r = json_object(arena);

    json_set_string(arena, r, "key", key);
    json_set_string(arena, r, "operator", op);
    return r;
}

static struct json *
requirement_of_value(struct arena *arena, const char *key, const char *op, const char *value)
{
    struct json *r = requirement(arena, key, op);
    struct json *values = json_array(arena);

    json_append(arena, values, json_string(arena, value));
    json_set(arena, r, "values", values);
    return r;
}

/* -w */

static int
wish_nodes(struct wish *w, const char *list, struct error *err)
{
    const char **names = NULL;
    size_t count = 0;
    int r = hostlist_expand(w->arena, list, &names, &count, err);

    if (r < 0)
        return r;
    if (count > 1)
        return error_set(err, -EOPNOTSUPP,
                         "'%s' names %zu nodes, but a job has one node for "
                         "now; jobs on several nodes come in a later release",
                         list, count);
    json_append(w->arena, w->fields,
                requirement_of_value(w->arena, "metadata.name", "In", names[0]));
    return 0;
}

/* -x: one requirement for each name, because a field selector takes one value.
 */
static int
wish_without(struct wish *w, const char *list, struct error *err)
{
    const char **names = NULL;
    size_t count = 0;
    int r = hostlist_expand(w->arena, list, &names, &count, err);

    if (r < 0)
        return r;
    for (size_t i = 0; i < count; i++)
        json_append(w->arena, w->fields,
                    requirement_of_value(w->arena, "metadata.name", "NotIn", names[i]));
    return 0;
}

/* -C */

static bool
is_label_text(const char *text)
{
    if (*text == '\0')
        return false;
    for (; *text != '\0'; text++)
        if (!isalnum((unsigned char)*text) && strchr("-_./", *text) == NULL)
            return false;
    return true;
}

static int
refuse_constraint(const char *list, struct error *err)
{
    return error_set(err, -EINVAL,
                     "'%s' is not a list of features or "
                     "KEY=VALUE labels, all of which (a&b) or one of which "
                     "(a|b) a node must have",
                     list);
}

/* "avx512" or "zone=east" */
static struct json *
feature(struct arena *arena, char *text)
{
    char *equals = strchr(text, '=');

    if (equals == NULL) {
        if (!is_label_text(text) || strchr(text, '/') != NULL)
            return NULL;
        return requirement(arena, arena_printf(arena, LABEL_FEATURE "%s", text), "Exists");
    }
    *equals = '\0';
    if (!is_label_text(text) || !is_label_text(equals + 1))
        return NULL;
    return requirement_of_value(arena, text, "In", equals + 1);
}

static int
wish_features(struct wish *w, const char *list, struct error *err)
{
    const char separator = strchr(list, '|') != NULL ? '|' : '&';
    struct json *into = separator == '|' ? w->alternatives : w->labels;
    char *copy = arena_strdup(w->arena, list);

    if (separator == '|' && strchr(list, '&') != NULL)
        return error_set(err, -EOPNOTSUPP, "'%s' mixes & and |; use only one of them", list);
    for (char *item = copy; item != NULL;) {
        char *next = strchr(item, separator);
        struct json *one;

        if (next != NULL)
            *next++ = '\0';
        one = feature(w->arena, item);
        if (one == NULL)
            return refuse_constraint(list, err);
        json_append(w->arena, into, one);
        item = next;
    }
    return 0;
}

/* -p: only checked for valid names; the list itself is passed on unchanged. */
static int
check_partitions(const char *list, struct error *err)
{
    for (const char *at = list;; at++) {
        size_t n = strcspn(at, ",");

        if (n == 0)
            return error_set(err, -EINVAL, "a name is missing");
        for (size_t i = 0; i < n; i++)
            if (!isalnum((unsigned char)at[i]) && strchr("-_.", at[i]) == NULL)
                return error_set(err, -EINVAL, "'%.*s' is not a partition name", (int)n, at);
        at += n;
        if (*at == '\0')
            return 0;
    }
}

/* ---- The affinity ---- */

static struct json *
term(const struct wish *w, struct json *alternative)
{
    struct json *t = json_object(w->arena);
    struct json *labels = w->labels;

    if (alternative != NULL) {
        labels = json_dup(w->arena, labels);
        json_append(w->arena, labels, alternative);
    }
    if (json_count(labels) > 0)
        json_set(w->arena, t, "matchExpressions", labels);
    if (json_count(w->fields) > 0)
        json_set(w->arena, t, "matchFields", w->fields);
    return t;
}

static void
add_affinity(const struct wish *w, struct json *spec)
{
    struct json *terms = json_array(w->arena);
    struct json *at;

    for (uint32_t i = 0; i < json_count(w->alternatives); i++)
        json_append(w->arena, terms, term(w, json_at(w->alternatives, i)));
    if (json_count(terms) == 0)
        json_append(w->arena, terms, term(w, NULL));
    at = json_make_object(w->arena, spec, "affinity");
    at = json_make_object(w->arena, at, "nodeAffinity");
    at = json_make_object(w->arena, at, "requiredDuringSchedulingIgnoredDuringExecution");
    json_set(w->arena, at, "nodeSelectorTerms", terms);
}

int
node_constraints_add(const struct submission *s, struct arena *arena, struct json *spec,
                     struct error *err)
{
    struct wish w = {
        .arena = arena,
        .fields = json_array(arena),
        .labels = json_array(arena),
        .alternatives = json_array(arena),
    };
    int r = 0;

    if (s->partition != NULL)
        r = check_partitions(s->partition, err);
    if (r == 0 && s->nodes != NULL)
        r = wish_nodes(&w, s->nodes, err);
    if (r == 0 && s->excluded != NULL)
        r = wish_without(&w, s->excluded, err);
    if (r == 0 && s->constraint != NULL)
        r = wish_features(&w, s->constraint, err);
    if (r == 0 && json_count(w.fields) + json_count(w.labels) + json_count(w.alternatives) > 0)
        add_affinity(&w, spec);
    return r;
}
