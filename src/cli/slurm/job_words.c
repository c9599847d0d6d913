/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm/job_words.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"

const char *
job_words_next(const char **list, struct arena *arena)
{
    const char *p = *list;
    size_t length = 0;
    bool is_inside = false;

    while (*p == ',')
        p++;
    if (*p == '\0')
        return NULL;
    for (; p[length] != '\0' && (is_inside || p[length] != ','); length++)
        is_inside = p[length] == '[' || (is_inside && p[length] != ']');
    *list = p + length;
    return arena_printf(arena, "%.*s", (int)length, p);
}

bool
job_words_is_job(const char *text)
{
    const size_t digits = strspn(text, "0123456789");
    const char *tasks = text + digits;
    size_t length;

    if (digits == 0 || digits > 18 || strspn(text, "0") == digits)
        return false;
    if (*tasks == '\0')
        return true;
    if (*tasks++ != '_')
        return false;
    if (tasks[0] != '[')
        return tasks[0] != '\0' && tasks[strspn(tasks, "0123456789")] == '\0';
    length = strspn(tasks + 1, "0123456789,-:%");
    return length > 0 && strcmp(tasks + 1 + length, "]") == 0;
}
