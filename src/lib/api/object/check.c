/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/object/check.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "lib/api/value/quantity.h"
#include "lib/api/value/resource_name.h"
#include "lib/base/arena.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

const char *
check_text(const struct json *object, const char *name)
{
    const char *text = json_get_text(object, name);

    return text != NULL ? text : "";
}

bool
check_is_set(const struct json *object, const char *name)
{
    const struct json *v = json_get(object, name);

    return v != NULL && v->type != JSON_NULL;
}

static bool
is_empty(const struct json *v)
{
    if (v == NULL || v->type == JSON_NULL)
        return true;
    return (v->type == JSON_STRING || v->type == JSON_ARRAY || v->type == JSON_OBJECT)
           && v->count == 0;
}

void
check_texts_fini(struct check_texts *t)
{
    map_free(t->more);
}

bool
check_texts_has(const struct check_texts *t, const char *text)
{
    return t->first != NULL
           && (strcmp(t->first, text) == 0 || (t->more != NULL && map_find(t->more, text) != NULL));
}

bool
check_texts_add(struct check_texts *t, const char *text)
{
    if (t->first == NULL) {
        t->first = text;
        return true;
    }
    if (strcmp(t->first, text) == 0)
        return false;
    if (t->more == NULL)
        t->more = map_new();
    return map_put(t->more, text, t) == NULL;
}

void
check_texts_add_list(struct check_texts *t, const struct json *list, const char *name)
{
    for (uint32_t i = 0; i < json_count(list); i++)
        check_texts_add(t, check_text(json_at(list, i), name));
}

bool
check_present(struct causes *c, const struct json *object, const char *name, const char *words)
{
    if (!is_empty(json_get(object, name)))
        return true;
    causes_add(c, CAUSE_REQUIRED, name, NULL, "%s", words);
    return false;
}

bool
check_form(struct causes *c, const char *name, enum name_form form, const char *text,
           const struct json *shown)
{
    struct name_faults faults;

    name_find_faults(form, text, &faults);
    for (unsigned i = 0; i < faults.count; i++)
        causes_add(c, CAUSE_INVALID, name, shown, "%s", faults.items[i]);
    return faults.count == 0;
}

bool
check_resource_name_form(struct causes *c, const char *name)
{
    struct name_faults faults;

    name_find_faults(NAME_QUALIFIED, name, &faults);
    for (unsigned i = 0; i < faults.count; i++)
        causes_add(c, CAUSE_INVALID, "", NULL, "%s: %s", name, faults.items[i]);
    return faults.count == 0;
}

bool
check_name(struct causes *c, const struct json *object, const char *name, enum name_form form)
{
    const struct json *v = json_get(object, name);

    return !json_is(v, JSON_STRING) || check_form(c, name, form, v->text, v);
}

/* As in upstream, the letter before the dash is not checked. */
bool
check_name_prefix(struct causes *c, const struct json *object, const char *name,
                  enum name_form form)
{
    const struct json *v = json_get(object, name);
    char *text;

    if (!json_is(v, JSON_STRING))
        return true;
    text = arena_strdup(c->arena, v->text);
    if (v->count > 1 && text[v->count - 1] == '-') {
        text[v->count - 2] = 'a';
        text[v->count - 1] = '\0';
    }
    return check_form(c, name, form, text, v);
}

bool
check_line(struct causes *c, const struct json *object, const char *name, unsigned most)
{
    const char *text = check_text(object, name);

    for (const char *p = text; *p != '\0'; p++)
        if (iscntrl((unsigned char)*p) || p - text >= (long)most) {
            causes_add(c, CAUSE_INVALID, name, NULL, "must be one line of at most %u bytes", most);
            return false;
        }
    return true;
}

bool
check_has_outer_space(const char *text)
{
    size_t n = strlen(text);

    return n > 0
           && (strchr(" \t\r\n\v\f", text[0]) != NULL
               || strchr(" \t\r\n\v\f", text[n - 1]) != NULL);
}

static bool
is_among(const char *text, const char *const *values)
{
    for (; *values != NULL; values++)
        if (strcmp(text, *values) == 0)
            return true;
    return false;
}

bool
check_one_of(struct causes *c, const struct json *object, const char *name,
             const char *const *values)
{
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    const struct json *v = json_get(object, name);

    if (!json_is(v, JSON_STRING) || is_among(v->text, values))
        return true;
    for (const char *const *p = values; *p != NULL; p++)
        strbuf_printf(&words, "%s\"%s\"", p == values ? "" : ", ", *p);
    causes_add(c, CAUSE_NOT_SUPPORTED, name, v, "supported values: %s", words.text);
    return false;
}

bool
check_given_one_of(struct causes *c, const struct json *object, const char *name,
                   const char *const *values)
{
    if (check_is_set(object, name) && *check_text(object, name) == '\0')
        return check_present(c, object, name, "");
    return check_one_of(c, object, name, values);
}

bool
check_not_negative(struct causes *c, const struct json *object, const char *name)
{
    if (json_get_int(object, name, 0) >= 0)
        return true;
    causes_add(c, CAUSE_INVALID, name, json_get(object, name),
               "must be greater than or equal to 0");
    return false;
}

bool
check_positive(struct causes *c, const struct json *object, const char *name)
{
    if (json_get_int(object, name, 1) > 0)
        return true;
    causes_add(c, CAUSE_INVALID, name, json_get(object, name), "must be greater than 0");
    return false;
}

bool
check_range(struct causes *c, const struct json *object, const char *name, int64_t least,
            int64_t most)
{
    int64_t n = json_get_int(object, name, least);

    if (n >= least && n <= most)
        return true;
    causes_add(c, CAUSE_INVALID, name, json_get(object, name),
               "must be between %" PRId64 " and %" PRId64 ", inclusive", least, most);
    return false;
}

bool
check_port(struct causes *c, const struct json *object, const char *name)
{
    return check_range(c, object, name, 1, 65535);
}

bool
check_port_or_name(struct causes *c, const struct json *object, const char *name)
{
    const struct json *v = json_get(object, name);

    if (json_is(v, JSON_STRING))
        return check_name(c, object, name, NAME_PORT);
    if (v != NULL)
        return check_port(c, object, name);
    causes_add(c, CAUSE_INVALID, name, json_int(c->arena, 0),
               "must be between 1 and 65535, inclusive");
    return false;
}

bool
check_ip(struct causes *c, const struct json *object, const char *name)
{
    const char *text = check_text(object, name);
    unsigned char address[sizeof(struct in6_addr)];

    if (inet_pton(AF_INET, text, address) == 1 || inet_pton(AF_INET6, text, address) == 1)
        return true;
    causes_add(c, CAUSE_INVALID, name, json_get(object, name),
               "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
    return false;
}

bool
check_labels(struct causes *c, const struct json *object, const char *name)
{
    const struct json *labels = json_get(object, name);
    unsigned before = c->count;

    for (uint32_t i = 0; i < json_count(labels); i++) {
        const struct json_member *m = &labels->members[i];

        check_form(c, name, NAME_QUALIFIED, m->name, json_string(c->arena, m->name));
        if (json_text(m->value))
            check_form(c, name, NAME_LABEL_VALUE, m->value->text, m->value);
    }
    return c->count == before;
}

/* The form in which upstream's messages show an absent value: an absent string
 * as "", an absent number as null.
 */
static const struct json *
shown_absent(struct causes *c, const struct json *was)
{
    if (json_is(was, JSON_STRING))
        return json_string(c->arena, "");
    if (json_is(was, JSON_OBJECT) || json_is(was, JSON_ARRAY))
        return NULL;
    return json_string(c->arena, "null");
}

bool
check_immutable(struct causes *c, const struct json *object, const struct json *old,
                const char *name)
{
    const struct json *is = json_get(object, name);
    const struct json *was = json_get(old, name);

    if ((is_empty(is) && is_empty(was)) || json_equals(is, was))
        return true;
    /* Upstream's messages show a nil pointer this way. */
    if (is == NULL)
        is = json_string(c->arena, "null");
    causes_add(c, CAUSE_INVALID, name, is_empty(is) ? shown_absent(c, was) : is,
               "field is immutable");
    return false;
}

static bool
has_backstep(const char *path)
{
    for (const char *p = path;;) {
        size_t n = strcspn(p, "/");

        if (n == 2 && p[0] == '.' && p[1] == '.')
            return true;
        if (p[n] == '\0')
            return false;
        p += n + 1;
    }
}

bool
check_no_parent_references(struct causes *c, const struct json *object, const char *name)
{
    if (!has_backstep(check_text(object, name)))
        return true;
    causes_add(c, CAUSE_INVALID, name, json_get(object, name), "must not contain '..'");
    return false;
}

bool
check_descending_path(struct causes *c, const struct json *object, const char *name,
                      const char *shown_as)
{
    const struct json *v = json_get(object, name);
    const char *path = check_text(object, name);
    unsigned before = c->count;

    if (*path == '/')
        causes_add(c, CAUSE_INVALID, shown_as, v, "must be a relative path");
    if (has_backstep(path))
        causes_add(c, CAUSE_INVALID, shown_as, v, "must not contain '..'");
    return c->count == before;
}

static void
check_label_requirement(struct causes *c, const struct json *r)
{
    const char *op = check_text(r, "operator");
    uint32_t count = json_count(json_get(r, "values"));

    if (strcmp(op, "In") == 0 || strcmp(op, "NotIn") == 0) {
        if (count == 0)
            causes_add(c, CAUSE_REQUIRED, "values", NULL,
                       "must be specified when `operator` is 'In' or 'NotIn'");
    } else if (strcmp(op, "Exists") == 0 || strcmp(op, "DoesNotExist") == 0) {
        if (count > 0)
            causes_add(c, CAUSE_FORBIDDEN, "values", NULL,
                       "may not be specified when `operator` is 'Exists' or "
                       "'DoesNotExist'");
    } else {
        causes_add(c, CAUSE_INVALID, "operator", json_get(r, "operator"),
                   "not a valid selector operator");
    }
    check_name(c, r, "key", NAME_QUALIFIED);
    for (uint32_t i = 0; i < count; i++) {
        const struct json *value = json_at(json_get(r, "values"), i);
        unsigned at = causes_enter_index(c, "values", i);

        check_form(c, "", NAME_LABEL_VALUE, value->text, value);
        causes_leave(c, at);
    }
}

void
check_label_selector(struct causes *c, const struct json *object, const char *name)
{
    const struct json *selector = json_get(object, name);
    const struct json *list = json_get(selector, "matchExpressions");
    unsigned at = causes_enter(c, name);

    check_labels(c, selector, "matchLabels");
    for (uint32_t i = 0; i < json_count(list); i++) {
        unsigned item = causes_enter_index(c, "matchExpressions", i);

        check_label_requirement(c, json_at(list, i));
        causes_leave(c, item);
    }
    causes_leave(c, at);
}

bool
check_quantity(struct causes *c, const struct json *map, const char *resource)
{
    const struct json *v = json_get(map, resource);
    unsigned before = c->count;
    struct quantity q;

    if (json_text(v) == NULL || quantity_parse(v->text, &q) < 0)
        return false;
    if (quantity_sign(&q) < 0)
        causes_add(c, CAUSE_INVALID, "", v, "must be greater than or equal to 0");
    if (resource_name_is_counted(resource) && quantity_milli_value(&q) % 1000 != 0)
        causes_add(c, CAUSE_INVALID, "", v, "must be an integer");
    return c->count == before;
}
