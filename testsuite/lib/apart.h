/* SPDX-License-Identifier: Apache-2.0 */
/* apart.h - runs a function in a child process, and keeps its output
 *
 * For functions that end the program, print to standard output and error, or
 * abort.
 */
#pragma once

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct apart {
    char text[8192]; /* standard output and error, in order */
    int status;      /* 0 for a function that returned; below 0: -signal */
};

typedef void (*apart_fn)(const void *context);

static inline void
apart(struct apart *run, apart_fn function, const void *context)
{
    size_t used = 0;
    ssize_t n;
    int ends[2];
    pid_t child;

    ck_assert_int_eq(pipe(ends), 0);
    fflush(NULL);
    child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        close(ends[0]);
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        close(ends[1]);
        function(context);
        exit(0);
    }
    close(ends[1]);
    while ((n = read(ends[0], run->text + used, sizeof(run->text) - 1 - used)) > 0)
        used += (size_t)n;
    run->text[used] = '\0';
    close(ends[0]);
    ck_assert_int_eq(waitpid(child, &run->status, 0), child);
    run->status = WIFEXITED(run->status) ? WEXITSTATUS(run->status) : -WTERMSIG(run->status);
}
