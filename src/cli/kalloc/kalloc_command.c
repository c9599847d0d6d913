/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kalloc/kalloc_command.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli/krun/krun.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/program/sibling.h"

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

static const char *
find_shell(void)
{
    const char *shell = getenv("SHELL");
    const struct passwd *own = shell == NULL || shell[0] == '\0' ? getpwuid(getuid()) : NULL;

    if (own != NULL)
        shell = own->pw_shell;
    return shell != NULL && shell[0] != '\0' ? shell : "/bin/sh";
}

void
kalloc_command_unblock_signals(void)
{
    sigset_t none;

    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

NORETURN static void
become_step(const char *name, char **words, int lost)
{
    char number[16];

    snprintf(number, sizeof(number), "%d", lost);
    setenv(KRUN_LOST, number, true);
    (void)fcntl(lost, F_SETFD, 0);
    fprintf(stderr, "%s: error: krun, which starts tasks, cannot be run: %s\n", name,
            strerror(-sibling_become("krun", (const char *const *)(uintptr_t)words)));
    _exit(126);
}

void
kalloc_command_become(const char *name, char **command, bool is_step, int lost,
                      const char *directory)
{
    char *shell[] = {(char *)(uintptr_t)find_shell(), NULL};
    char **words = command[0] != NULL ? command : shell;

    for (int number = 1; number < NSIG; number++)
        (void)signal(number, SIG_DFL);
    kalloc_command_unblock_signals();
    (void)prctl(PR_SET_PDEATHSIG, SIGHUP); /* without kalloc there is no allocation */
    if (is_step)
        become_step(name, command, lost);
    if (directory != NULL && chdir(directory) < 0) {
        fprintf(stderr, "%s: error: '%s': %s\n", name, directory, strerror(errno));
        _exit(125);
    }
    execvp(words[0], words);
    fprintf(stderr, "%s: error: '%s': %s\n", name, words[0], strerror(errno));
    _exit(errno == ENOENT ? 127 : 126);
}
