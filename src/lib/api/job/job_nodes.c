/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler knows nothing of features and lists of names: they become upstream's node
 * affinity, so that every client and every plugin understands them. An affinity is
 * alternatives of requirements, and an expression has to be multiplied out into that form; the
 * product has bounds, since a short text can stand for very many terms. Slurm reads its
 * operators from left to right without precedence, and so does this (decision 810).
 */
#include "lib/api/job/job_nodes.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/api/object/check.h"
#include "lib/api/object/meta.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define LABEL_FEATURE "feature.kiln.hpc/"
#define NAME_FIELD    "metadata.name"
#define REQUIRED      "requiredDuringSchedulingIgnoredDuringExecution"

/* In all terms together: names and alternatives multiply. */
#define MOST_REQUIREMENTS 10000u
#define MOST_ALTERNATIVES 256u
#define MOST_PARENTHESES  16u /* in one another */

/* Slurm takes a comma for "&". */
#define OPERATORS "&|,"

/* ---- Requirements ---- */

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

/* ---- Terms ---- */

/* A copy of a member; NULL if there is none. */
static struct json *
dup_member(struct arena *arena, const struct json *object, const char *name)
{
    const struct json *value = json_get(object, name);

    return value != NULL ? json_dup(arena, value) : NULL;
}

static const struct json *
terms_of(const struct json *spec)
{
    const struct json *nodes = json_get_path(spec, "affinity.nodeAffinity");

    return json_get(json_get(nodes, REQUIRED), "nodeSelectorTerms");
}

/* A term without any requirement would match no node, so it is left out. */
static void
add_term(struct arena *arena, struct json *terms, struct json *labels, struct json *fields)
{
    struct json *term = json_object(arena);

    if (json_count(labels) > 0)
        json_set(arena, term, "matchExpressions", labels);
    if (json_count(fields) > 0)
        json_set(arena, term, "matchFields", fields);
    if (json_count(term) > 0)
        json_append(arena, terms, term);
}

static void
set_terms(struct arena *arena, struct json *spec, struct json *terms)
{
    struct json *affinity, *nodes;

    if (json_count(terms) > 0) {
        affinity = json_make_object(arena, spec, "affinity");
        nodes = json_make_object(arena, affinity, "nodeAffinity");
        json_set(arena, json_make_object(arena, nodes, REQUIRED), "nodeSelectorTerms", terms);
        return;
    }
    affinity = json_get(spec, "affinity");
    nodes = json_get(affinity, "nodeAffinity");
    if (nodes == NULL)
        return;
    json_remove(nodes, REQUIRED);
    if (json_count(nodes) == 0)
        json_remove(affinity, "nodeAffinity");
    if (json_count(affinity) == 0)
        json_remove(spec, "affinity");
}

static int
check_size(size_t n_terms, size_t n_each, struct error *err)
{
    if (n_terms < 2 || n_each <= MOST_REQUIREMENTS / n_terms)
        return 0;
    return error_set(err, -E2BIG,
                     "its %zu alternatives with %zu requirements each would be more than %u "
                     "requirements of nodes; give fewer names of nodes or fewer features",
                     n_terms, n_each, MOST_REQUIREMENTS);
}

/* ---- Names ---- */

static bool
is_of_names(const struct json *field, const char *op)
{
    return strcmp(check_text(field, "key"), NAME_FIELD) == 0
           && strcmp(check_text(field, "operator"), op) == 0;
}

/* The fields of a term with the new names in place of the former. One
 * requirement for each name, because a field selector takes one value.
 */
static struct json *
with_names(struct arena *arena, const struct json *fields, const char *op, const char *names)
{
    struct json *others = json_array(arena);
    char *rest = NULL;

    for (uint32_t i = 0; i < json_count(fields); i++)
        if (!is_of_names(json_at(fields, i), op))
            json_append(arena, others, json_dup(arena, json_at(fields, i)));
    for (char *name = strtok_r(arena_strdup(arena, names), ",", &rest); name != NULL;
         name = strtok_r(NULL, ",", &rest))
        json_append(arena, others, requirement_of_value(arena, NAME_FIELD, op, name));
    return others;
}

static bool
has_term(const struct json *terms, const struct json *term)
{
    for (uint32_t i = 0; i < json_count(terms); i++)
        if (json_equals(json_at(terms, i), term))
            return true;
    return false;
}

/* Alternatives that differed only in their names are the same without these. */
static struct json *
without_doubles(struct arena *arena, const struct json *terms)
{
    struct json *kept = json_array(arena);

    for (uint32_t i = 0; i < json_count(terms); i++)
        if (!has_term(kept, json_at(terms, i)))
            json_append(arena, kept, json_dup(arena, json_at(terms, i)));
    return kept;
}

int
job_nodes_set_names(struct arena *arena, struct json *spec, bool is_exclusion, const char *names,
                    struct error *err)
{
    const char *op = is_exclusion ? "NotIn" : "In";
    const struct json *old = terms_of(spec);
    struct json *terms = json_array(arena);
    size_t n_commas = 0;

    for (const char *p = names; *p != '\0'; p++)
        n_commas += *p == ',';
    if (!is_exclusion && n_commas > 0)
        return error_set(err, -EOPNOTSUPP,
                         "'%.80s' names %zu nodes, but this job has one node; ksub -N and -w "
                         "submit a job of several",
                         names, n_commas + 1);
    if (check_size(json_count(old), n_commas + 1, err) < 0)
        return -E2BIG;
    for (uint32_t i = 0; i < json_count(old); i++) {
        const struct json *term = json_at(old, i);

        add_term(arena, terms, dup_member(arena, term, "matchExpressions"),
                 with_names(arena, json_get(term, "matchFields"), op, names));
    }
    if (json_count(old) == 0)
        add_term(arena, terms, NULL, with_names(arena, NULL, op, names));
    set_terms(arena, spec, is_exclusion ? terms : without_doubles(arena, terms));
    return 0;
}

int
job_nodes_set_choice(struct arena *arena, struct json *spec, const char *names, int64_t nodes,
                     struct error *err)
{
    const char **list = arena_alloc(arena, (strlen(names) + 1) * sizeof(*list));
    char *rest = NULL;
    size_t count = 0;
    int r;

    for (char *name = strtok_r(arena_strdup(arena, names), ",", &rest); name != NULL;
         name = strtok_r(NULL, ",", &rest))
        list[count++] = name;
    if (count > 0 && (int64_t)count != nodes)
        return error_set(err, -EINVAL, "'%.80s' names %zu node%s, but this job has %" PRId64, names,
                         count, count == 1 ? "" : "s", nodes);
    r = job_nodes_set_names(arena, spec, false, "", err);
    return r < 0 || count == 0 ? r : job_nodes_add_choice(arena, spec, list, count, err);
}

/* A field selector takes one value, so each name is a term of its own, beside the
 * alternatives that there were.
 */
int
job_nodes_add_choice(struct arena *arena, struct json *spec, const char *const *names, size_t count,
                     struct error *err)
{
    const struct json *old = terms_of(spec);
    const uint32_t n_old = json_count(old) > 0 ? json_count(old) : 1;
    struct json *terms = json_array(arena);

    if (check_size(n_old, count, err) < 0)
        return -E2BIG;
    for (uint32_t i = 0; i < n_old; i++)
        for (size_t k = 0; k < count; k++) {
            const struct json *term = json_at(old, i);

            add_term(arena, terms, dup_member(arena, term, "matchExpressions"),
                     with_names(arena, json_get(term, "matchFields"), "In", names[k]));
        }
    set_terms(arena, spec, terms);
    return 0;
}

/* Whether the list has the text already. */
static bool
has_item(const struct strbuf *list, const char *text, const char *separators)
{
    const size_t length = strlen(text);

    for (const char *at = list->text; at != NULL && *at != '\0';) {
        const size_t n = strcspn(at, separators);

        if (n == length && strncmp(at, text, n) == 0)
            return true;
        at += n + (at[n] != '\0');
    }
    return false;
}

const char *
job_nodes_names(struct arena *arena, const struct json *spec, bool is_exclusion)
{
    const char *op = is_exclusion ? "NotIn" : "In";
    const struct json *terms = terms_of(spec);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    for (uint32_t i = 0; i < json_count(terms); i++) {
        const struct json *fields = json_get(json_at(terms, i), "matchFields");

        for (uint32_t k = 0; k < json_count(fields); k++) {
            const char *name = json_text(json_at(json_get(json_at(fields, k), "values"), 0));

            if (is_of_names(json_at(fields, k), op) && name != NULL && !has_item(&out, name, ","))
                strbuf_printf(&out, "%s%s", out.length > 0 ? "," : "", name);
        }
    }
    return out.length > 0 ? arena_strdup(arena, out.text) : "";
}

/* ---- Features ---- */

/* The requirements that always hold: a partition, as former releases wrote it.
 */
static struct json *
kept_labels(struct arena *arena, const struct json *term)
{
    const struct json *labels = json_get(term, "matchExpressions");
    struct json *kept = json_array(arena);

    for (uint32_t i = 0; i < json_count(labels); i++)
        if (strcmp(check_text(json_at(labels, i), "key"), LABEL_PARTITION) == 0)
            json_append(arena, kept, json_dup(arena, json_at(labels, i)));
    return kept;
}

static bool
has_same_fields(const struct json *terms)
{
    const struct json *first = json_get(json_at(terms, 0), "matchFields");

    for (uint32_t i = 1; i < json_count(terms); i++) {
        const struct json *other = json_get(json_at(terms, i), "matchFields");

        if ((first == NULL) != (other == NULL) || (first != NULL && !json_equals(first, other)))
            return false;
    }
    return true;
}

/* "avx512" or "zone=east"; NULL: a requirement of another form. */
static const char *
feature_text(struct arena *arena, const struct json *label)
{
    const char *key = check_text(label, "key");
    const char *op = check_text(label, "operator");
    const struct json *values = json_get(label, "values");

    if (strcmp(op, "Exists") == 0 && strncmp(key, LABEL_FEATURE, strlen(LABEL_FEATURE)) == 0)
        return key + strlen(LABEL_FEATURE);
    if (strcmp(op, "In") == 0 && json_count(values) == 1 && json_text(json_at(values, 0)) != NULL)
        return arena_printf(arena, "%s=%s", key, json_text(json_at(values, 0)));
    return NULL;
}

/* Read from left to right, a|b&c would be (a|b)&c. */
static void
add_alternative(struct strbuf *out, const char *text)
{
    const bool has_several = out->length > 0 && strchr(text, '&') != NULL;
    CLEANUP_STRBUF struct strbuf one = STRBUF_INIT;

    strbuf_printf(&one, has_several ? "(%s)" : "%s", text);
    if (*text != '\0' && !has_item(out, text, "|") && !has_item(out, one.text, "|"))
        strbuf_printf(out, "%s%s", out->length > 0 ? "|" : "", one.text);
}

const char *
job_nodes_features(struct arena *arena, const struct json *spec)
{
    const struct json *terms = terms_of(spec);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    for (uint32_t i = 0; i < json_count(terms); i++) {
        const struct json *labels = json_get(json_at(terms, i), "matchExpressions");
        CLEANUP_STRBUF struct strbuf one = STRBUF_INIT;

        for (uint32_t k = 0; k < json_count(labels); k++) {
            const char *text = feature_text(arena, json_at(labels, k));

            if (strcmp(check_text(json_at(labels, k), "key"), LABEL_PARTITION) == 0)
                continue;
            if (text == NULL)
                return "";
            strbuf_printf(&one, "%s%s", one.length > 0 ? "&" : "", text);
        }
        add_alternative(&out, one.length > 0 ? one.text : "");
    }
    return out.length > 0 ? arena_strdup(arena, out.text) : "";
}

/* ---- Expressions of features ---- */

/* Results are alternatives, each a list of requirements; NULL: malformed. */
struct feature_reader {
    struct arena *arena;
    const char *at;
    unsigned depth;
    bool is_too_large;
};

static struct json *read_features(struct feature_reader *r, char end);

static struct json *
read_feature(struct feature_reader *r)
{
    struct json *alternatives, *alone, *one;
    size_t length;

    if (*r->at == '(') {
        r->at++;
        if (++r->depth > MOST_PARENTHESES)
            return NULL;
        alternatives = read_features(r, ')');
        r->depth--;
        return alternatives;
    }
    length = strcspn(r->at, OPERATORS "()");
    one = feature(r->arena, arena_strndup(r->arena, r->at, length));
    if (one == NULL)
        return NULL;
    r->at += length;
    alternatives = json_array(r->arena);
    alone = json_array(r->arena);
    json_append(r->arena, alone, one);
    json_append(r->arena, alternatives, alone);
    return alternatives;
}

static void
append_all(struct arena *arena, struct json *to, const struct json *list)
{
    for (uint32_t i = 0; i < json_count(list); i++)
        json_append(arena, to, json_dup(arena, json_at(list, i)));
}

/* Each alternative of the one with each of the other. */
static struct json *
both(struct arena *arena, const struct json *a, const struct json *b)
{
    struct json *out = json_array(arena);

    for (uint32_t i = 0; i < json_count(a); i++)
        for (uint32_t k = 0; k < json_count(b); k++) {
            struct json *one = json_dup(arena, json_at(a, i));

            append_all(arena, one, json_at(b, k));
            json_append(arena, out, one);
        }
    return out;
}

/* From left to right without precedence, as in Slurm: a|b&c is (a|b)&c. */
static struct json *
read_features(struct feature_reader *r, char end)
{
    struct json *all = read_feature(r);

    while (all != NULL && *r->at != end) {
        const char operator_ = *r->at;
        struct json *next;

        if (operator_ == '\0' || strchr(OPERATORS, operator_) == NULL)
            return NULL;
        r->at++;
        next = read_feature(r);
        if (next == NULL)
            return NULL;
        if (operator_ != '|' && json_count(all) * json_count(next) > MOST_ALTERNATIVES) {
            r->is_too_large = true;
            return NULL;
        }
        if (operator_ == '|')
            append_all(r->arena, all, next);
        else
            all = both(r->arena, all, next);
    }
    if (all != NULL && end != '\0')
        r->at++;
    return all;
}

static int
refuse_features(const struct feature_reader *r, const char *text, struct error *err)
{
    if (r->is_too_large)
        return error_set(err, -E2BIG, "'%.200s' has more than %u alternatives", text,
                         MOST_ALTERNATIVES);
    return error_set(err, -EINVAL,
                     "'%.200s' is not a list of features or KEY=VALUE labels, all of which (a&b) "
                     "or one of which (a|b) a node must have, such as (a|b)&c",
                     text);
}

int
job_nodes_set_features(struct arena *arena, struct json *spec, const char *text, struct error *err)
{
    const struct json *old = terms_of(spec);
    struct json *fields = dup_member(arena, json_at(old, 0), "matchFields");
    struct json *kept = kept_labels(arena, json_at(old, 0));
    struct feature_reader r = {.arena = arena, .at = text};
    struct json *terms = json_array(arena), *alternatives = NULL;

    if (!has_same_fields(old))
        return error_set(err, -EINVAL,
                         "its node affinity has terms with different names of nodes, which only "
                         "'kctl replace' can change");
    if (text[0] == '\0') {
        add_term(arena, terms, kept, fields);
        set_terms(arena, spec, terms);
        return 0;
    }
    alternatives = read_features(&r, '\0');
    if (alternatives == NULL)
        return refuse_features(&r, text, err);
    if (check_size(json_count(alternatives), json_count(fields), err) < 0)
        return -E2BIG;
    for (uint32_t i = 0; i < json_count(alternatives); i++) {
        struct json *labels = json_dup(arena, kept);

        append_all(arena, labels, json_at(alternatives, i));
        add_term(arena, terms, labels, fields);
    }
    set_terms(arena, spec, terms);
    return 0;
}
