/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/output/jsonpath_template.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "cli/kctl/output/jsonpath.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

/* The text of a range is read once for each item; `out` is NULL for a pass that
 * only finds its end.
 */
struct template_printing {
    const char *start;
    const char *at;
    const struct json *root;
    struct arena *arena;
    struct error *err;
    unsigned depth; /* of ranges */
};

void
jsonpath_print_value(const struct json *value, struct strbuf *out)
{
    if (json_is(value, JSON_STRING) || json_is(value, JSON_NUMBER))
        strbuf_add_text(out, value->text);
    else
        json_print(value, out);
}

static int
refuse(const struct template_printing *p, const char *what)
{
    return error_set(p->err, -EINVAL, "jsonpath '%.200s': %s at '%.40s'", p->start, what, p->at);
}

static void
skip_blanks(struct template_printing *p)
{
    while (isspace((unsigned char)*p->at))
        p->at++;
}

static bool
take_word(struct template_printing *p, const char *word)
{
    const size_t n = strlen(word);

    if (strncmp(p->at, word, n) != 0 || isalnum((unsigned char)p->at[n]))
        return false;
    p->at += n;
    return true;
}

static char
unescape(char c)
{
    return c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
}

/* Prints "\n"; p->at is at the quote. */
static int
print_literal(struct template_printing *p, struct strbuf *out)
{
    const char quote = *p->at++;

    for (; *p->at != '\0' && *p->at != quote; p->at++) {
        char c = *p->at;

        if (c == '\\' && p->at[1] != '\0')
            c = unescape(*++p->at);
        if (out != NULL)
            strbuf_add_char(out, c);
    }
    if (*p->at != quote)
        return refuse(p, "a quote is not closed");
    p->at++;
    return 0;
}

static int
print_path(struct template_printing *p, const struct json *here, struct strbuf *out)
{
    struct jsonpath_values values = {0};
    int r = jsonpath_select(p->at, p->root, here, p->arena, &values, &p->at, p->err);

    for (size_t i = 0; r == 0 && out != NULL && i < values.count; i++) {
        if (i > 0)
            strbuf_add_char(out, ' ');
        jsonpath_print_value(values.items[i], out);
    }
    return r;
}

static int print_until_end(struct template_printing *p, const struct json *here,
                           struct strbuf *out);

/* Starts after the word "range". */
static int
print_range(struct template_printing *p, const struct json *here, struct strbuf *out)
{
    struct jsonpath_values values = {0};
    const char *body;
    int r;

    skip_blanks(p);
    r = jsonpath_select(p->at, p->root, here, p->arena, &values, &p->at, p->err);
    skip_blanks(p);
    if (r == 0 && *p->at != '}')
        return refuse(p, "'}' is missing");
    if (r < 0)
        return r;
    body = ++p->at;
    p->depth++;
    r = print_until_end(p, NULL, NULL);
    for (size_t i = 0; r == 0 && out != NULL && i < values.count; i++) {
        p->at = body;
        r = print_until_end(p, values.items[i], out);
    }
    p->depth--;
    return r;
}

/* Prints the action after an opening brace. Returns 1 when it was {end}. */
static int
print_action(struct template_printing *p, const struct json *here, struct strbuf *out)
{
    int r = 0;

    skip_blanks(p);
    if (take_word(p, "range")) {
        r = print_range(p, here, out);
        return r < 0 ? r : 0; /* it has consumed its own {end} */
    }
    if (take_word(p, "end")) {
        r = 1;
    } else {
        while (r == 0 && *p->at != '}' && *p->at != '\0') {
            if (*p->at == '"' || *p->at == '\'')
                r = print_literal(p, out);
            else
                r = print_path(p, here, out);
            skip_blanks(p);
        }
    }
    if (r < 0)
        return r;
    skip_blanks(p);
    if (*p->at != '}')
        return refuse(p, "'}' is missing");
    p->at++;
    return r;
}

/* Prints to the end of the text, or of the enclosing range. */
static int
print_until_end(struct template_printing *p, const struct json *here, struct strbuf *out)
{
    while (*p->at != '\0') {
        int r;

        if (*p->at != '{') {
            if (out != NULL)
                strbuf_add_char(out, *p->at);
            p->at++;
            continue;
        }
        p->at++;
        r = print_action(p, here, out);
        if (r < 0)
            return r;
        if (r == 1 && p->depth == 0)
            return refuse(p, "{end} without {range}");
        if (r == 1)
            return 0;
    }
    return p->depth > 0 ? refuse(p, "{end} is missing") : 0;
}

int
jsonpath_template_print(const char *text, const struct json *root, struct strbuf *out,
                        struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct template_printing p = {
        .start = text,
        .at = text,
        .root = root,
        .arena = arena,
        .err = err,
    };

    if (strchr(text, '{') == NULL)
        return refuse(&p, "it contains no {.path}");
    return print_until_end(&p, root, out);
}
