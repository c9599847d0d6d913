/* SPDX-License-Identifier: Apache-2.0 */
/* client.h - the API as verbs, whoever serves it
 *
 * One interface, several makers: the HTTP client (agents, command line), the
 * in-process client (scheduler, lifecycle; made by the apiserver) and the
 * fake of the tests. Asynchronous only: a call returns at once and its `done`
 * runs later on the caller's loop, exactly once, unless it is cancelled.
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
 * which lives in the arena that goes with it.
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
    const char *query;          /* further, encoded: "gracePeriodSeconds=5" */
    const char *submission_key; /* makes a create idempotent; or NULL */
    const struct object *on_behalf_of; /* in process: asks as its owner */
    bool raw; /* the answer's text is all that is wanted */
    bool
        is_report; /* a strategic patch of a pod's status: it may wait for those
                     * before it and go with others in one request, and no more
                     * than its code and words is answered */
    const char *accept;   /* another representation (Table); implies raw */
    client_data_fn *data; /* a stream's text as it comes (a log); or NULL */
    void *data_context;
};

/* A reply, borrowed while `done` runs. code is the HTTP status; 0 when no
 * answer came at all, and then `error` says why. On failure `status` holds the
 * API's own words. On success either the object, or the list.
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
    const char *text; /* the body as it came (HTTP client, or raw) */
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
    const struct object *object;  /* its last state when deleted */
    const char *resource_version; /* also of a bookmark */
    const struct status *status;  /* of an error, NULL: connection lost */
    const struct error *error;
    const char *text; /* of a watch with `accept`, which has no object */
    size_t length;
};

typedef void client_event_fn(const struct client_event *event, void *context);

struct client_watch_request {
    const struct kind *kind;
    const char *namespace;
    const char *label_selector;
    const char *field_selector;
    const char *resource_version; /* start behind this one */
    const char *accept; /* another representation (Table), as text; or NULL */
    const char *query;  /* more of it, as it stands in the URL; or NULL */
};

/* A question about a pod, or all pods of a Job, that the API cannot answer itself
 * and passes to the client that can. The object is borrowed, and lives until the
 * answer is made.
 */
struct client_question {
    const struct object *object;
    bool is_hypothetical; /* there is no such pod: it might be created */
};

/* The answer, in the arena; or a negative errno when nobody can answer now. */
typedef int client_respond_fn(const struct client_question *question,
                              struct arena *arena,
                              struct json **ret_answer,
                              void *context);

/* The calls that an implementation of clients provides. `call` takes the arena.
 * `respond` is NULL where the API cannot ask its clients.
 */
struct client_ops {
    struct client_call *(*call)(struct client *client,
                                struct arena *arena TAKES,
                                const struct client_request *request,
                                client_done_fn *done,
                                void *context);
    void (*cancel)(struct client_call *call);
    bool (*waits)(struct client_call *call); /* NULL: none does */
    void (*abandon)(struct client *client);
    struct client_watch *(*watch)(struct client *client,
                                  const struct client_watch_request *request,
                                  client_event_fn *event,
                                  void *context);
    void (*stop)(struct client_watch *watch);
    void (*respond)(struct client *client,
                    client_respond_fn *respond,
                    void *context);
    void (*free)(struct client *client);
};

struct client {
    const struct client_ops *ops;
    struct loop *loop;
};

/* The start of the calls and watches of every implementation, which sets it. */
struct client_call {
    struct client *client;
};
struct client_watch {
    struct client *client;
};

/* Life. Calls under way are cancelled, watches stopped. */
void client_free(struct client *client);
DEFINE_CLEANUP(struct client, client_free)

/* Call: `done` will run once, or never after client_cancel. `arena` may be
 * NULL when there is no body. Abandon: who ends calls it before the client is
 * freed, so that every call under way comes back now, without an answer
 * (-ECANCELED); what may have come of it is not known.
 */
struct client_call *client_call(struct client *client,
                                struct arena *arena TAKES,
                                const struct client_request *request,
                                client_done_fn *done,
                                void *context);
void client_cancel(struct client_call *call);

/* Whether it was not sent yet: nobody will know of it when it is cancelled. */
bool client_call_waits(struct client_call *call);
void client_abandon(struct client *client);

/* Watch: events until client_stop or an error event (the last one; the watch
 * must still be stopped). Stop may be called from inside the event.
 */
struct client_watch *client_watch(struct client *client,
                                  const struct client_watch_request *request,
                                  client_event_fn *event,
                                  void *context);
void client_stop(struct client_watch *watch);

/* From now on the client's owner answers what is asked at pods/NAME/why and
 * jobs/NAME/why: `respond` runs on the client's thread, until the client is
 * freed or another takes over. Nothing happens where the API cannot ask.
 */
void client_respond(struct client *client,
                    client_respond_fn *respond,
                    void *context);

/* The words of a failed reply, for a person: "pods \"x\" not found". Returns
 * the errno that goes with its code: -ENOENT for 404, -EEXIST or -ESTALE for
 * 409, -EACCES for 401 and 403, -EINVAL for 400 and 422, -EAGAIN for 429 and
 * 503; 0 when the reply is no failure.
 */
int client_reply_error(const struct client_reply *reply, struct error *err);

/* Whether the API has answered what was asked, well or ill. It has not when no
 * answer came, or one that speaks of the moment alone: the session is unknown
 * (401), too many ask (429), or the server cannot serve now (5xx). Whoever
 * needs the answer asks again.
 */
bool client_reply_is_final(const struct client_reply *reply);
