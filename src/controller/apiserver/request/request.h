/* SPDX-License-Identifier: Apache-2.0 */
/* request.h - one thing asked of the API, however it came
 *
 * The HTTP handler fills it in from HTTP, the in-process client from a
 * client_request; from there both go one way: authorization, admission,
 * validation, store, reply. `done` runs once, on the loop, perhaps before
 * request_start returns.
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

/* A job's script or environment that admission took out of the tree, in the
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
    struct arena_mark mark; /* before it was started */
    const struct principal *principal;
    struct route route;
    enum scope scope;
    struct options options;
    enum http_method method; /* of what came over HTTP */
    enum body_format format;
    const char *text; /* of the body, as it came; NULL when it is a tree */
    size_t length;
    struct json *body;       /* parsed; of a create, replace or patch */
    struct json_notes notes; /* what the parser noticed */
    struct json *old_tree;   /* of what is changed, once it was parsed */
    const char *agent;       /* of the User-Agent, or NULL */
    struct quota_change *quota_changes;     /* that admission charged */
    const struct task_list *requeued_tasks; /* of the array that is patched, or
                                             * NULL */
    bool is_applied;                        /* its managedFields are made */
    bool is_update_admitted;    /* of a template, or a pod by it (JobUpdate) */
    const char *submission_key; /* of the create of a Job, or NULL */
    struct content contents[2]; /* that admission took out */
    int64_t job_id;             /* of a Job being created */
    struct map *gone_jobs; /* that it waits for: struct ended_job by number;
                                 * NULL: none was looked for */
    const char *group;     /* pods that were bound together, or NULL */
    bool is_verbose;       /* of /readyz */
    struct reply reply;
    request_done_fn *done;
    request_done_fn *outer_done;   /* behind `done`: of an eviction, around its
                                    deletion, and of a check of names */
    struct name_check *name_check; /* of its object, before `outer_done` */
    void *context;
};

/* Life. New is zeroed but for the server and the arena. Free in `done`. */
void request_free(struct request *q);
struct request *request_new(struct apiserver *server, struct arena *arena TAKES)
    OWNED_BY(request_free);

/* The tree of the object that the request changes, parsed once; not to be
 * edited.
 */
const struct json *request_old_tree(struct request *q,
                                    const struct object *old_object);

/* For the verbs: the reply is made. Durably: it tells of the pending head, so
 * it waits until that is on disk.
 */
void request_finish(struct request *q);
void request_finish_durably(struct request *q);

/* The reply is made, or is made of success; it goes out when the transaction
 * is on disk.
 */
void request_commit(struct request *q, struct store_txn *txn TAKES);
void request_commit_success(struct request *q,
                            struct store_txn *txn TAKES,
                            int code);

/* The reply is made, of a failure; nothing of the transaction is stored. */
void request_rollback(struct request *q, struct store_txn *txn TAKES);
