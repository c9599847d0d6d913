/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ksub/srun_search.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/shell/shell_reader.h"
#include "cli/shell/shell_word.h"
#include "lib/base/alloc.h"
#include "lib/base/macro.h"

struct srun_search {
    unsigned line;   /* of the first call of one that is not there; 0: none */
    bool is_guarded; /* the script asks whether it is there, or defines it */
};

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

/* The name is the first word of a text such as "srun ./a" behind eval, or of
 * "srun=..." behind alias.
 */
static bool
is_srun(const char *text, size_t length)
{
    size_t n = 0;
    const char *slash;

    while (n < length && strchr(" \t=", text[n]) == NULL)
        n++;
    slash = memrchr(text, '/', n);
    if (slash != NULL) {
        n -= (size_t)(slash + 1 - text);
        text = slash + 1;
    }
    return n == 4 && memcmp(text, "srun", 4) == 0;
}

static bool
is_installed(const char *text, size_t length)
{
    CLEANUP_FREE char *path = NULL;

    if (memchr(text, '/', length) == NULL)
        return is_along_path("srun");
    path = xasprintf("%.*s", (int)length, text);
    return access(path, X_OK) == 0;
}

static void
note(enum shell_part part, const char *text, size_t length, unsigned line, void *context)
{
    struct srun_search *s = context;

    if (part == SHELL_COMMENT || !is_srun(text, length))
        return;
    if (part == SHELL_LOOKUP)
        s->is_guarded = true;
    else if (s->line == 0 && !is_installed(text, length))
        s->line = line;
}

unsigned
srun_search_find(const char *script, size_t length)
{
    struct srun_search s = {0};

    if (!shell_word_is_of_shell(script, length))
        return 0;
    shell_reader_visit(script, length, note, &s);
    return s.is_guarded ? 0 : s.line;
}
