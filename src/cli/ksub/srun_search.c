/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ksub/srun_search.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/macro.h"

static bool
is_along_path(const char *program)
{
    const char *path = getenv("PATH");

    while (path != NULL && *path != '\0') {
        size_t length = strcspn(path, ":");
        CLEANUP_FREE char *file = xasprintf("%.*s/%s", (int)length, path, program);

        if (access(file, X_OK) == 0)
            return true;
        path += length + (path[length] == ':');
    }
    return false;
}

static bool
begins_with_word(const char *text, size_t length, const char *word)
{
    size_t n = strlen(word);

    return length >= n && memcmp(text, word, n) == 0
           && (length == n || text[n] == ' ' || text[n] == '\t');
}

static bool
calls_srun(const char *line, size_t length)
{
    static const char *const before[] = {"exec", "time"};

    for (size_t i = 0; i < ARRAY_SIZE(before) + 1; i++) {
        while (length > 0 && (*line == ' ' || *line == '\t')) {
            line++;
            length--;
        }
        if (begins_with_word(line, length, "srun"))
            return true;
        for (size_t j = 0; j < ARRAY_SIZE(before); j++)
            if (begins_with_word(line, length, before[j])) {
                line += strlen(before[j]);
                length -= strlen(before[j]);
                break;
            }
    }
    return false;
}

unsigned
srun_search_find(const char *script, size_t length)
{
    const char *end = script + length;
    unsigned number = 0;

    for (const char *line = script; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *stop = newline != NULL ? newline : end;

        number++;
        if (calls_srun(line, (size_t)(stop - line)))
            return is_along_path("srun") ? 0 : number;
        line = stop + 1;
    }
    return 0;
}
