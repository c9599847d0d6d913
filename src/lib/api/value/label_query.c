/* SPDX-License-Identifier: Apache-2.0 */
/* label_query.c - the text of `labelSelector=`: "tier in (a,b),!old,n>3"
 *
 * A scanner, a parser with one token of lookahead, and the requirements that
 * the parser makes.
 *
 * Source: k8s.io/apimachinery/pkg/labels; the error texts are the same.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/value/name.h"
#include "lib/api/value/selector.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

enum token {
    TOKEN_END,
    TOKEN_ERROR,
    TOKEN_IDENTIFIER,
    TOKEN_IN,
    TOKEN_NOT_IN,
    TOKEN_COMMA,
    TOKEN_OPEN,
    TOKEN_CLOSE,
    TOKEN_NOT,
    TOKEN_EQUALS,
    TOKEN_DOUBLE_EQUALS,
    TOKEN_NOT_EQUALS,
    TOKEN_GREATER,
    TOKEN_LESS,
    TOKEN_NONE,
};

static const char *const symbols[] = {
    [TOKEN_COMMA] = ",",       [TOKEN_OPEN] = "(",    [TOKEN_CLOSE] = ")",
    [TOKEN_NOT] = "!",         [TOKEN_EQUALS] = "=",  [TOKEN_DOUBLE_EQUALS] = "==",
    [TOKEN_NOT_EQUALS] = "!=", [TOKEN_GREATER] = ">", [TOKEN_LESS] = "<",
};

enum comparison {
    ONE_OF,
    NONE_OF,
    EXISTS,
    IS_ABSENT,
    ABOVE,
    BELOW,
};

struct values {
    const char **items;
    unsigned count, capacity;
};

struct requirement {
    const char *key;
    enum comparison comparison;
    struct values values;
    int64_t bound; /* operand of ABOVE and BELOW */
    struct requirement *next;
};

struct label_query {
    struct requirement *first;
};

/* A limit, because each candidate object is compared with every term, in a
 * watch at each change.
 */
#define MOST_TERMS 500u

struct scanner {
    struct arena *arena;
    unsigned n_terms; /* requirements and values */
    const char *at;
    enum token token; /* current token */
    const char *text; /* text of the current token */
    struct error *err;
};

/* --- scanning ------------------------------------------------------------- */

static void
take_symbol(struct scanner *s)
{
    size_t longest = 0;

    s->token = TOKEN_ERROR;
    for (unsigned i = TOKEN_COMMA; i < ARRAY_SIZE(symbols); i++) {
        size_t n = strlen(symbols[i]);

        if (n > longest && strncmp(s->at, symbols[i], n) == 0) {
            longest = n;
            s->token = (enum token)i;
        }
    }
    s->text = arena_strndup(s->arena, s->at, longest);
    s->at += longest;
}

/* Moves to the next token. */
static void
advance(struct scanner *s)
{
    size_t n;

    s->at += strspn(s->at, " \t\r\n");
    n = strcspn(s->at, " \t\r\n=!(),><");
    if (*s->at == '\0') {
        s->token = TOKEN_END;
        s->text = "";
    } else if (n == 0) {
        take_symbol(s);
    } else {
        s->text = arena_strndup(s->arena, s->at, n);
        s->token = strcmp(s->text, "in") == 0      ? TOKEN_IN
                   : strcmp(s->text, "notin") == 0 ? TOKEN_NOT_IN
                                                   : TOKEN_IDENTIFIER;
        s->at += n;
    }
}

/* "in" and "notin" are ordinary names except where an operator is expected. */
static enum token
peek(const struct scanner *s)
{
    return s->token == TOKEN_IN || s->token == TOKEN_NOT_IN ? TOKEN_IDENTIFIER : s->token;
}

static int
unexpected(struct scanner *s, const char *wanted)
{
    return error_set(s->err, -EINVAL, "unable to parse requirement: found '%s', expected: %s",
                     s->text, wanted);
}

/* --- values --------------------------------------------------------------- */

static int
by_text(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;

    return strcmp(*x, *y);
}

static void
add_value(struct scanner *s, struct values *v, const char *value)
{
    if (++s->n_terms > MOST_TERMS)
        return; /* too many terms are refused below */
    for (unsigned i = 0; i < v->count; i++)
        if (strcmp(v->items[i], value) == 0)
            return;
    if (v->count == v->capacity) {
        unsigned capacity = v->capacity ? v->capacity * 2 : 4;
        const char **longer = arena_new_array(s->arena, const char *, capacity);

        if (v->count > 0)
            memcpy(longer, v->items, v->count * sizeof(*longer));
        v->items = longer;
        v->capacity = capacity;
    }
    v->items[v->count++] = value;
}

/* Reads the values between parentheses; a comma without a name before or after
 * it denotes the empty value.
 */
static int
parse_list(struct scanner *s, struct values *v)
{
    for (;;) {
        if (peek(s) == TOKEN_IDENTIFIER) {
            add_value(s, v, s->text);
            advance(s);
            if (s->token == TOKEN_CLOSE)
                return 0;
            if (s->token != TOKEN_COMMA)
                return unexpected(s, "',' or ')'");
        } else if (s->token == TOKEN_COMMA) {
            if (v->count == 0)
                add_value(s, v, "");
            advance(s);
            if (s->token == TOKEN_CLOSE) {
                add_value(s, v, "");
                return 0;
            }
            if (s->token == TOKEN_COMMA) {
                advance(s);
                add_value(s, v, "");
            }
        } else {
            return unexpected(s, "',', or identifier");
        }
    }
}

static int
parse_values(struct scanner *s, struct values *v)
{
    int r = 0;

    if (s->token != TOKEN_OPEN)
        return error_set(s->err, -EINVAL,
                         "unable to parse requirement: found '%s' expected: "
                         "'('",
                         s->text);
    advance(s);
    if (peek(s) == TOKEN_IDENTIFIER || s->token == TOKEN_COMMA)
        r = parse_list(s, v);
    else if (s->token == TOKEN_CLOSE)
        add_value(s, v, "");
    else
        return unexpected(s, "',', ')' or identifier");
    if (r < 0)
        return r;
    advance(s);
    return 0;
}

static int
parse_one_value(struct scanner *s, struct values *v)
{
    if (s->token == TOKEN_END || s->token == TOKEN_COMMA) {
        add_value(s, v, "");
        return 0;
    }
    if (peek(s) != TOKEN_IDENTIFIER)
        return unexpected(s, "identifier");
    add_value(s, v, s->text);
    advance(s);
    return 0;
}

/* --- requirements --------------------------------------------------------- */

/* Quotes a text the way upstream's messages do. */
static const char *
quoted(struct scanner *s, const char *text)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    json_print_string(text, strlen(text), &out);
    return arena_strndup(s->arena, out.text, out.length);
}

static int
check_key(struct scanner *s, const char *key)
{
    const char *why = name_refuse_all(s->arena, NAME_QUALIFIED, key, "; ");

    if (why == NULL)
        return 0;
    return error_set(s->err, -EINVAL,
                     "unable to parse requirement: <nil>: Invalid value: "
                     "%s: %s",
                     quoted(s, key), why);
}

static int
check_values(struct scanner *s, struct requirement *r)
{
    struct values *v = &r->values;
    char *end;

    qsort(v->items, v->count, sizeof(*v->items), by_text);
    if (r->comparison >= ABOVE) {
        errno = 0;
        r->bound = strtoll(v->items[0], &end, 10);
        if (end == v->items[0] || *end != '\0' || errno != 0)
            return error_set(s->err, -EINVAL,
                             "unable to parse requirement: values[0]: Invalid "
                             "value: %s: for 'Gt', 'Lt' operators, the "
                             "value must be an integer",
                             quoted(s, v->items[0]));
    }
    for (unsigned i = 0; i < v->count; i++) {
        const char *why = name_refuse_all(s->arena, NAME_LABEL_VALUE, v->items[i], "; ");

        if (why != NULL)
            return error_set(s->err, -EINVAL,
                             "unable to parse requirement: values[%u][%s]: "
                             "Invalid value: %s: %s",
                             i, r->key, quoted(s, v->items[i]), why);
    }
    return 0;
}

/* Reads the operator and the values after a key. */
static int
parse_comparison(struct scanner *s, struct requirement *r)
{
    static const enum comparison comparisons[TOKEN_NONE] = {
        [TOKEN_NOT_IN] = NONE_OF,
        [TOKEN_NOT_EQUALS] = NONE_OF,
        [TOKEN_GREATER] = ABOVE,
        [TOKEN_LESS] = BELOW,
    };
    enum token op = s->token;
    int result;

    switch (op) {
    case TOKEN_IN:
    case TOKEN_NOT_IN:
    case TOKEN_EQUALS:
    case TOKEN_DOUBLE_EQUALS:
    case TOKEN_NOT_EQUALS:
    case TOKEN_GREATER:
    case TOKEN_LESS:
        break;
    default:
        return unexpected(s, "in, notin, =, ==, !=, gt, lt");
    }
    r->comparison = comparisons[op];
    advance(s);
    result = op == TOKEN_IN || op == TOKEN_NOT_IN ? parse_values(s, &r->values)
                                                  : parse_one_value(s, &r->values);
    return result < 0 ? result : check_values(s, r);
}

static int
parse_requirement(struct scanner *s, struct requirement *r)
{
    bool negated = s->token == TOKEN_NOT;
    int result;

    if (negated)
        advance(s);
    if (peek(s) != TOKEN_IDENTIFIER)
        return unexpected(s, "identifier");
    r->key = s->text;
    result = check_key(s, r->key);
    if (result < 0)
        return result;
    advance(s);
    if (negated || s->token == TOKEN_END || s->token == TOKEN_COMMA) {
        r->comparison = negated ? IS_ABSENT : EXISTS;
        return 0;
    }
    return parse_comparison(s, r);
}

int
label_query_parse(struct arena *arena, const char *text, struct label_query **ret_query,
                  struct error *err)
{
    struct scanner s = {.arena = arena, .at = text, .err = err};
    struct label_query *query = arena_alloc(arena, sizeof(*query));
    struct requirement **end = &query->first;
    int r;

    advance(&s);
    while (peek(&s) == TOKEN_IDENTIFIER || s.token == TOKEN_NOT) {
        *end = arena_alloc(arena, sizeof(**end));
        r = parse_requirement(&s, *end);
        if (r < 0)
            return r;
        if (++s.n_terms > MOST_TERMS)
            return error_set(err, -EINVAL,
                             "a label selector may have %u requirements and "
                             "values, and not more",
                             MOST_TERMS);
        end = &(*end)->next;
        if (s.token == TOKEN_END)
            break;
        if (s.token != TOKEN_COMMA)
            return error_set(err, -EINVAL, "found '%s', expected: ',' or 'end of string'", s.text);
        advance(&s);
        if (peek(&s) != TOKEN_IDENTIFIER && s.token != TOKEN_NOT)
            return error_set(err, -EINVAL, "found '%s', expected: identifier after ','", s.text);
    }
    if (s.token != TOKEN_END)
        return error_set(err, -EINVAL,
                         "found '%s', expected: !, identifier, or 'end of "
                         "string'",
                         s.text);
    *ret_query = query;
    return 0;
}

/* --- matching ------------------------------------------------------------- */

static bool
is_among(const struct values *v, const char *value)
{
    for (unsigned i = 0; i < v->count; i++)
        if (strcmp(v->items[i], value) == 0)
            return true;
    return false;
}

static bool
compares(const struct requirement *r, const char *value)
{
    char *end;
    int64_t n;

    if (value == NULL)
        return false;
    errno = 0;
    n = strtoll(value, &end, 10);
    if (end == value || *end != '\0' || errno != 0)
        return false;
    return r->comparison == ABOVE ? n > r->bound : n < r->bound;
}

static bool
requirement_matches(const struct requirement *r, const char *value)
{
    switch (r->comparison) {
    case ONE_OF:
        return value != NULL && is_among(&r->values, value);
    case NONE_OF:
        return value == NULL || !is_among(&r->values, value);
    case EXISTS:
        return value != NULL;
    case IS_ABSENT:
        return value == NULL;
    case ABOVE:
    case BELOW:
        return compares(r, value);
    }
    return false;
}

bool
label_query_matches(const struct label_query *query, const struct string_map *labels)
{
    for (const struct requirement *r = query->first; r != NULL; r = r->next)
        if (!requirement_matches(r, string_map_find(labels, r->key)))
            return false;
    return true;
}
