/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/http/object_slice.h"

#include <string.h>

#define METADATA "\"metadata\":"

/* Returns the end of the object that begins at `p`: counts braces outside of
 * strings.
 */
static const char *
skip_object(const char *p)
{
    int depth = 0;

    for (; *p != '\0'; p++) {
        if (*p == '"') {
            for (p++; *p != '"'; p++)
                if (*p == '\\')
                    p++;
        } else if (*p == '{')
            depth++;
        else if (*p == '}' && --depth == 0)
            return p + 1;
    }
    return p;
}

struct object_slice
object_slice_rest(const char *text, size_t length)
{
    const char *from = strstr(text, METADATA);

    return (struct object_slice){
        .from = from,
        .length = length - (size_t)(from - text),
    };
}

struct object_slice
object_slice_metadata(const char *text, size_t length)
{
    const char *from = object_slice_rest(text, length).from + strlen(METADATA);

    return (struct object_slice){
        .from = from,
        .length = (size_t)(skip_object(from) - from),
    };
}
