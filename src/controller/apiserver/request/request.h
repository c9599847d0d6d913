/* SPDX-License-Identifier: Apache-2.0 */
/* request.h - one request to the API, over HTTP or from this process
 *
 * http_handler.c fills in a request from HTTP, the in-process client from a
 * client_request. From there on both take the same steps: authorization,
 * admission, validation, store, reply. `done` runs once, on the loop, perhaps
 * before the function to which the request was given returns.
 *
 * Owns:    its arena, and the references of its reply.
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/apiserver/request/options.h"
#include "controller/apiserver/request/reply.h"
#include "controller/apiserver/request/routes.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/http/http.h"
#include "lib/json/json.h"

struct apiserver;
struct arena;
struct map;
struct name_check;
struct principal;
struct quota_change;
struct request;
struct store_txn;
struct task_list;

enum body_format {
    BODY_NONE,
    BODY_JSON,
    BODY_YAML,
    BODY_PROTOBUF,
    BODY_MERGE_PATCH,
    BODY_STRATEGIC_PATCH,
    BODY_JSON_PATCH,
    BODY_APPLY,
    BODY_BYTES,
    BODY_UNKNOWN,
};

/* A job's script or environment that admission removed from the tree, in the
 * request's arena.
 */
struct content {
    const char *digest; /* NULL: none */
    const void *bytes;
    size_t length;
};

typedef void request_done_fn(struct request *request);

struct request {
    struct apiserver *server;
    struct arena *arena;
    struct arena_mark mark; /* taken before the request started */
    const struct principal *principal;
    struct route route;
    enum scope scope;
    struct options options;
    enum http_method method; /* only of requests over HTTP */
    enum body_format format;
    const char *text; /* of the body, as received; NULL when the body came as a
                       * tree
                       */
    size_t length;
    struct json *body;                      /* parsed; of a create, replace or patch */
    struct json_notes notes;                /* what the parser noticed */
    struct json *old_tree;                  /* the object before the change; NULL until needed
                              */
    const char *agent;                      /* User-Agent, or NULL */
    struct quota_change *quota_changes;     /* charged by admission */
    const struct json *quota_wait;          /* of a job that `why` is asked about, from the
                                             * lifecycle component; or NULL
                                             */
    const char *quota_refusal;              /* of a pod that `why` is asked about; or NULL */
    const struct task_list *requeued_tasks; /* of the array that is patched, or
                                             * NULL
                                             */
    const struct job_signal *signal;        /* to the pods of the Job that is patched, or NULL */
    bool is_applied;                        /* managedFields are set already */
    bool is_update_admitted;                /* admission has checked the update of the
                                 * template (JobUpdate), or of a pod by that
                                 * update
                                 */
    const char *submission_key;             /* of a create of a Job, or NULL */
    struct content contents[2];             /* removed by admission */
    int64_t job_id;                         /* of a Job that is being created */
    struct map *gone_jobs;                  /* the ended jobs that it depends on: struct
                            * ended_job by number; NULL: none was looked up
                            */
    const char *group;                      /* pods that are bound together, or NULL */
    bool is_verbose;                        /* of /readyz */
    struct reply reply;
    request_done_fn *done;
    request_done_fn *outer_done;   /* the caller's, while `done` is that of an
                                    * eviction's deletion or of a name check
                                    */
    struct name_check *name_check; /* of the request's object */
    void *context;
};

/* Life. A new request is zeroed except for the server and the arena. Free it in
 * `done`.
 */
void request_free(struct request *q);
struct request *request_new(struct apiserver *server, struct arena *arena TAKES)
    OWNED_BY(request_free);

/* Sets the route. Paths of what the server's profile does not have are not found. */
enum route_result request_find_route(struct request *q, enum http_method method, const char *path,
                                     bool wants_watch);

/* The tree of the object that the request changes. It is parsed once; do not
 * edit it.
 */
const struct json *request_old_tree(struct request *q, const struct object *old_object);

/* For the verbs: the reply is made. request_finish_durably is for a reply that
 * shows a pending head: it waits until that is on disk.
 */
void request_finish(struct request *q);
void request_finish_durably(struct request *q);

/* request_commit sends the reply that was made, request_commit_success makes a
 * Success; both send it when the transaction is on disk.
 */
void request_commit(struct request *q, struct store_txn *txn TAKES);
void request_commit_success(struct request *q, struct store_txn *txn TAKES, int code);

/* The reply that was made is a failure; nothing of the transaction is stored.
 */
void request_rollback(struct request *q, struct store_txn *txn TAKES);
