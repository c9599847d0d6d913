/* SPDX-License-Identifier: Apache-2.0 */
/* accept.h - the form in which a client wants its answers
 *
 * The Accept header asks for whole objects, for their metadata alone, or for a
 * Table. Parsing has no side effects.
 *
 * Thread:  any; no state.
 */
#pragma once

#include <stdbool.h>

struct reply;

enum accept_form {
    ACCEPT_WHOLE,
    ACCEPT_METADATA,
    ACCEPT_METADATA_LIST,
    ACCEPT_TABLE,
    ACCEPT_DISCOVERY, /* for /api and /apis only: aggregated discovery */
};

enum accept_include { /* what a row of a Table carries beside its cells */
                      INCLUDE_METADATA,
                      INCLUDE_OBJECT,
                      INCLUDE_NONE,
};

struct accept {
    enum accept_form form;
    enum accept_include include;
    bool is_kiln; /* a Table with Kiln's columns */
    bool is_yaml;
    bool is_pretty;
    bool is_v1beta1;
    bool is_v2beta1; /* of discovery */
};

/* Returns false when the reply is a 406. `header` may be NULL. */
bool accept_parse(const char *header, struct accept *ret_accept, struct reply *reply);
bool accept_parse_discovery(const char *header, struct accept *ret_accept, struct reply *reply);
