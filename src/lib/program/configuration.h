/* SPDX-License-Identifier: Apache-2.0 */
/* configuration.h - how a daemon comes to its settings
 *
 * Defaults, then the configuration file, then the command line. Every daemon
 * has --config FILE, --check-config (says every mistake with file, line and
 * key, and exits), --print-config (what all of this comes to, explained) and
 * one option for each setting that names one.
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
    const struct option_table *options; /* of the command line alone */
    const struct setting_table *settings;
    const char *file; /* read when it is there and --config is not given */

    /* Looks at the whole, further files it names included: -EINVAL with a
     * line per mistake. May be NULL; a reload does not call it.
     */
    int (*check)(void *target, struct strbuf *mistakes);
};

/* Reads everything into the target, whose first bytes are the options' and
 * settings' both: their offsets are into the same struct. Returns where the
 * operands begin; ends the program after --help and the like, with status
 * USAGE or CONFIG after mistakes.
 */
int configuration_begin(const struct configuration *configuration,
                        int argc,
                        char **argv,
                        struct arena *arena,
                        void *target);

/* Reads everything again, for a reload: the same command line, the file as it
 * is now, into another target. Returns -EINVAL with a line per mistake.
 */
int configuration_read(const struct configuration *configuration,
                       int argc,
                       char **argv,
                       struct arena *arena,
                       void *target,
                       struct strbuf *mistakes);
