/* SPDX-License-Identifier: Apache-2.0 */
/* timed_program.h - a site's program that runs for a limited time, with the last
 * line of what it prints
 *
 * It runs in a session of its own, with stdin from /dev/null or a file; stdout and stderr
 * together are read, and of them only the last line is kept. When the time is
 * over, its process group gets SIGKILL.
 *
 * Thread: the loop's.
 * Invariant: the callback runs once, or never if the program is freed first.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct error;
struct loop;
struct timed_program;

struct timed_program_plan {
    const char *path;  /* absolute */
    char *const *argv; /* NULL-terminated, with argv[0] */
    int input;         /* a descriptor that it reads, the caller's; 0: /dev/null */
    int64_t limit_ms;
};

/* Failure: NULL if the program has exited with 0, or a sentence for people, with
 * the last line that it printed. Borrowed for the time of the call, which may
 * free the program.
 */
typedef void timed_program_done_fn(const char *failure, void *context);

/* Life. Start returns 0 or a negative errno. Free kills what still runs. */
void timed_program_free(struct timed_program *p);
int timed_program_start(struct loop *loop, const struct timed_program_plan *plan,
                        timed_program_done_fn *done, void *context,
                        struct timed_program **ret_program, struct error *err);
DEFINE_CLEANUP(struct timed_program, timed_program_free)

/* The exit status of a program that has exited by itself; else -1. */
int timed_program_exit_status(const struct timed_program *p);
