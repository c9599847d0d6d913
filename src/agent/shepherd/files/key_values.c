/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/shepherd/files/key_values.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/base/strbuf.h"

static const char end_name[] = "end";

void
key_values_begin(struct strbuf *out, const char *title)
{
    strbuf_add_text(out, title);
    strbuf_add_char(out, '\n');
}

static void
put(struct strbuf *out, const char *name, const char *bytes, size_t length)
{
    strbuf_printf(out, "%s=%zu:", name, length);
    strbuf_add(out, bytes, length);
    strbuf_add_char(out, '\n');
}

void
key_values_put_text(struct strbuf *out, const char *name, const char *text)
{
    if (text != NULL)
        put(out, name, text, strlen(text));
}

void
key_values_put_number(struct strbuf *out, const char *name, int64_t number)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    strbuf_printf(&text, "%" PRId64, number);
    put(out, name, text.text, text.length);
}

void
key_values_end(struct strbuf *out)
{
    put(out, end_name, "", 0);
}

/* Splits one entry off [at, end): terminates its name and its value. Returns
 * where the next entry starts, or NULL for a malformed one.
 */
static char *
cut(char *at, const char *end, const char **ret_name, char **ret_value)
{
    char *equals = memchr(at, '=', (size_t)(end - at));
    char *colon;
    unsigned long length;

    if (equals == NULL || equals == at || equals + 1 == end || equals[1] < '0' || equals[1] > '9')
        return NULL;
    errno = 0;
    length = strtoul(equals + 1, &colon, 10);
    if (errno != 0 || colon >= end || *colon != ':' || length >= (size_t)(end - colon - 1)
        || colon[1 + length] != '\n' || memchr(colon + 1, '\0', length) != NULL)
        return NULL;
    *equals = '\0';
    colon[1 + length] = '\0';
    *ret_name = at;
    *ret_value = colon + 1;
    return colon + 2 + length;
}

static int
malformed(struct error *err, const char *title)
{
    return error_set(err, -EBADMSG, "the record '%s' is incomplete or malformed", title);
}

/* Splits all entries once; key_values_next then walks over them. */
static int
check(char *at, const char *end, const char *title, struct error *err)
{
    while (at < end) {
        const char *name;
        char *value;

        at = cut(at, end, &name, &value);
        if (at == NULL)
            return malformed(err, title);
        if (strcmp(name, end_name) == 0)
            return at == end ? 0 : malformed(err, title);
    }
    return malformed(err, title);
}

int
key_values_open(struct key_values *k, char *bytes, size_t length, const char *title,
                struct error *err)
{
    size_t title_length = strlen(title);
    int r;

    if (length <= title_length || bytes[title_length] != '\n'
        || memcmp(bytes, title, title_length) != 0)
        return error_set(err, -EPROTO, "this is not a record '%s', or of another version", title);
    r = check(bytes + title_length + 1, bytes + length, title, err);
    if (r == 0)
        k->at = bytes + title_length + 1;
    return r;
}

bool
key_values_next(struct key_values *k, const char **ret_name, char **ret_value)
{
    const char *name = k->at;
    char *length = k->at + strlen(name) + 1;
    char *value = strchr(length, ':') + 1;

    if (strcmp(name, end_name) == 0)
        return false;
    *ret_name = name;
    *ret_value = value;
    k->at = value + strlen(value) + 1;
    return true;
}

int
key_values_parse_number(const char *value, int64_t *ret_number)
{
    char *end;
    long long number;

    errno = 0;
    number = strtoll(value, &end, 10);
    if (end == value || *end != '\0' || errno != 0)
        return -EINVAL;
    *ret_number = number;
    return 0;
}
