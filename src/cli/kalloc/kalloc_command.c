/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kalloc/kalloc_command.h"

#include <pwd.h>
#include <stdint.h>
#include <unistd.h>

#include "lib/base/arena.h"
#include "lib/base/macro.h"

/* As the user database has it. */
static const char *
find_shell_of_user(struct arena *arena)
{
    const struct passwd *own = getpwuid(getuid());

    return own != NULL && own->pw_shell != NULL && own->pw_shell[0] != '\0'
               ? arena_strdup(arena, own->pw_shell)
               : "/bin/sh";
}

char **
kalloc_command_remote(struct arena *arena, const char *directory, char **command)
{
    /* It takes no CPUs from the steps that are started in it. */
    static const char *const always[] = {
        "krun",         "--overlap",       "--overcommit", "--nodes=1",        "--ntasks=1",
        "--relative=0", "--cpu-bind=none", "--export=ALL", "--disable-status",
    };
    const char **words;
    size_t n = 0, n_command = 0;

    while (command[n_command] != NULL)
        n_command++;
    words = arena_new_array(arena, const char *, ARRAY_SIZE(always) + n_command + 5);
    for (size_t i = 0; i < ARRAY_SIZE(always); i++)
        words[n++] = always[i];
    if (directory != NULL)
        words[n++] = arena_printf(arena, "--chdir=%s", directory);
    if (isatty(STDIN_FILENO))
        words[n++] = "--pty";
    words[n++] = "--";
    for (size_t i = 0; i < n_command; i++)
        words[n++] = command[i];
    if (n_command == 0)
        words[n++] = find_shell_of_user(arena);
    words[n] = NULL;
    return (char **)(uintptr_t)words;
}
