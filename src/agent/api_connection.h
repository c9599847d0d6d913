/* SPDX-License-Identifier: Apache-2.0 */
/* api_connection.h - the agent's connection to the controller: its login and
 * the clients that use it
 *
 * Owns: the login, the HTTP client and what stands on it. Open struct: others
 *       borrow the clients.
 * Thread: the loop's.
 */
#pragma once

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
    struct http_login *login; /* NULL on the controller's own socket */
    struct http_client *http;
    struct client *client;
    struct event_recorder *event_recorder;
};

struct api_connection_settings {
    struct loop *loop;
    struct workers *workers;
    const struct agent_settings *agent;
    const char *node;
    const char *secret_path; /* of the node's secret, to prove it; or NULL */
};

/* Open connects when something is asked. Hang up before the workers end: what
 * is under way comes back to nobody; fini after them.
 */
int api_connection_open(struct api_connection *connection,
                        const struct api_connection_settings *settings,
                        struct error *err);
void api_connection_close(struct api_connection *connection);
void api_connection_fini(struct api_connection *connection);
