/* SPDX-License-Identifier: Apache-2.0 */
/* json_path.c - finds a nested member by a path with dots */
#include "lib/json/json.h"

#include "lib/base/decimal.h"

/* Whether `name` is the first name of the path; returns its length. */
static bool
begins_path(const char *name, const char *path, size_t *ret_length)
{
    size_t n = 0;

    while (name[n] != '\0' && name[n] == path[n] && path[n] != '.')
        n++;
    *ret_length = n;
    return name[n] == '\0' && (path[n] == '.' || path[n] == '\0');
}

struct json *
json_get_path(const struct json *object, const char *path)
{
    const struct json *at = object;

    for (const char *p = path;;) {
        struct json *found = NULL;
        size_t n = 0;

        if (at == NULL || at->type != JSON_OBJECT)
            return NULL;
        for (uint32_t i = 0; i < at->count && found == NULL; i++)
            if (begins_path(at->members[i].name, p, &n))
                found = at->members[i].value;
        if (found == NULL || p[n] == '\0')
            return found;
        at = found;
        p += n + 1;
    }
}

const char *
json_path_text(const struct json *object, const char *path)
{
    return json_text(json_get_path(object, path));
}
