/* SPDX-License-Identifier: Apache-2.0 */
/* configuration.h - how a daemon reads its settings
 *
 * Defaults, then the configuration file, then the command line. Every daemon
 * has --config FILE, --check-config (reports every mistake with file, line and
 * key, and exits), --print-config (prints the resulting configuration,
 * explained) and one option for each setting that names one.
 *
 * Thread:  the main thread.
 */
#pragma once

#include <stddef.h>

#include "lib/program/setting.h"

struct arena;
struct option_table;
struct strbuf;

struct configuration {
    const struct option_table *options; /* of the command line only */
    const struct setting_table *settings;
    const char *file; /* read if it exists and --config is not given */

    /* Checks the whole configuration and further files that it names: -EINVAL
     * with one line per mistake. May be NULL; a reload does not call it.
     */
    int (*check)(void *target, struct strbuf *mistakes);

    /* The offset of the target's const char * for the path of the file that was
     * read (NULL if there was none); 0: nowhere.
     */
    size_t file_offset;

    /* For --check-config only: finds what else a start would refuse, like check.
     * May be NULL.
     */
    int (*check_start)(void *target, struct strbuf *mistakes);
};

/* Reads everything into the target, which both the options and the settings
 * fill: their offsets are into the same struct. Returns the index of the first
 * operand; exits after --help and the like, and with status USAGE or CONFIG
 * after mistakes. Logs which values of the file the command line overrides.
 */
int configuration_begin(const struct configuration *configuration, int argc, char **argv,
                        struct arena *arena, void *target);

/* Reads everything again, for a reload: the same command line and the current
 * file, into another target. Returns -EINVAL with one line per mistake.
 */
int configuration_read(const struct configuration *configuration, int argc, char **argv,
                       struct arena *arena, void *target, struct strbuf *mistakes);
