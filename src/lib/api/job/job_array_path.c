/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/job/job_array_path.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/strbuf.h"

#define MAX_WIDTH 10

static void
add_padded(int64_t number, const char *digits, struct strbuf *out)
{
    int64_t width = 0;

    for (; *digits >= '0' && *digits <= '9' && width < MAX_WIDTH; digits++)
        width = width * 10 + (*digits - '0');
    strbuf_printf(out, "%0*" PRId64, (int)(width < MAX_WIDTH ? width : MAX_WIDTH), number);
}

const char *
job_array_path(struct arena *arena, const char *pattern, int64_t job, int64_t task)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    for (const char *p = pattern; *p != '\0'; p++) {
        const size_t digits = *p == '%' ? strspn(p + 1, "0123456789") : 0;
        const char letter = *p == '%' ? p[1 + digits] : '\0';

        if (letter == '%') {
            strbuf_add(&out, p, digits + 2);
        } else if (letter == 'A' || letter == 'j') {
            add_padded(job, p + 1, &out);
            if (letter == 'j')
                strbuf_printf(&out, "_%" PRId64, task);
        } else if (letter == 'a') {
            add_padded(task, p + 1, &out);
        } else {
            strbuf_add_char(&out, *p);
            continue;
        }
        p += digits + 1;
    }
    return arena_strdup(arena, out.length > 0 ? out.text : "");
}

const char *
job_array_path_of_one(struct arena *arena, const char *pattern, bool *ret_has_task)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    *ret_has_task = false;
    for (const char *p = pattern; *p != '\0'; p++) {
        const size_t digits = *p == '%' ? strspn(p + 1, "0123456789") : 0;
        const char letter = *p == '%' ? p[1 + digits] : '\0';

        strbuf_add(&text, p, letter != '\0' ? digits + 1 : 1);
        if (letter == '\0')
            continue;
        *ret_has_task = *ret_has_task || letter == 'a';
        strbuf_add_char(&text, letter == 'A' ? 'j' : letter);
        p += digits + 1;
    }
    return arena_strdup(arena, text.length > 0 ? text.text : "");
}
