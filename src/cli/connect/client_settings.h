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

struct client_settings { /* NULL: not said */
    char *server;
    char *cluster;
    char *service_user;
    char *munge_socket;
};

/* $KILN_CONFIG, else the system's. */
const char *client_settings_path(void);

/* Life. Read: a file that is not there says nothing, unless $KILN_CONFIG
 * names it. Errors name file and key.
 */
void client_settings_fini(struct client_settings *settings);
int client_settings_read(struct client_settings *ret_settings,
                         struct error *err);
