/* SPDX-License-Identifier: Apache-2.0 */
/* uplink.h - the agent's line to the controller: who it says it is, and what it
 * speaks through
 *
 * Owns: the login, the HTTP client and what stands on it. Open struct: others
 *       borrow the clients.
 */
#pragma once

struct agent_settings;
struct announcer;
struct client;
struct error;
struct http_client;
struct http_login;
struct loop;
struct notary;
struct workers;

struct uplink {
    struct notary *notary;
    struct http_login *login; /* NULL on the controller's own socket */
    struct http_client *http;
    struct client *client;
    struct announcer *announcer;
};

struct uplink_settings {
    struct loop *loop;
    struct workers *workers;
    const struct agent_settings *agent;
    const char *node;
    const char *secret_path; /* of the node's secret, to prove it; or NULL */
};

/* Open connects when something is asked. Hang up before the workers end: what
 * is under way comes back to nobody; fini after them.
 */
int uplink_open(struct uplink *uplink,
                const struct uplink_settings *settings,
                struct error *err);
void uplink_hang_up(struct uplink *uplink);
void uplink_fini(struct uplink *uplink);
