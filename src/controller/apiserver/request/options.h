/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - what a request says beside its path and body: the query, and
 * for a deletion its DeleteOptions
 *
 * Parsed once, checked with upstream's words. Plain data, in the arena.
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
    const struct parameter *parameters; /* all, as they came */
    size_t n_parameters;
    struct label_query *labels; /* NULL: everything */
    struct field_query *fields;
    int64_t limit; /* 0: none */
    const char *continue_token;
    int64_t resource_version; /* -1: not said */
    bool has_exact;           /* resourceVersionMatch=Exact */
    int64_t ended_since_us;   /* Jobs: not those that ended before; 0: all */
    const char *node; /* Jobs: that have a pod there, or had the last; NULL: all
                       */
    bool has_east;    /* of UTC, where the reader is: in Tables */
    int64_t east_s;
    bool wants_bookmarks;
    bool wants_initial_events;
    int64_t timeout_s;          /* 0: not said */
    const char *include_object; /* of Tables: "Metadata" */

    const char *field_manager; /* NULL: not said */
    bool says_force;           /* in any way */
    bool is_forced;
    bool is_dry_run;
    enum field_validation validation;

    bool has_grace;
    int64_t grace_s;
    const char *propagation; /* NULL: not said */
    const char *precondition_uid;
    const char *precondition_version;
};

/* Reads the parameter `watch` before the request is routed. */
bool options_wants_watch(const struct parameter *parameters, size_t count);
const char *parameter_find(const struct parameter *parameters,
                           size_t count,
                           const char *name);

/* False: the reply says what is wrong. `body` of a deletion: its tree, or
 * NULL; it takes the place of the query.
 */
bool options_parse(struct options *ret_options,
                   struct arena *arena,
                   const struct route *route,
                   const struct parameter *parameters,
                   size_t count,
                   const struct json *body,
                   struct reply *reply);

/* An integer as the API reads it: false, and a 400, when it is none. */
bool option_integer(struct reply *reply, const char *text, int64_t *ret_value);
