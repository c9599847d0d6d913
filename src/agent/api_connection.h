/* SPDX-License-Identifier: Apache-2.0 */
/* api_connection.h - the agent's connection to the controller: its login and
 * the clients that use it
 *
 * Owns: the login, the HTTP client and the clients above it. Open struct:
 *       others borrow the clients.
 * Thread: the loop's.
 */
#pragma once

#include <sys/types.h>

struct agent_settings;
struct client;
struct credential_backend;
struct error;
struct event_recorder;
struct http_client;
struct http_login;
struct loop;
struct workers;

struct api_connection {
    struct credential_backend *credential_backend;
    struct http_login *login; /* NULL on the controller's local socket */
    struct http_client *http;
    struct client *client;
    struct event_recorder *event_recorder;
    uid_t service_uid; /* of the controller; 0: not known, or root */
};

struct api_connection_settings {
    struct loop *loop;
    struct workers *workers;
    const struct agent_settings *agent;
    const char *node;
    const char *secret_path; /* NULL: the node is not proved */
};

/* api_connection_open only prepares; the first request connects. Close before
 * the workers end, so that no callback of a pending request runs later; fini
 * after the workers.
 */
int api_connection_open(struct api_connection *connection,
                        const struct api_connection_settings *settings, struct error *err);
void api_connection_close(struct api_connection *connection);
void api_connection_fini(struct api_connection *connection);
