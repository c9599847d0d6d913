/* SPDX-License-Identifier: Apache-2.0 */
/* reply.h - the answer to a request: an object, a list, a Status or text
 *
 * Messages and reasons are upstream's, because people and clients read them. A
 * request has one reply; making a second one replaces the first.
 *
 * Owns:    references to the objects; the rest is in the request's arena.
 * See:     the table from errno to HTTP status at the top of reply.c.
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct arena;
struct causes;
struct error;
struct json;
struct kind;
struct object;

enum reply_form {
    REPLY_NONE,
    REPLY_OBJECT,
    REPLY_LIST,
    REPLY_TREE, /* any JSON: a Status, a discovery document */
    REPLY_TEXT,
};

struct reply {
    struct arena *arena;
    enum reply_form form;
    int code;                    /* HTTP status */
    const struct kind *kind;     /* of a list */
    const struct object *object; /* a reference */
    const struct object **objects;
    size_t n_objects, capacity;
    int64_t revision;           /* of the list */
    const char *continue_token; /* or NULL */
    int64_t remaining;          /* items after this page; -1: not given */
    struct json *tree;
    const char *text;
    size_t length;
    const char *content_type;
    const char **warnings;
    size_t n_warnings;
    size_t warned; /* characters of all warnings together */
    bool is_shortening_warnings;
    const struct reply_header *headers; /* beside those that every answer has */
    size_t n_headers;
    int64_t retry_after_s; /* 0: not given */
};

struct reply_header {
    const char *name;
    const char *value;
};

/* Life. reply_fini drops the objects. */
void reply_init(struct reply *r, struct arena *arena);
void reply_fini(struct reply *r);

/* Success */
void reply_object(struct reply *r, int code, const struct object *object);
void reply_start_list(struct reply *r, const struct kind *kind);
void reply_add(struct reply *r, const struct object *object);

/* Drops the objects of a list that have been written out, so that a long list
 * need not be dropped all at once.
 */
void reply_drop_objects(struct reply *r, size_t from, size_t to);

void reply_tree(struct reply *r, int code, struct json *tree);
void reply_text(struct reply *r, int code, const char *content_type, const char *text,
                size_t length);
void reply_success(struct reply *r, int code);
void reply_deleted(struct reply *r, const struct kind *kind, const char *name, const char *uid);
void reply_warn(struct reply *r, const char *format, ...) PRINTF(2, 3);
void reply_add_header(struct reply *r, const char *name, const char *value);
void reply_nothing(struct reply *r, int code);

/* Failure. Kind and name may be NULL where the message needs none. */
void reply_not_found(struct reply *r, const struct kind *kind, const char *name);
void reply_exists(struct reply *r, const struct kind *kind, const char *name);

/* The stored object is damaged: 409 for a request that wants to create an
 * object of that name, else 500.
 */
void reply_damaged(struct reply *r, int code, const struct kind *kind, const char *name);
void reply_modified(struct reply *r, const struct kind *kind, const char *name);
void reply_conflict(struct reply *r, const struct kind *kind,
                    const char *suffix, /* of the resource: "/binding", "" */
                    const char *name, const char *format, ...) PRINTF(5, 6);
void reply_forbidden(struct reply *r, const struct kind *kind, const char *name, const char *format,
                     ...) PRINTF(4, 5);
void reply_invalid(struct reply *r, const char *group, const char *kind_name, const char *name,
                   const struct causes *causes);
void reply_bad_request(struct reply *r, const char *format, ...) PRINTF(2, 3);
void reply_internal(struct reply *r, const char *format, ...) PRINTF(2, 3);
/* The requested revision does not exist yet. */
void reply_from_future(struct reply *r, int64_t wanted, int64_t current);
void reply_errno(struct reply *r, int code, const struct error *err);

/* The store's outcome is not 0: the disk is full, or the outcome is unknown. */
void reply_not_stored(struct reply *r, int outcome);

/* Any other failure. The reason is NULL when the API has none. The cause may be
 * NULL.
 */
struct reply_failure {
    int code;
    const char *reason;
    const char *message;
    bool empty_details; /* "details":{}, as upstream's router writes it */
    const char *cause_reason;
    const char *cause_message;
    const char *cause_field;
    const char *continue_token;
    int64_t retry_after_s;
};
void reply_fail(struct reply *r, const struct reply_failure *failure);
