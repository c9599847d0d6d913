/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/output/jsonpath.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/json/json.h"

struct jsonpath_cursor {
    const char *start; /* of the whole text, for messages */
    const char *at;
    const struct json *root;
    struct arena *arena;
    struct error *err;
};

static int
refuse(const struct jsonpath_cursor *c, const char *what)
{
    return error_set(c->err, -EINVAL, "'%.200s': %s at '%.40s'", c->start, what, c->at);
}

static void
add(struct jsonpath_cursor *c, struct jsonpath_values *values, const struct json *value)
{
    if (value == NULL)
        return;
    if (values->count == values->room) {
        const struct json **items;

        values->room = values->room > 0 ? values->room * 2 : 8;
        items = arena_new_array(c->arena, const struct json *, values->room);
        if (values->count > 0)
            memcpy(items, values->items, values->count * sizeof(*items));
        values->items = items;
    }
    values->items[values->count++] = value;
}

static void
add_all(struct jsonpath_cursor *c, struct jsonpath_values *to, const struct json *value)
{
    for (uint32_t i = 0; i < json_count(value); i++)
        add(c, to, json_is(value, JSON_OBJECT) ? value->members[i].value : value->items[i]);
}

/* ..name: at any depth; `*` matches everything. */
static void
add_below(struct jsonpath_cursor *c, struct jsonpath_values *to, const struct json *value,
          const char *name)
{
    if (strcmp(name, "*") == 0)
        add_all(c, to, value);
    else if (json_is(value, JSON_OBJECT))
        add(c, to, json_get(value, name));
    for (uint32_t i = 0; i < json_count(value); i++)
        add_below(c, to, json_is(value, JSON_OBJECT) ? value->members[i].value : value->items[i],
                  name);
}

/* ---- Names ---- */

static bool
ends_name(char c)
{
    return c == '\0' || strchr(".[]{}()=!<>, \t\n'\"", c) != NULL;
}

/* A name after a dot; \ escapes the next character. */
static const char *
take_name(struct jsonpath_cursor *c)
{
    char *name = arena_alloc(c->arena, strlen(c->at) + 1);
    size_t n = 0;

    while (!ends_name(*c->at)) {
        if (c->at[0] == '\\' && c->at[1] != '\0')
            c->at++;
        name[n++] = *c->at++;
    }
    name[n] = '\0';
    return name;
}

static const char *
take_quoted(struct jsonpath_cursor *c)
{
    const char quote = *c->at++;
    char *name = arena_alloc(c->arena, strlen(c->at) + 1);
    size_t n = 0;

    while (*c->at != '\0' && *c->at != quote) {
        if (c->at[0] == '\\' && c->at[1] != '\0')
            c->at++;
        name[n++] = *c->at++;
    }
    name[n] = '\0';
    if (*c->at != quote)
        return NULL;
    c->at++;
    return name;
}

static void
skip_blanks(struct jsonpath_cursor *c)
{
    while (isspace((unsigned char)*c->at))
        c->at++;
}

/* ---- Filters ---- */

static bool
to_number(const struct json *value, double *ret)
{
    const char *text;
    char *end;

    if (!json_is(value, JSON_NUMBER) && !json_is(value, JSON_STRING))
        return false;
    text = value->text;
    *ret = strtod(text, &end);
    return end != text && *end == '\0';
}

static int
compare(const struct json *a, const struct json *b)
{
    double x, y;

    if (to_number(a, &x) && to_number(b, &y))
        return (x > y) - (x < y);
    if (json_is(a, JSON_BOOL) && json_is(b, JSON_BOOL))
        return (int)a->boolean - (int)b->boolean;
    if (json_is(a, JSON_STRING) && json_is(b, JSON_STRING))
        return strcmp(a->text, b->text);
    return json_equals(a, b) ? 0 : 2; /* neither less nor greater */
}

struct jsonpath_comparison {
    const char *text;
    bool less, equal, more;
};

static const struct jsonpath_comparison operators[] = {
    {"==", false, true, false}, {"!=", true, false, true}, {"<=", true, true, false},
    {">=", false, true, true},  {"<", true, false, false}, {">", false, false, true},
};

static const struct jsonpath_comparison *
take_operator(struct jsonpath_cursor *c)
{
    for (size_t i = 0; i < ARRAY_SIZE(operators); i++)
        if (strncmp(c->at, operators[i].text, strlen(operators[i].text)) == 0) {
            c->at += strlen(operators[i].text);
            return &operators[i];
        }
    return NULL;
}

static bool
holds(const struct jsonpath_comparison *op, const struct json *a, const struct json *b)
{
    int order = compare(a, b);

    if (order == 2)
        return op->less && op->more;
    return order < 0 ? op->less : order > 0 ? op->more : op->equal;
}

static int take_path(struct jsonpath_cursor *c, const struct json *here,
                     struct jsonpath_values *values);

/* "@.a", "x", 'x', 3, true: its first value, NULL if there is none. */
static int
take_operand(struct jsonpath_cursor *c, const struct json *here, const struct json **ret_value)
{
    struct jsonpath_values values = {0};
    const char *start;
    int r;

    skip_blanks(c);
    *ret_value = NULL;
    if (*c->at == '@' || *c->at == '$' || *c->at == '.') {
        r = take_path(c, here, &values);
        if (r == 0 && values.count > 0)
            *ret_value = values.items[0];
        skip_blanks(c);
        return r;
    }
    if (*c->at == '"' || *c->at == '\'') {
        const char *text = take_quoted(c);

        if (text == NULL)
            return refuse(c, "a quote is not closed");
        *ret_value = json_string(c->arena, text);
        skip_blanks(c);
        return 0;
    }
    start = c->at;
    while (*c->at != '\0' && *c->at != ')' && !isspace((unsigned char)*c->at))
        c->at++;
    *ret_value = json_parse(c->arena, start, (size_t)(c->at - start), NULL, NULL);
    if (*ret_value == NULL) {
        c->at = start;
        return refuse(c, "expected a path or a value");
    }
    skip_blanks(c);
    return 0;
}

/* Evaluates "?(...)" for one item, starting after "?(". */
static int
take_filter(struct jsonpath_cursor *c, const struct json *item, bool *ret_holds)
{
    const struct json *left, *right;
    const struct jsonpath_comparison *op;
    int r = take_operand(c, item, &left);

    if (r < 0)
        return r;
    op = take_operator(c);
    *ret_holds = left != NULL;
    if (op != NULL) {
        r = take_operand(c, item, &right);
        if (r < 0)
            return r;
        *ret_holds = left != NULL && right != NULL && holds(op, left, right);
    }
    if (*c->at != ')')
        return refuse(c, "')' is missing");
    c->at++;
    return 0;
}

static int
filter(struct jsonpath_cursor *c, const struct jsonpath_values *of, struct jsonpath_values *to)
{
    const char *start = c->at;
    bool is_true = false;
    int r = take_filter(c, NULL, &is_true); /* parses it even without items */
    const char *end = c->at;

    for (size_t i = 0; r == 0 && i < of->count; i++)
        for (uint32_t k = 0; r == 0 && k < json_count(of->items[i]); k++) {
            const struct json *list = of->items[i];
            const struct json *item =
                json_is(list, JSON_OBJECT) ? list->members[k].value : list->items[k];

            c->at = start;
            r = take_filter(c, item, &is_true);
            if (r == 0 && is_true)
                add(c, to, item);
        }
    if (r == 0)
        c->at = end;
    return r;
}

/* ---- Steps ---- */

struct slice {
    long first, end, step;
    bool has_first, has_end, is_one;
};

static bool
take_long(struct jsonpath_cursor *c, long *ret)
{
    char *end;

    if (*c->at != '-' && !isdigit((unsigned char)*c->at))
        return false;
    *ret = strtol(c->at, &end, 10);
    if (end == c->at)
        return false;
    c->at = end;
    return true;
}

static int
take_slice(struct jsonpath_cursor *c, struct slice *s)
{
    *s = (struct slice){.step = 1};
    s->has_first = take_long(c, &s->first);
    if (*c->at != ':') {
        s->is_one = true;
        return s->has_first ? 0 : refuse(c, "expected a number");
    }
    c->at++;
    s->has_end = take_long(c, &s->end);
    if (*c->at == ':') {
        c->at++;
        if (!take_long(c, &s->step) || s->step <= 0)
            return refuse(c, "a step must be a number above 0");
    }
    return 0;
}

static void
add_slice(struct jsonpath_cursor *c, struct jsonpath_values *to, const struct json *list,
          const struct slice *s)
{
    const long n = (long)json_count(list);
    long first = s->has_first ? s->first : 0;
    long end = s->has_end ? s->end : n;

    if (!json_is(list, JSON_ARRAY))
        return;
    if (first < 0)
        first += n;
    if (s->is_one)
        end = first + 1;
    else if (end < 0)
        end += n;
    for (long i = first < 0 ? (s->is_one ? n : 0) : first; i < end && i < n; i += s->step)
        add(c, to, json_at(list, (uint32_t)i));
}

/* "[...]", starting after the bracket. */
static int
take_brackets(struct jsonpath_cursor *c, const struct jsonpath_values *of,
              struct jsonpath_values *to)
{
    if (strncmp(c->at, "?(", 2) == 0) {
        int r;

        c->at += 2;
        r = filter(c, of, to);
        if (r < 0)
            return r;
    } else if (*c->at == '*') {
        c->at++;
        for (size_t i = 0; i < of->count; i++)
            add_all(c, to, of->items[i]);
    } else {
        for (;;) {
            struct slice slice;

            if (*c->at == '\'' || *c->at == '"') {
                const char *name = take_quoted(c);

                if (name == NULL)
                    return refuse(c, "a quote is not closed");
                for (size_t i = 0; i < of->count; i++)
                    add(c, to, json_get(of->items[i], name));
            } else {
                int r = take_slice(c, &slice);

                if (r < 0)
                    return r;
                for (size_t i = 0; i < of->count; i++)
                    add_slice(c, to, of->items[i], &slice);
            }
            skip_blanks(c);
            if (*c->at != ',')
                break;
            c->at++;
            skip_blanks(c);
        }
    }
    if (*c->at != ']')
        return refuse(c, "']' is missing");
    c->at++;
    return 0;
}

static int
take_dots(struct jsonpath_cursor *c, const struct jsonpath_values *of, struct jsonpath_values *to)
{
    const bool is_deep = c->at[0] == '.' && c->at[1] == '.';
    const char *name;

    c->at += is_deep ? 2 : 1;
    if (!is_deep && (*c->at == '[' || *c->at == '}' || *c->at == '\0')) {
        *to = *of; /* "{.}", ".[0]" */
        return 0;
    }
    name = take_name(c);
    if (name[0] == '\0')
        return refuse(c, "expected a name");
    for (size_t i = 0; i < of->count; i++)
        if (is_deep)
            add_below(c, to, of->items[i], name);
        else if (strcmp(name, "*") == 0)
            add_all(c, to, of->items[i]);
        else
            add(c, to, json_get(of->items[i], name));
    return 0;
}

static int
take_path(struct jsonpath_cursor *c, const struct json *here, struct jsonpath_values *values)
{
    struct jsonpath_values at = {0};
    int r = 0;

    if (*c->at == '$')
        here = c->root;
    if (*c->at == '$' || *c->at == '@')
        c->at++;
    add(c, &at, here);
    while (r == 0 && (*c->at == '.' || *c->at == '[')) {
        struct jsonpath_values next = {0};

        if (*c->at == '.') {
            r = take_dots(c, &at, &next);
        } else {
            c->at++;
            r = take_brackets(c, &at, &next);
        }
        at = next;
    }
    for (size_t i = 0; r == 0 && i < at.count; i++)
        add(c, values, at.items[i]);
    return r;
}

int
jsonpath_select(const char *text, const struct json *root, const struct json *here,
                struct arena *arena, struct jsonpath_values *values, const char **ret_end,
                struct error *err)
{
    struct jsonpath_cursor c = {
        .start = text,
        .at = text,
        .root = root,
        .arena = arena,
        .err = err,
    };
    int r;

    if (strchr("$@.[", *text) == NULL || *text == '\0')
        return refuse(&c, "expected a path");
    r = take_path(&c, here, values);
    if (r == 0)
        *ret_end = c.at;
    return r;
}

int
jsonpath_find(const char *text, const struct json *root, struct arena *arena,
              struct jsonpath_values *values, struct error *err)
{
    const size_t length = strlen(text);
    const char *end = NULL;
    int r;

    if (length >= 2 && text[0] == '{' && text[length - 1] == '}')
        text = arena_strndup(arena, text + 1, length - 2);
    if (strchr("$@.[", *text) == NULL || *text == '\0')
        text = arena_printf(arena, ".%s", text);
    r = jsonpath_select(text, root, root, arena, values, &end, err);
    if (r == 0 && *end != '\0')
        return error_set(err, -EINVAL, "'%.200s' must be a single path: '%.40s' is left over", text,
                         end);
    return r;
}
