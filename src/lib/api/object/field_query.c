/* SPDX-License-Identifier: Apache-2.0 */
/* field_query.c - the text of `fieldSelector=`: "spec.nodeName=n1"
 *
 * Source: k8s.io/apimachinery/pkg/fields; the error texts are the same.
 */
#include <errno.h>
#include <string.h>

#include "lib/api/object/field_query.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"

/* A limit, because each candidate object is compared with every term. */
#define MOST_TERMS 100u

struct term {
    const char *path;
    const char *value;
    bool is_not;
    const char *(*read)(const struct object *object, char buffer[64]);
    struct term *next;
};

struct field_query {
    struct term *first;
};

static const char *
read_name(const struct object *object, char buffer[64])
{
    (void)buffer;
    return object->meta->name != NULL ? object->meta->name : "";
}

static const char *
read_namespace(const struct object *object, char buffer[64])
{
    (void)buffer;
    return object->meta->namespace != NULL ? object->meta->namespace : "";
}

/* Upstream's message differs for kinds of the core group, for Jobs and for all
 * other kinds.
 */
static int
refuse_field(const struct kind *kind, const char *path, struct error *err)
{
    if (kind == &job_kind)
        return error_set(err, -EINVAL, "field label \"%s\" not supported for Job", path);
    if (kind->n_selectable > 0 && kind != &persistent_volume_kind)
        return error_set(err, -EINVAL, "field label not supported: %s", path);
    return error_set(err, -EINVAL,
                     "\"%s\" is not a known field selector: only "
                     "\"metadata.name\", \"metadata.namespace\"",
                     path);
}

static int
find_field(const struct kind *kind, struct term *t, struct error *err)
{
    if (strcmp(t->path, "metadata.name") == 0) {
        t->read = read_name;
        return 0;
    }
    if (strcmp(t->path, "metadata.namespace") == 0 && (kind->flags & KIND_NAMESPACED) != 0) {
        t->read = read_namespace;
        return 0;
    }
    for (unsigned i = 0; i < kind->n_selectable; i++)
        if (strcmp(kind->selectable[i].path, t->path) == 0) {
            t->read = kind->selectable[i].value;
            return 0;
        }
    return refuse_field(kind, t->path, err);
}

/* "\,", "\=" and "\\" are escaped characters; a bare comma or equals sign is an
 * error in a value.
 */
static int
unescape(struct arena *arena, const char *text, const char **ret_value, struct error *err)
{
    char *value = arena_strdup(arena, text);
    char *to = value;

    for (const char *p = text; *p != '\0'; p++) {
        if (*p == ',' || *p == '=')
            return error_set(err, -EINVAL,
                             "invalid field selector: unescaped character in "
                             "value: %d",
                             *p);
        if (*p == '\\') {
            p++;
            if (*p == '\0' || strchr("\\,=", *p) == NULL)
                return error_set(err, -EINVAL,
                                 "invalid field selector: invalid escape "
                                 "sequence: \\%.1s",
                                 p);
        }
        *to++ = *p;
    }
    *to = '\0';
    *ret_value = value;
    return 0;
}

static size_t
length_of_term(const char *text)
{
    size_t n = 0;

    for (; text[n] != '\0' && text[n] != ','; n++)
        if (text[n] == '\\' && text[n + 1] != '\0')
            n++;
    return n;
}

/* `part` is one term of `text`. */
static int
parse_term(struct arena *arena, const struct kind *kind, const char *text, char *part,
           struct term *t, struct error *err)
{
    char *op = part + strcspn(part, "=!");
    int r;

    while (*op == '!' && op[1] != '=')
        op += 1 + strcspn(op + 1, "=!");
    if (*op == '\0')
        return error_set(err, -EINVAL, "invalid selector: '%s'; can't understand '%s'", text, part);
    t->is_not = *op == '!';
    t->path = arena_strndup(arena, part, (size_t)(op - part));
    op += op[0] == '!' || op[1] == '=' ? 2 : 1;
    r = unescape(arena, op, &t->value, err);
    return r < 0 ? r : find_field(kind, t, err);
}

int
field_query_parse(struct arena *arena, const struct kind *kind, const char *text,
                  struct field_query **ret_query, struct error *err)
{
    struct field_query *query = arena_alloc(arena, sizeof(*query));
    struct term **end = &query->first;
    unsigned n_terms = 0;

    for (const char *at = text;;) {
        size_t n = length_of_term(at);
        int r;

        if (++n_terms > MOST_TERMS)
            return error_set(err, -EINVAL, "a field selector may have %u terms, and not more",
                             MOST_TERMS);
        if (n > 0) {
            *end = arena_alloc(arena, sizeof(**end));
            r = parse_term(arena, kind, text, arena_strndup(arena, at, n), *end, err);
            if (r < 0)
                return r;
            end = &(*end)->next;
        }
        if (at[n] == '\0')
            break;
        at += n + 1;
    }
    *ret_query = query;
    return 0;
}

bool
field_query_matches(const struct field_query *query, const struct object *object)
{
    char buffer[64];

    for (const struct term *t = query->first; t != NULL; t = t->next)
        if ((strcmp(t->read(object, buffer), t->value) == 0) == t->is_not)
            return false;
    return true;
}

const char *
field_query_demands(const struct field_query *query, const char *path)
{
    for (const struct term *t = query->first; t != NULL; t = t->next)
        if (!t->is_not && strcmp(t->path, path) == 0)
            return t->value;
    return NULL;
}
