/* SPDX-License-Identifier: Apache-2.0 */
/* A path is decoded once and then compared, so what it means must not depend on how often it
 * is decoded: an escaped NUL or a broken escape is refused and not passed on. Dots are left
 * alone because routes are compared literally, and no file is ever opened by a target.
 */
#include "lib/http/target.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"

static int
hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes `length` bytes to *out, adds a NUL and moves *out behind it. The
 * decoded text is never longer.
 */
static int
decode(const char *text, size_t length, bool plus_is_space, char **out)
{
    char *to = *out;

    for (size_t i = 0; i < length; i++) {
        char c = text[i];

        if (c == '%') {
            int high = i + 2 < length ? hex_value(text[i + 1]) : -1;
            int low = high >= 0 ? hex_value(text[i + 2]) : -1;

            if (low < 0 || high + low == 0)
                return -EINVAL;
            c = (char)(high << 4 | low);
            i += 2;
        } else if (c == '+' && plus_is_space) {
            c = ' ';
        } else if ((unsigned char)c <= ' ' || c == '\x7f') {
            return -EINVAL;
        }
        *to++ = c;
    }
    *to++ = '\0';
    *out = to;
    return 0;
}

static size_t
count_parameters(const char *query, const char *end)
{
    size_t count = query < end ? 1 : 0;

    for (; query < end; query++)
        count += *query == '&';
    return count;
}

static int
decode_parameter(const char *text, const char *end, struct target_parameter *parameter, char **out)
{
    const char *equals = memchr(text, '=', (size_t)(end - text));
    const char *name_end = equals != NULL ? equals : end;
    int r;

    parameter->name = *out;
    r = decode(text, (size_t)(name_end - text), true, out);
    if (r < 0)
        return r;
    parameter->value = *out;
    text = equals != NULL ? equals + 1 : end;
    return decode(text, (size_t)(end - text), true, out);
}

static int
decode_query(const char *query, const char *end, struct target_parameter *parameters,
             size_t *ret_count, char **out)
{
    size_t count = 0;

    while (query < end) {
        const char *next = memchr(query, '&', (size_t)(end - query));
        int r;

        if (next == NULL)
            next = end;
        if (next > query) {
            r = decode_parameter(query, next, &parameters[count++], out);
            if (r < 0)
                return r;
        }
        query = next + 1;
    }
    *ret_count = count;
    return 0;
}

/* An absolute URL (as sent to a proxy) without its scheme and authority. */
static const char *
skip_authority(const char *text)
{
    static const char scheme[] = "http://";

    if (strncmp(text, scheme, sizeof(scheme) - 1) != 0)
        return text;
    text += sizeof(scheme) - 1;
    return text + strcspn(text, "/?#");
}

void
target_fini(struct target *t)
{
    free(t->memory);
    *t = (struct target){0};
}

int
target_parse(const char *text, struct target *ret_target)
{
    const char *path = skip_authority(text);
    size_t path_length = strcspn(path, "?#");
    const char *query = path + path_length + (path[path_length] == '?');
    const char *end = query + strcspn(query, "#");
    size_t most = count_parameters(query, end);
    size_t table = most * sizeof(struct target_parameter);
    struct target t = {0};
    char *out;
    int r;

    if (path[0] != '/')
        return -EINVAL;
    /* The table comes first, for its alignment; then at most every byte of the
     * text, two NULs for each parameter and one for the path.
     */
    t.memory = xmalloc(table + strlen(path) + 2 * most + 1);
    out = t.memory + table;
    t.path = out;
    t.parameters = (struct target_parameter *)(void *)t.memory;
    r = decode(path, path_length, false, &out);
    if (r == 0)
        r = decode_query(query, end, (struct target_parameter *)(void *)t.memory, &t.n_parameters,
                         &out);
    if (r < 0) {
        free(t.memory);
        return r;
    }
    *ret_target = t;
    return 0;
}

const char *
target_find(const struct target *t, const char *name)
{
    for (size_t i = 0; i < t->n_parameters; i++)
        if (strcmp(t->parameters[i].name, name) == 0)
            return t->parameters[i].value;
    return NULL;
}

static bool
is_unreserved(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-'
           || c == '.' || c == '_' || c == '~';
}

void
target_escape(struct strbuf *out, const char *text)
{
    static const char digits[] = "0123456789ABCDEF";

    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;

        if (is_unreserved(*text)) {
            strbuf_add_char(out, *text);
            continue;
        }
        strbuf_add_char(out, '%');
        strbuf_add_char(out, digits[c >> 4]);
        strbuf_add_char(out, digits[c & 15]);
    }
}
