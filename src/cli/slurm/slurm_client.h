/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_client.h - what all of Slurm's commands share: the connection to the
 * controller, the form of errors and of option mistakes, and the version
 *
 * The connection is that of kctl: the same configuration and $KILN_SERVER. It
 * waits for a controller that is away as long as Slurm's commands wait, and
 * says nothing meanwhile.
 *
 * Thread: the main one.
 */
#pragma once

#include <stdint.h>

#include "cli/kctl/client/kctl.h"
#include "lib/base/macro.h"

struct arena;
struct error;
struct option_table;

/* The release of Slurm that the commands say they are. */
#define SLURM_CLIENT_RELEASE "22.05.8"

struct slurm_client {
    const char *name; /* of the command: "squeue" */
    struct kctl kctl;
    struct arena *arena; /* for as long as the program runs */
};

void slurm_client_init(struct slurm_client *client, const char *name);
void slurm_client_fini(struct slurm_client *client);

/* How long a submission is tried, in milliseconds: as Slurm's commands do, and longer where
 * another controller may take over. The connection is open.
 */
int64_t slurm_client_patience_ms(const struct slurm_client *client);

/* "slurm 22.05.8 (kiln 0.1.0)" */
void slurm_client_print_version(void);

/* Prints "squeue: error: TEXT" to standard error. The second returns 1, for
 * `return slurm_client_fail(...)`, after "squeue: error: WORDS: REASON", or without WORDS when
 * they are NULL. The reason is Slurm's text when the controller cannot be
 * reached, and otherwise the text of the error.
 */
void slurm_client_error(const struct slurm_client *client, const char *format, ...) PRINTF(2, 3);
int slurm_client_fail(const struct slurm_client *client, const char *words, int r,
                      const struct error *err);

/* Slurm's words for an error: "Unable to contact slurm controller (connect failure)" */
const char *slurm_client_reason(int r, const struct error *err);

/* The rows of options that each command has; the target begins with this. */
struct slurm_common_options {
    bool version;
    bool usage;
};
/* clang-format off */
#define SLURM_COMMON_OPTIONS \
    {.name = "usage", .help = "show how the command is called, and exit", .type = OPTION_FLAG, \
     .offset = offsetof(struct slurm_common_options, usage)}, \
    {.name = "version", .letter = 'V', .help = "show the version, and exit", .type = OPTION_FLAG, \
     .offset = offsetof(struct slurm_common_options, version)}
/* clang-format on */

/* Reads the options and returns the index of the first operand. Exits after
 * --help, --usage and --version, and after a mistake with status 1, as Slurm's
 * commands do. The target begins with struct slurm_common_options.
 */
int slurm_client_options(struct slurm_client *client, const struct option_table *table, int argc,
                         char **argv, void *target);

/* Ends the program's output: 0, or 1 if standard output could not be written. */
int slurm_client_end(const struct slurm_client *client);
