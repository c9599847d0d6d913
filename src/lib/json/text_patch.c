/* SPDX-License-Identifier: Apache-2.0 */
/* A status patch replaces some hundred bytes of an object of several kilobytes. Text and patch
 * are walked in parallel, in the field table's order, so the result is the text that parsing,
 * merging and printing would have made, and everything else is copied. Whatever does not fit
 * this picture returns failure, and the caller takes the long way.
 */
#include "lib/json/text_patch.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/strbuf.h"
#include "lib/json/field.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

/* ---- The text ---- */

/* `at` is at a quote; returns the position after the closing one. */
static const char *
skip_string(const char *at)
{
    for (at++;; at += 2) { /* skip the escape */
        at += strcspn(at, "\"\\");
        if (*at == '"')
            return at + 1;
    }
}

static const char *
skip_value(const char *at)
{
    unsigned depth = 0;

    for (;;) {
        switch (*at) {
        case '"':
            at = skip_string(at);
            if (depth == 0)
                return at;
            continue;
        case '{':
        case '[':
            depth++;
            break;
        case '}':
        case ']':
            if (depth == 0) /* after a number or a word */
                return at;
            if (--depth == 0)
                return at + 1;
            break;
        case ',':
            if (depth == 0)
                return at;
            break;
        default:
            break;
        }
        at++;
    }
}

/* ---- The text and the patch in parallel ---- */

struct text_patching {
    const struct record *record;
    const struct json *patch;
    const char *whole; /* the member that is replaced as a whole; or NULL */
    uint32_t next;     /* index of the patch's next member */
    unsigned guess;
    struct strbuf *out;
    bool is_first;
};

/* The index in the table of a name of that length; or -1. */
static int
place_of(struct text_patching *p, const char *name, size_t length)
{
    const struct record *record = p->record;

    for (unsigned i = 0; i < record->n_fields; i++) {
        const unsigned place = (p->guess + i) % record->n_fields;
        const char *is = record->fields[place].name;

        if (strncmp(is, name, length) == 0 && is[length] == '\0') {
            p->guess = place + 1;
            return (int)place;
        }
    }
    return -1;
}

static void
add_name(struct text_patching *p, const char *name)
{
    strbuf_add_text(p->out, p->is_first ? "\"" : ",\"");
    strbuf_add_text(p->out, name);
    strbuf_add_text(p->out, "\":");
    p->is_first = false;
}

static const struct json_member *
next_member(const struct text_patching *p, int *ret_place)
{
    struct text_patching table = {.record = p->record};
    const struct json_member *m;

    if (p->next >= json_count(p->patch))
        return NULL;
    m = &p->patch->members[p->next];
    *ret_place = place_of(&table, m->name, strlen(m->name));
    return m;
}

/* Writes the patch's members whose fields come before that index. False: a
 * member cannot be written.
 */
static bool
add_before(struct text_patching *p, int before)
{
    const struct json_member *m;
    int place;

    while ((m = next_member(p, &place)) != NULL) {
        if (place < 0 || m->value->type == JSON_NULL)
            return false;
        if (place >= before)
            return true;
        add_name(p, m->name);
        json_print(m->value, p->out);
        p->next++;
    }
    return true;
}

static const char *patch_object(const struct record *record, const char *at,
                                const struct json *patch, const char *whole, struct strbuf *out);

/* Writes a member that both have; returns the position after its value, or
 * NULL.
 */
static const char *
patch_member(struct text_patching *p, int place, const char *value, const struct json_member *m)
{
    const struct field *f = &p->record->fields[place];

    p->next++;
    add_name(p, m->name);
    if (*value != '{' || m->value->type != JSON_OBJECT
        || (p->whole != NULL && strcmp(m->name, p->whole) == 0)) {
        json_print(m->value, p->out);
        return skip_value(value);
    }
    if (f->type != FIELD_OBJECT || f->of == NULL || field_is_pointed(f))
        return NULL;
    return patch_object(f->of, value, m->value, NULL, p->out);
}

/* `at` is at the brace; returns the position after the closing one, or NULL. */
static const char *
patch_object(const struct record *record, const char *at, const struct json *patch,
             const char *whole, struct strbuf *out)
{
    struct text_patching p = {record, patch, whole, 0, 0, out, true};

    strbuf_add_char(out, '{');
    for (at++; *at != '}';) {
        const char *name = at + 1, *end, *value;
        const struct json_member *m;
        int place, wanted;

        end = skip_string(at) - 1;
        value = end + 2;
        place = place_of(&p, name, (size_t)(end - name));
        if (place < 0 || !add_before(&p, place))
            return NULL;
        m = next_member(&p, &wanted);
        if (m != NULL && wanted == place) {
            at = patch_member(&p, place, value, m);
            if (at == NULL)
                return NULL;
        } else {
            const char *behind = skip_value(value);

            if (!p.is_first)
                strbuf_add_char(out, ',');
            strbuf_add(out, at, (size_t)(behind - at));
            p.is_first = false;
            at = behind;
        }
        if (*at == ',')
            at++;
    }
    if (!add_before(&p, (int)record->n_fields))
        return NULL;
    strbuf_add_char(out, '}');
    return at + 1;
}

bool
text_patch(const struct record *record, const char *text, const struct json *patch,
           struct strbuf *out)
{
    return json_is(patch, JSON_OBJECT) && patch_object(record, text, patch, NULL, out) != NULL;
}

bool
text_replace(const struct record *record, const char *text, const struct json *patch,
             const char *name, struct strbuf *out)
{
    return json_is(patch, JSON_OBJECT) && patch_object(record, text, patch, name, out) != NULL;
}

const char *
text_find_member(const char *text, const char *name, size_t *ret_length)
{
    const size_t length = strlen(name);

    for (const char *at = text + 1; *at != '}';) {
        const char *end = skip_string(at) - 1, *value = end + 2;

        if ((size_t)(end - at) == length + 1 && memcmp(at + 1, name, length) == 0) {
            *ret_length = (size_t)(skip_value(value) - value);
            return value;
        }
        at = skip_value(value);
        if (*at == ',')
            at++;
    }
    return NULL;
}
