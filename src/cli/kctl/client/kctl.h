/* SPDX-License-Identifier: Apache-2.0 */
/* kctl.h - the API as blocking calls on trees, for verbs
 *
 * The first call makes the connection. Objects come as JSON trees in the arena
 * given, because a verb shows or changes objects of any kind. The errors of
 * calls are ready for people: for a name that does not exist they name the
 * nearest one that does.
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"
#include "lib/client/client.h"

struct arena;
struct connection;
struct error;
struct json;
struct kind;

#define KCTL_PAGE 500 /* objects asked for at a time */

struct kctl {
    const char *server;    /* of --server, or NULL */
    const char *namespace; /* of -n, or NULL */
    const char *as_user;   /* of --as, or NULL */
    struct connection *connection;
    bool takes_tasks; /* of arrays, where a job or a pod is expected */
    const char
        *for_tasks; /* of a verb that takes none: what does it for them */
    bool has_said_waiting; /* for a server that slows this user down */
};

/* Names an object. A NULL name stands for a whole collection, a NULL namespace
 * for all namespaces, or for a kind that has none.
 */
struct target_object {
    const struct kind *kind;
    const char *namespace;
    const char *name;
    const char
        *task; /* "1042_7", which this pod, or Job, stands for; or NULL */
};

void kctl_fini(struct kctl *kctl);

/* The namespace of a resource that is given without one. */
const char *kctl_namespace(const struct kctl *kctl);

/* Connects, unless it is connected already. */
int kctl_open(struct kctl *kctl, struct error *err);
struct client *kctl_client(struct kctl *kctl); /* after kctl_open */

/* How far east of UTC this process is now, in seconds: "kiln.hpc/utcOffset" in the
 * queries of tables, whose words have times that the server makes.
 */
long kctl_utc_offset(void);

/* One request; the answer's tree in the arena (NULL where it is no JSON), or
 * not wanted. Warnings of the server go to standard error.
 */
int kctl_call(struct kctl *kctl,
              const struct client_request *request,
              struct arena *arena,
              struct json **ret_answer,
              struct error *err);

/* GET of a path that is of no kind ("/kiln/v1/nodes"); errors as inquiry_run's
 * (cli/connect/inquiry.h). Connects first.
 */
int kctl_ask(struct kctl *kctl,
             const char *path,
             struct arena *arena,
             struct json **ret_answer,
             struct error *err);

/* The calls that verbs make. Patch sends a merge patch. List collects all
 * pages into one array. Find: like get, but an object that is not there is
 * NULL and no error.
 */
int kctl_find(struct kctl *kctl,
              const struct target_object *object,
              struct arena *arena,
              struct json **ret_object,
              struct error *err);
int kctl_get(struct kctl *kctl,
             const struct target_object *object,
             struct arena *arena,
             struct json **ret_object,
             struct error *err);
int kctl_list(struct kctl *kctl,
              const struct target_object *collection,
              const char *label_selector,
              const char *field_selector,
              struct arena *arena,
              struct json **ret_items,
              struct error *err);
int kctl_patch(struct kctl *kctl,
               const struct target_object *object,
               struct json *patch,
               struct arena *arena,
               struct json **ret_object,
               struct error *err);

/* "node/n7" */
const char *kctl_label(const struct target_object *object, struct arena *arena);
