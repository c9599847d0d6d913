/* SPDX-License-Identifier: Apache-2.0 */
/* normalize.c - normalizes a tree by its field table */
#include <errno.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/field.h"
#include "lib/json/json.h"

/* One step of the path from the root; the path is formatted only when needed.
 */
struct path_step {
    const struct path_step *up;
    const char *name; /* NULL: an index */
    uint32_t index;
};

struct normalize_walk {
    struct arena *arena;
    struct record_notes *notes;
    unsigned cap_unknown;
    struct error *err;
};

static void
add_path(const struct path_step *at, struct strbuf *out)
{
    if (at == NULL)
        return;
    add_path(at->up, out);
    if (at->name == NULL)
        strbuf_printf(out, "[%u]", at->index);
    else
        strbuf_printf(out, "%s%s", out->length ? "." : "", at->name);
}

static void
note_unknown(struct normalize_walk *w, const struct path_step *at)
{
    CLEANUP_STRBUF struct strbuf path = STRBUF_INIT;
    struct record_notes *notes = w->notes;
    char **longer;

    if (notes == NULL || notes->n_unknown == JSON_MAX_NOTES)
        return;
    if (notes->n_unknown == w->cap_unknown) {
        w->cap_unknown = w->cap_unknown ? w->cap_unknown * 2 : 4;
        longer = arena_new_array(w->arena, char *, w->cap_unknown);
        if (notes->n_unknown > 0)
            memcpy(longer, notes->unknown, notes->n_unknown * sizeof(*longer));
        notes->unknown = longer;
    }
    add_path(at, &path);
    if (path.length > JSON_NOTE_SIZE)
        strbuf_truncate(&path, JSON_NOTE_SIZE);
    notes->unknown[notes->n_unknown++] = arena_strndup(w->arena, path.text, path.length);
}

static int
wrong_type(struct normalize_walk *w, const struct path_step *at, const struct json *v,
           const char *wanted)
{
    CLEANUP_STRBUF struct strbuf path = STRBUF_INIT;

    add_path(at, &path);
    return error_set(w->err, -EINVAL, "%s: expected %s, not %s", path.length ? path.text : "body",
                     wanted, v->type == JSON_NUMBER ? v->text : json_type_name(v->type));
}

static int check_object(struct normalize_walk *w, const struct record *record,
                        const struct path_step *at, struct json *object, const struct json *normal);

static int
check_int(struct normalize_walk *w, const struct path_step *at, const struct json *v, bool wide)
{
    int64_t n;
    int r = json_to_int(v, &n);

    if (r == 0 && !wide && (n > INT32_MAX || n < INT32_MIN))
        r = -ERANGE;
    if (r == -ERANGE)
        return wrong_type(w, at, v, wide ? "a 64-bit integer" : "a 32-bit integer");
    return r < 0 ? wrong_type(w, at, v, "an integer") : 0;
}

/* Upstream accepts only six digits of a fraction. */
static bool
has_micros(const char *text)
{
    const char *dot = strchr(text, '.');

    return dot != NULL && strspn(dot + 1, "0123456789") == 6;
}

/* Whether a parsed time already is in the form that time_format() writes. */
static bool
is_canonical(const struct json *v, bool micro)
{
    size_t length =
        micro ? sizeof("2006-01-02T15:04:05.000000Z") - 1 : sizeof("2006-01-02T15:04:05Z") - 1;

    return v->count == length && v->text[length - 1] == 'Z';
}

static int
check_time(struct normalize_walk *w, const struct path_step *at, struct json *v, bool micro)
{
    CLEANUP_STRBUF struct strbuf path = STRBUF_INIT;
    char text[TIME_TEXT_SIZE];
    int64_t us;

    if (v->type == JSON_NULL)
        return 0;
    if (v->type != JSON_STRING)
        return wrong_type(w, at, v, "a time");
    if (time_parse(v->text, &us) == 0 && (!micro || has_micros(v->text))) {
        if (is_canonical(v, micro))
            return 0;
        time_format(us, micro, text);
        *v = *json_string(w->arena, text);
        return 0;
    }
    add_path(at, &path);
    return error_set(w->err, -EINVAL, "%s: '%s' is not a time such as 2006-01-02T15:04:05%sZ",
                     path.text, v->text, micro ? ".000000" : "");
}

static int check_value(struct normalize_walk *w, const struct field *f, enum field_type type,
                       const struct path_step *at, struct json *v, const struct json *normal);

static int
check_list(struct normalize_walk *w, const struct field *f, const struct path_step *at,
           struct json *v)
{
    int r;

    if (v->type != JSON_ARRAY)
        return wrong_type(w, at, v, "an array");
    for (uint32_t i = 0; i < v->count; i++) {
        struct path_step item = {.up = at, .index = i};

        if (v->items[i]->type == JSON_NULL && f->element == FIELD_OBJECT)
            v->items[i] = json_object(w->arena);
        r = check_value(w, f, f->element, &item, v->items[i], NULL);
        if (r < 0)
            return r;
    }
    return 0;
}

static int
check_map(struct normalize_walk *w, const struct field *f, const struct path_step *at,
          struct json *v)
{
    int r;

    if (v->type != JSON_OBJECT)
        return wrong_type(w, at, v, "an object");
    for (uint32_t i = 0; i < v->count; i++) {
        struct path_step item = {.up = at, .name = v->members[i].name};

        r = check_value(w, f, f->element, &item, v->members[i].value, NULL);
        if (r < 0)
            return r;
    }
    return 0;
}

/* A reader that stops at a NUL would use another text than was checked. */
static int
refuse_nul(struct normalize_walk *w, const struct path_step *at)
{
    CLEANUP_STRBUF struct strbuf path = STRBUF_INIT;

    add_path(at, &path);
    return error_set(w->err, -EINVAL, "%s: contains a NUL character (\\u0000)", path.text);
}

static int
check_type(struct normalize_walk *w, const struct field *f, enum field_type type,
           const struct path_step *at, struct json *v, const struct json *normal)
{
    if (type != FIELD_ANY && v->type == JSON_STRING && strlen(v->text) != v->count)
        return refuse_nul(w, at);
    switch (type) {
    case FIELD_STRING:
    case FIELD_BYTES:
        return v->type == JSON_STRING ? 0 : wrong_type(w, at, v, "a string");
    case FIELD_BOOL:
        return v->type == JSON_BOOL ? 0 : wrong_type(w, at, v, "a boolean");
    case FIELD_INT:
    case FIELD_INT64:
        return check_int(w, at, v, type == FIELD_INT64);
    case FIELD_NUMBER:
        return v->type == JSON_NUMBER ? 0 : wrong_type(w, at, v, "a number");
    case FIELD_INT_OR_STRING:
        if (v->type == JSON_NUMBER)
            return check_int(w, at, v, false);
        FALLTHROUGH;
    case FIELD_QUANTITY:
        return v->type == JSON_STRING || v->type == JSON_NUMBER
                   ? 0
                   : wrong_type(w, at, v, "a number or a string");
    case FIELD_TIME:
    case FIELD_MICRO_TIME:
        return check_time(w, at, v, type == FIELD_MICRO_TIME);
    case FIELD_OBJECT:
        return check_object(w, f->of, at, v, normal);
    case FIELD_LIST:
        return check_list(w, f, at, v);
    case FIELD_MAP:
        return check_map(w, f, at, v);
    case FIELD_ANY:
        return 0;
    }
    return 0;
}

/* The value that upstream writes when none was given. */
static struct json *
empty_value(struct normalize_walk *w, enum field_type type)
{
    switch (type) {
    case FIELD_STRING:
    case FIELD_BYTES:
        return json_string_n(w->arena, "", 0);
    case FIELD_QUANTITY:
        return json_string_n(w->arena, "0", 1);
    case FIELD_BOOL:
        return json_bool(w->arena, false);
    case FIELD_INT:
    case FIELD_INT64:
    case FIELD_NUMBER:
    case FIELD_INT_OR_STRING:
        return json_number(w->arena, "0");
    case FIELD_OBJECT:
        return json_object(w->arena);
    case FIELD_TIME:
    case FIELD_MICRO_TIME:
    case FIELD_LIST:
    case FIELD_MAP:
    case FIELD_ANY:
        break;
    }
    return json_null(w->arena);
}

static int
wrong_value(struct normalize_walk *w, const struct path_step *at, int r)
{
    CLEANUP_STRBUF struct strbuf path = STRBUF_INIT;

    add_path(at, &path);
    return error_wrap(w->err, r, "%s", path.text);
}

static int
check_value(struct normalize_walk *w, const struct field *f, enum field_type type,
            const struct path_step *at, struct json *v, const struct json *normal)
{
    int r;

    /* In a list or map, null is the empty value, as in upstream's decoder. */
    if (v->type == JSON_NULL && type != FIELD_OBJECT)
        *v = *empty_value(w, type);
    r = check_type(w, f, type, at, v, normal);
    if (r < 0 || f->canonicalize == NULL || type == FIELD_LIST || type == FIELD_MAP)
        return r;
    r = f->canonicalize(w->arena, v, w->err);
    return r < 0 ? wrong_value(w, at, r) : 0;
}

/* The member of that name in `normal`, which usually has it at the same index.
 */
static const struct json *
find_normal(const struct json *normal, const char *name, uint32_t place)
{
    if (json_is(normal, JSON_OBJECT) && place < normal->count
        && strcmp(normal->members[place].name, name) == 0)
        return normal->members[place].value;
    return json_get(normal, name);
}

/* Whether upstream's encoder would leave the value out (Go's omitempty). */
static bool
is_left_out(const struct field *f, const struct json *v)
{
    if (v->type == JSON_NULL)
        return true;
    if ((f->flags & (FIELD_ALWAYS | FIELD_OPTIONAL | FIELD_KEPT)) != 0 && v->type != JSON_ARRAY)
        return false;
    switch (v->type) {
    case JSON_BOOL:
        return !v->boolean;
    case JSON_NUMBER:
        return (f->type == FIELD_INT || f->type == FIELD_INT64) && strcmp(v->text, "0") == 0;
    case JSON_STRING:
        return v->count == 0 && f->type == FIELD_STRING;
    case JSON_ARRAY:
        return v->count == 0 && (f->flags & FIELD_ALWAYS) == 0;
    case JSON_OBJECT:
        return v->count == 0 && f->type == FIELD_MAP;
    case JSON_NULL:
        break;
    }
    return false;
}

static struct json *
zero_value(struct normalize_walk *w, const struct field *f)
{
    struct json *v = empty_value(w, f->type);

    /* Upstream writes null for a text that may be empty or absent. */
    if (f->type == FIELD_STRING && (f->flags & FIELD_KEPT) != 0)
        return json_null(w->arena);
    if (f->type == FIELD_OBJECT)
        (void)check_object(w, f->of, NULL, v, NULL);
    return v;
}

/* The members of an object during the walk: as long as they are in the table's
 * order and none is missing, they are left where they are.
 */
struct sorting {
    const struct record *record;
    struct json *object;
    bool is_sorted;
    unsigned next;                          /* the field after the last one
                                             * seen */
    uint8_t places[RECORD_MAX_FIELDS];      /* fields of the first members */
    struct json *values[RECORD_MAX_FIELDS]; /* by field, once it is not
                                             * sorted */
};

/* Switches to values by field; the first `n` members are in order. */
static void
start_sorting(struct sorting *s, uint32_t n)
{
    s->is_sorted = false;
    memset(s->values, 0, s->record->n_fields * sizeof(s->values[0]));
    for (uint32_t i = 0; i < n; i++)
        s->values[s->places[i]] = s->object->members[i].value;
}

/* Whether a field with FIELD_ALWAYS is missing before that field. */
static bool
is_missing_before(const struct sorting *s, unsigned field)
{
    for (unsigned i = s->next; i < field; i++)
        if ((s->record->fields[i].flags & FIELD_ALWAYS) != 0)
            return true;
    return false;
}

static void
keep_member(struct sorting *s, uint32_t i, const struct field *f, struct json *value)
{
    unsigned field = (unsigned)(f - s->record->fields);

    if (s->is_sorted && (field < s->next || is_missing_before(s, field)))
        start_sorting(s, i);
    if (!s->is_sorted) {
        s->values[field] = value;
        return;
    }
    s->object->members[i].name = f->name;
    s->places[i] = (uint8_t)field;
    s->next = field + 1;
}

static void
drop_member(struct sorting *s, uint32_t i)
{
    if (s->is_sorted)
        start_sorting(s, i);
}

/* Writes the values, which are indexed by field, into the object. */
static void
set_members(struct normalize_walk *w, struct sorting *s)
{
    const struct field *fields = s->record->fields;
    struct json *object = s->object;
    uint32_t count = 0;

    for (unsigned i = 0; i < s->record->n_fields; i++) {
        if (s->values[i] == NULL && (fields[i].flags & FIELD_ALWAYS) != 0)
            s->values[i] = zero_value(w, &fields[i]);
        count += s->values[i] != NULL;
    }
    if (count > object->capacity) {
        object->members = arena_new_array(w->arena, struct json_member, count);
        object->capacity = count;
    }
    object->count = 0;
    object->is_indexed = false;
    for (unsigned i = 0; i < s->record->n_fields; i++)
        if (s->values[i] != NULL)
            object->members[object->count++] = (struct json_member){fields[i].name, s->values[i]};
}

static int
check_object(struct normalize_walk *w, const struct record *record, const struct path_step *at,
             struct json *object, const struct json *normal)
{
    const struct json *known = NULL;
    struct sorting s;
    unsigned guess = 0;
    int r;

    if (object->type != JSON_OBJECT)
        return wrong_type(w, at, object, "an object");
    s.record = record;
    s.object = object;
    s.is_sorted = true;
    s.next = 0;
    for (uint32_t i = 0; i < object->count; i++) {
        struct json_member m = object->members[i];
        struct path_step here = {.up = at, .name = m.name};
        const struct field *f = field_find(record, m.name, guess);

        if (f == NULL) {
            note_unknown(w, &here);
            drop_member(&s, i);
            continue;
        }
        guess = (unsigned)(f - record->fields) + 1;
        if (m.value->type == JSON_NULL) {
            drop_member(&s, i);
            continue;
        }
        if (normal != NULL)
            known = find_normal(normal, m.name, i);
        r = m.value != known ? check_value(w, f, f->type, &here, m.value, known) : 0;
        if (r < 0)
            return r;
        if (is_left_out(f, m.value))
            drop_member(&s, i);
        else
            keep_member(&s, i, f, m.value);
    }
    if (s.is_sorted && is_missing_before(&s, record->n_fields))
        start_sorting(&s, object->count);
    if (!s.is_sorted)
        set_members(w, &s);
    return 0;
}

int
record_normalize_change(const struct record *record, struct arena *arena, struct json *object,
                        const struct json *normal, struct record_notes *notes, struct error *err)
{
    struct normalize_walk w = {.arena = arena, .notes = notes, .err = err};

    if (notes != NULL)
        *notes = (struct record_notes){0};
    return check_object(&w, record, NULL, object, normal);
}

int
record_normalize(const struct record *record, struct arena *arena, struct json *object,
                 struct record_notes *notes, struct error *err)
{
    return record_normalize_change(record, arena, object, NULL, notes, err);
}
