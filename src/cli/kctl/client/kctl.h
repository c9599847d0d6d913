/* SPDX-License-Identifier: Apache-2.0 */
/* kctl.h - the API as blocking calls on trees, for verbs
 *
 * The first call connects. Objects are JSON trees in the arena passed in,
 * because a verb shows or changes objects of any kind. Errors are written for
 * users: for a name that does not exist they suggest the nearest existing one.
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/client/client.h"

struct arena;
struct connection;
struct error;
struct json;
struct kind;

#define KCTL_PAGE 500 /* objects per page */

struct kctl {
    const char *server;    /* of --server, or NULL */
    const char *namespace; /* of -n, or NULL */
    const char *as_user;   /* of --as, or NULL */
    bool no_wait;          /* of --no-wait */
    bool is_silent;        /* results are not printed: the caller does that */
    const char *program;   /* of messages; NULL: "kctl" */
    int64_t patience_us;   /* how long calls wait for a controller that is away, without
                     * a word; 0: until it answers, and the user is told */
    int64_t takeover_us;   /* ... where another one may take over: at least so long */
    struct connection *connection;
    bool takes_tasks;      /* tasks are valid where a job or a pod is expected */
    const char *for_tasks; /* for a verb that accepts no tasks: the command to use
                     * instead */
    bool has_said_waiting; /* the message about throttling was printed */
    unsigned n_gone_waits; /* for the history of jobs that are gone */
    int exit_code;         /* if not 0, main exits with it, even after an error */
};

/* Identifies an object. A NULL name means the whole collection; a NULL
 * namespace means all namespaces, or a kind without namespaces.
 */
struct target_object {
    const struct kind *kind;
    const char *namespace;
    const char *name;
    /* "1042_7", the task that this pod or Job represents; or NULL. */
    const char *task;
};

void kctl_fini(struct kctl *kctl);

/* The namespace of a resource given without one. */
const char *kctl_namespace(const struct kctl *kctl);

/* Connects if there is no connection yet. */
int kctl_open(struct kctl *kctl, struct error *err);
struct client *kctl_client(struct kctl *kctl); /* after kctl_open */

/* From now on calls fail while the controller is away, for a verb that tells the
 * user so itself; after kctl_open.
 */
void kctl_stop_waiting(struct kctl *kctl);

/* The UTC offset of this process now, in seconds east. The offset is sent as
 * "kiln.hpc/utcOffset" with queries of tables, in which the server formats times.
 */
long kctl_utc_offset(void);

/* One request; the answer's tree is in the arena (NULL if it is no JSON). Pass
 * NULL if the answer is not needed. Warnings of the server are printed to
 * standard error.
 */
int kctl_call(struct kctl *kctl, const struct client_request *request, struct arena *arena,
              struct json **ret_answer, struct error *err);

/* One request whose answer is no JSON; the caller ends it with sync_call_fini. */
struct sync_call;
int kctl_call_raw(struct kctl *kctl, const struct client_request *request,
                  struct sync_call *ret_call, struct error *err);

/* GET of a path outside the API's kinds ("/kiln/v1/nodes"); errors as for
 * inquiry_run (cli/connect/inquiry.h). Connects first.
 */
int kctl_ask(struct kctl *kctl, const char *path, struct arena *arena, struct json **ret_answer,
             struct error *err);

/* The calls that verbs make. Patch sends a merge patch. List joins all pages
 * into one array. Find: like get, but for an object that does not exist it
 * returns NULL and no error.
 */
int kctl_find(struct kctl *kctl, const struct target_object *object, struct arena *arena,
              struct json **ret_object, struct error *err);
int kctl_get(struct kctl *kctl, const struct target_object *object, struct arena *arena,
             struct json **ret_object, struct error *err);
int kctl_list(struct kctl *kctl, const struct target_object *collection, const char *label_selector,
              const char *field_selector, struct arena *arena, struct json **ret_items,
              struct error *err);
int kctl_patch(struct kctl *kctl, const struct target_object *object, struct json *patch,
               struct arena *arena, struct json **ret_object, struct error *err);

/* "node/n7" */
const char *kctl_label(const struct target_object *object, struct arena *arena);

/* A job as the user knows it: "job 7"; `job "NAME"` if it has no number. */
const char *kctl_job_words(const struct target_object *job, struct arena *arena);
