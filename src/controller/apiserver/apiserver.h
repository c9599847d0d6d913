/* SPDX-License-Identifier: Apache-2.0 */
/* apiserver.h - the Kubernetes API of a cluster, over HTTP and in process
 *
 * All requests take the same steps: authentication, authorization, admission,
 * validation, store.
 *
 * Owns:       its HTTP server, the watches, the streams of agents.
 * Called by:  controller.c.
 * Thread:     the loop's, except for clients made by apiserver_client_new.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "controller/apiserver/access/token_endpoint.h"
#include "lib/base/macro.h"

struct api_profile;
struct apiserver;
struct audit_log;
struct auth_server;
struct client;
struct clock;
struct digest;
struct error;
struct history;
struct http_layer;
struct http_preface;
struct http_limits;
struct job_counts;
struct loop;
struct metric_registry;
struct node_classes;
struct node_uses;
struct policy;
struct store;
struct user;
struct user_counts;
struct workers;

struct apiserver_settings {
    struct loop *loop;
    struct clock *clock;
    struct store *store;
    struct workers *workers;
    const struct api_profile *profile; /* api_profile_kiln, or for conformance */
    struct auth_server *auth;          /* NULL: the profile authenticates nobody */
    const struct policy *policy;
    const char *cluster;              /* its name; outlives the server */
    const struct http_limits *limits; /* or NULL */

    /* The store updates these counts with each change. NULL: not counted. */
    struct user_counts *counts;
    struct job_counts *job_counts;     /* likewise */
    struct history *history;           /* or NULL; outlives the server */
    struct node_uses *node_uses;       /* as `counts` */
    struct node_classes *node_classes; /* likewise */
    struct metric_registry *metrics;   /* or NULL */
    struct audit_log *audit;           /* or NULL; outlives the server */
    const char *configz;               /* JSON for /configz, or NULL */
    struct token_endpoint token_endpoint;
    const struct user *(*look_up_user)(uid_t uid, gid_t gid); /* NULL: user_lookup */

    /* How long at most new Jobs wait after a start for what the nodes know of
     * this cluster; 0: they do not.
     */
    int64_t startup_wait_ms;

    atomic_bool *is_munge_dead; /* true: munged does not answer, and /readyz
                                 * fails; or NULL
                                 */

    /* Leases of the scheduler and the lifecycle component: true while one is
     * held and cannot be renewed, and then /healthz fails. Or NULL.
     */
    atomic_bool *leases[2];

    /* Ends this controller, so that another one leads; NULL: it cannot. */
    void (*hand_over)(void *context);
    void *hand_over_context;

    /* Written by the server: whether administrators have paused scheduling. Or
     * NULL.
     */
    atomic_bool *is_scheduling_paused;
    bool begins_paused;
};

/* Life. New creates the namespaces and priority classes of the system if they
 * are missing. Stop ends watches and streams before the store is closed. Free
 * comes after that, and after the workers' results were delivered.
 */
void apiserver_free(struct apiserver *server);
struct apiserver *apiserver_new(const struct apiserver_settings *settings) OWNED_BY(apiserver_free);
void apiserver_stop(struct apiserver *server);

/* Several addresses may be open. apiserver_close accepts no new
 * connections and makes /readyz fail; apiserver_end_watches has the clients of watches
 * connect anew. apiserver_check_address returns -EINVAL for an invalid address.
 */
int apiserver_check_address(const char *address, struct error *err);
bool apiserver_is_loopback(const char *address);
int apiserver_listen(struct apiserver *server, const char *address, struct error *err);
int apiserver_listen_unix(struct apiserver *server, const char *path, mode_t mode,
                          struct error *err);
int apiserver_listen_tls(struct apiserver *server, const char *address,
                         const struct http_layer *layer, struct error *err);
void apiserver_set_preface(struct apiserver *server, const struct http_preface *preface);
void apiserver_close(struct apiserver *server);
void apiserver_end_watches(struct apiserver *server);

/* For the scheduler, which asks before it starts a pod. */
struct start_rights *apiserver_start_rights(const struct apiserver *server);

/* A client in this process, for a component of the controller whose thread runs
 * `loop`. Free it on that thread, before the server.
 */
enum apiserver_room {
    APISERVER_SCHEDULER,
    APISERVER_LIFECYCLE,
};
struct client *apiserver_client_new(struct apiserver *server, struct loop *loop,
                                    enum apiserver_room room);

/* For auth_server: the verifier of an enrolled node; `context` is the store. */
bool apiserver_find_verifier(const char *node_name, struct digest *ret_verifier, void *context);
