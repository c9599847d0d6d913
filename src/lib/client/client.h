/* SPDX-License-Identifier: Apache-2.0 */
/* client.h - the verbs of the API, for every implementation of a client
 *
 * One interface with three implementations: the HTTP client (agents, command
 * line), the in-process client (scheduler, lifecycle; made by the apiserver)
 * and the fake of the tests. All calls are asynchronous: a call returns at once
 * and its `done` runs later on the caller's loop, exactly once unless the call
 * is cancelled.
 *
 * Thread: the one whose loop the client was made with, and no other.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct arena;
struct client;
struct error;
struct json;
struct kind;
struct loop;
struct object;
struct status;

enum client_verb {
    CLIENT_GET,
    CLIENT_LIST,
    CLIENT_CREATE,
    CLIENT_REPLACE,
    CLIENT_MERGE_PATCH,
    CLIENT_STRATEGIC_PATCH,
    CLIENT_JSON_PATCH,
    CLIENT_APPLY,
    CLIENT_DELETE,
    CLIENT_DELETE_COLLECTION,
};

typedef void client_data_fn(const void *bytes, size_t length, void *context);

/* A request. Everything is borrowed until the call returns, except the body,
 * which is in the arena passed with the request.
 */
struct client_request {
    enum client_verb verb;
    const struct kind *kind;
    const char *namespace;   /* NULL: none, or all in a list */
    const char *name;        /* NULL for lists and creates */
    const char *subresource; /* "status", "binding", "log"; or NULL */
    struct json *body;       /* or NULL */
    const char *label_selector;
    const char *field_selector;
    const char *continue_token;
    const char *resource_version; /* of a list */
    int64_t limit;
    const char *query;                 /* more query parameters, encoded:
                                 * "gracePeriodSeconds=5" */
    const char *submission_key;        /* makes a create idempotent; or NULL */
    const struct object *on_behalf_of; /* in process: the call acts as the owner
                                        * of this object */
    bool raw;                          /* the reply has only the text, no objects */
    bool
        /* A strategic patch of a pod's status, which may wait for earlier
         * reports and share a request with others. Its reply has only the code
         * and the message.
         */
        is_report;
    const char *accept;   /* another representation (Table); implies raw */
    client_data_fn *data; /* gets a stream's text as it arrives (a log); or
                           * NULL */
    void *data_context;
};

/* A reply, borrowed while `done` runs. `code` is the HTTP status; 0 when no
 * answer arrived, and then `error` gives the reason. On failure `status` is the
 * Status that the API returned. On success the reply has the object or the
 * list.
 */
struct client_reply {
    int code;
    const struct error *error;
    const struct status *status;
    const struct object *object;
    const struct object *const *objects;
    size_t n_objects;
    const char *resource_version; /* of the list */
    const char *continue_token;
    const char *text; /* the body as received (HTTP client, or raw) */
    size_t length;
    const char *const *warnings; /* NULL-terminated, or NULL */
};

typedef void client_done_fn(const struct client_reply *reply, void *context);

enum client_event_type {
    CLIENT_ADDED,
    CLIENT_MODIFIED,
    CLIENT_DELETED,
    CLIENT_BOOKMARK,
    CLIENT_ERROR, /* the watch has ended; status 410: list again */
};

struct client_event {
    enum client_event_type type;
    const struct object *object;  /* when deleted: its last state */
    const char *resource_version; /* also of a bookmark */
    const struct status *status;  /* of an error; NULL: the connection was
                                   * lost */
    const struct error *error;
    const char *text; /* of a watch with `accept`, whose events have no
                       * object */
    size_t length;
};

typedef void client_event_fn(const struct client_event *event, void *context);

struct client_watch_request {
    const struct kind *kind;
    const char *namespace;
    const char *label_selector;
    const char *field_selector;
    const char *resource_version; /* the watch starts after this version */
    const char *accept;           /* another representation (Table), as text; or NULL */
    const char *query;            /* more query parameters, encoded; or NULL */
};

/* A question about a pod or all pods of a Job, which the API server does not
 * answer itself but passes to the client that can. The object is borrowed until
 * the answer is made.
 */
struct client_question {
    const struct object *object;
    bool is_hypothetical; /* the pod does not exist; it might be created */
};

/* Makes the answer in the arena; a negative errno when no answer is possible
 * now.
 */
typedef int client_respond_fn(const struct client_question *question, struct arena *arena,
                              struct json **ret_answer, void *context);

/* The calls that an implementation provides. `call` takes the arena. `respond`
 * is NULL where the API server cannot ask its clients.
 */
struct client_ops {
    struct client_call *(*call)(struct client *client, struct arena *arena TAKES,
                                const struct client_request *request, client_done_fn *done,
                                void *context);
    void (*cancel)(struct client_call *call);
    bool (*waits)(struct client_call *call); /* NULL: no call waits */
    void (*abandon)(struct client *client);
    struct client_watch *(*watch)(struct client *client, const struct client_watch_request *request,
                                  client_event_fn *event, void *context);
    void (*stop)(struct client_watch *watch);
    void (*respond)(struct client *client, client_respond_fn *respond, void *context);
    void (*free)(struct client *client);
};

struct client {
    const struct client_ops *ops;
    struct loop *loop;
};

/* The first member of the calls and watches of every implementation, which sets
 * it.
 */
struct client_call {
    struct client *client;
};
struct client_watch {
    struct client *client;
};

/* Life. Free cancels calls under way and stops watches. */
void client_free(struct client *client);
DEFINE_CLEANUP(struct client, client_free)

/* Call: `done` runs once, or never after client_cancel. `arena` may be NULL
 * when there is no body. Abandon is for shutdown, before the client is freed:
 * every call under way is completed now without an answer (-ECANCELED); the
 * server may or may not have executed it.
 */
struct client_call *client_call(struct client *client, struct arena *arena TAKES,
                                const struct client_request *request, client_done_fn *done,
                                void *context);
void client_cancel(struct client_call *call);

/* Whether the call was not sent yet: if it is cancelled now, the server never
 * sees it.
 */
bool client_call_waits(struct client_call *call);
void client_abandon(struct client *client);

/* Watch: events arrive until client_stop or an error event, which is the last
 * one; the watch must be stopped after it too. Stop may be called inside the
 * event function.
 */
struct client_watch *client_watch(struct client *client, const struct client_watch_request *request,
                                  client_event_fn *event, void *context);
void client_stop(struct client_watch *watch);

/* From now on the client's owner answers the requests to pods/NAME/why and
 * jobs/NAME/why: `respond` runs on the client's thread, until the client is
 * freed or another client takes over. This does nothing where the API server
 * cannot ask its clients.
 */
void client_respond(struct client *client, client_respond_fn *respond, void *context);

/* Formats a failed reply for a person: "pods \"x\" not found". Returns the
 * errno for its code: -ENOENT for 404, -EEXIST or -ESTALE for 409, -EACCES for
 * 401 and 403, -EINVAL for 400 and 422, -EAGAIN for 429 and 503; 0 when the
 * reply is no failure.
 */
int client_reply_error(const struct client_reply *reply, struct error *err);

/* Whether the API has answered the request itself, with success or failure. It
 * has not when no answer arrived, or one about a passing condition: the session
 * is unknown (401), there are too many requests (429), or the server cannot
 * serve now (5xx). In those cases a caller that needs an answer retries.
 */
bool client_reply_is_final(const struct client_reply *reply);
