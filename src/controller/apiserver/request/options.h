/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - the options of a request beside its path and body: the query, and
 * for a deletion its DeleteOptions
 *
 * The options are parsed once and refused in upstream's words. They are plain
 * data in the arena.
 *
 * Thread:  any; no state.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/apiserver/request/routes.h"

struct arena;
struct field_query;
struct http_request;
struct json;
struct label_query;
struct reply;

struct parameter {
    const char *name;
    const char *value;
};

#define MANAGER_MAX 128 /* bytes of a field manager's name */

enum field_validation {
    VALIDATION_WARN, /* the API's default */
    VALIDATION_IGNORE,
    VALIDATION_STRICT,
};

struct options {
    const struct parameter *parameters; /* all, in the order of the query */
    size_t n_parameters;
    struct label_query *labels; /* NULL: everything */
    struct field_query *fields;
    int64_t limit; /* 0: none */
    const char *continue_token;
    int64_t resource_version; /* -1: not given */
    bool has_exact;           /* resourceVersionMatch=Exact */
    int64_t ended_since_us;   /* Jobs: omit those that ended before; 0: none */
    int64_t last_ended;       /* Jobs: of those that ended, only so many, the last ones;
                               * 0: all. Only for one user's jobs, else ignored */
    const char **nodes;       /* Jobs: only those with a pod on one of them, or whose
                               * last pod was there; sorted, each once */
    size_t n_nodes;           /* 0: all */
    bool has_east;            /* the reader's time zone was given, for Tables */
    int64_t east_s;
    bool wants_bookmarks;
    bool wants_initial_events;
    int64_t timeout_s;          /* 0: not given */
    const char *include_object; /* of Tables, such as "Metadata" */

    const char *field_manager; /* NULL: not given */
    bool says_force;           /* with any value */
    bool is_forced;
    bool is_dry_run;
    enum field_validation validation;
    int64_t startup_wait_s; /* 0: no limit */

    bool has_grace;
    int64_t grace_s;
    const char *propagation; /* NULL: not given */
    const char *precondition_uid;
    const char *precondition_version;
};

/* Reads the parameter `watch` before the request is routed. */
bool options_wants_watch(const struct parameter *parameters, size_t count);
/* All parameters of an HTTP request, in the arena. */
const struct parameter *options_copy_parameters(struct arena *arena,
                                                const struct http_request *http, size_t *ret_count);
const char *parameter_find(const struct parameter *parameters, size_t count, const char *name);

/* Returns false when the reply says what is wrong. `body` is the tree of a
 * deletion's body or NULL; a body replaces the query.
 */
bool options_parse(struct options *ret_options, struct arena *arena, const struct route *route,
                   const struct parameter *parameters, size_t count, const struct json *body,
                   struct reply *reply);

/* Parses an integer as the API does. Returns false and makes a 400 when the
 * text is not one.
 */
bool option_integer(struct reply *reply, const char *text, int64_t *ret_value);
