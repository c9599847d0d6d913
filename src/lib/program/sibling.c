/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/program/sibling.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/arena.h"

const char *
sibling_own_path(struct arena *arena)
{
    char own[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", own, sizeof(own));

    return length > 0 && length < (ssize_t)sizeof(own) ? arena_strndup(arena, own, (size_t)length)
                                                       : NULL;
}

int
sibling_become(const char *name, const char *const *words)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const char *own = sibling_own_path(arena);
    char *const *arguments = (char *const *)(uintptr_t)words;

    /* First the program beside this one: a build that is not installed must not start what
     * is.
     */
    if (own != NULL)
        execv(arena_printf(arena, "%.*s%s", (int)(strrchr(own, '/') + 1 - own), own, name),
              arguments);
    execv(arena_printf(arena, "%s/%s", BINDIR, name), arguments);
    execvp(name, arguments);
    return -errno;
}
