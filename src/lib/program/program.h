/* SPDX-License-Identifier: Apache-2.0 */
/* program.h - the first and the last line of a main()
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

/* Reads the command line into the target and returns where its operands begin
 * in argv. Does not return after --help, --version or a mistake, which is told
 * on standard error as "kiln-agent: --topology needs a value; see 'kiln-agent
 * --help'". Also opens /dev/null on standard descriptors that are closed, so
 * that no file takes their place.
 */
int program_begin(const struct option_table *table,
                  int argc,
                  char **argv,
                  void *target);

/* Ends a command with a mistake of use: "NAME: WORDS; see 'NAME --help'". */
void program_refuse(const struct option_table *table, const char *format, ...)
    __attribute__((noreturn, format(printf, 2, 3)));

/* The exit status for a result; below 0, says "NAME: ERROR" first. Also flushes
 * standard output, whose failure is a failure (a full disk, a closed pipe).
 */
enum exit_status program_end(const char *name, int r, const struct error *err);
