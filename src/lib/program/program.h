/* SPDX-License-Identifier: Apache-2.0 */
/* program.h - the first and the last call of a main()
 *
 *   int main(int argc, char **argv)
 *   {
 *       struct agent_options options = {0};
 *       struct error err = {0};
 *
 *       program_begin(&table, argc, argv, &options);
 *       ...
 *       return program_end("kiln-agent", r, &err);
 *   }
 *
 * Thread:  the main thread.
 */
#pragma once

#include "lib/program/exit_status.h"

struct error;
struct option_table;

/* Reads the command line into the target and returns the index of the first
 * operand in argv. It exits after --help, --version or a mistake, which it
 * reports on standard error as "kiln-agent: --topology needs a value; see
 * 'kiln-agent --help'". It also opens the descriptors, as below.
 */
int program_begin(const struct option_table *table, int argc, char **argv, void *target);

/* Opens /dev/null on closed standard descriptors, so that no other file gets their
 * numbers. For a program that reads its command line itself.
 */
void program_open_descriptors(void);

/* The words of a command line with blanks between them, without quotes, as Slurm records it; cut
 * after about a thousand bytes. To be freed.
 */
char *program_join_words(int argc, char *const *argv);

/* Exits with a usage error: "NAME: WORDS; see 'NAME --help'". */
void program_refuse(const struct option_table *table, const char *format, ...)
    __attribute__((noreturn, format(printf, 2, 3)));

/* The exit status for a result; if `r` is negative, prints "NAME: ERROR" first.
 * It also flushes standard output, and fails if that fails (a full disk). If
 * the reader of standard output has gone, SIGPIPE ends the program, without a
 * message.
 */
enum exit_status program_end(const char *name, int r, const struct error *err);
