/* SPDX-License-Identifier: Apache-2.0 */
/* client_settings.h - /etc/kiln/client.yaml, the settings of ksub and kctl
 *
 *   server:      http://head:6820
 *   cluster:     kiln
 *   serviceUser: kiln      the user that the controller runs as
 *   mungeSocket: /run/munge/munge.socket.2
 *
 * Thread: any.
 */
#pragma once

struct error;

struct client_settings { /* NULL: not set */
    char *server;
    char *cluster;
    char *service_user;
    char *munge_socket;
};

/* $KILN_CONFIG; otherwise the path of the system's file. */
const char *client_settings_path(void);

/* Life. Read: a missing file leaves all unset, unless $KILN_CONFIG names it.
 * Errors name the file and the key.
 */
void client_settings_fini(struct client_settings *settings);
int client_settings_read(struct client_settings *ret_settings, struct error *err);

/* Whether each cluster of a list ("a,b"), as Slurm's -M has it, is the one of the configuration:
 * -ENOENT if not. "all" is any.
 */
int client_settings_check_clusters(const char *names, struct error *err);
