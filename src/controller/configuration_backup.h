/* SPDX-License-Identifier: Apache-2.0 */
/* configuration_backup.h - the controller's keys and configuration beside a
 * copy of its store: a directory FILE.config
 *
 *   token.key, tls.crt, tls.key            of the state directory
 *   site-tls.crt, site-tls.key             tls.certificate and tls.key
 *   controller.yaml, scheduler.yaml, client.yaml
 *
 * The names are fixed, and a restore takes the place of each file from the
 * present settings, never from the copy: root restores what the service user
 * may have written.
 *
 * Called by:  kiln-controller --backup-everything, --restore.
 * Thread:     any; they block.
 */
#pragma once

#include <stdbool.h>

struct controller_settings;
struct error;

/* -EEXIST if FILE.config exists. */
int configuration_backup_check(const char *file, struct error *err);

/* Writes FILE.config, mode 0700, with what exists of the files above, mode
 * 0600. It has its name when it is whole.
 */
int configuration_backup(const struct controller_settings *settings, const char *file,
                         struct error *err);

/* Restore what is missing, and print what was done; existing files are kept. A
 * backup without FILE.config is none of their business. Read the settings again
 * after the first, if it restored controller.yaml.
 */
int configuration_restore(const struct controller_settings *settings, const char *file,
                          bool *ret_has_settings, struct error *err);
int keys_restore(const struct controller_settings *settings, const char *file, struct error *err);
