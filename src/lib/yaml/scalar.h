/* SPDX-License-Identifier: Apache-2.0 */
/* scalar.h - the meaning of a plain YAML scalar: yes, 010, 1_000, ~
 *
 * The rules are those of go-yaml version 2, with which kubectl and the API
 * server read YAML, so that a manifest means the same in all.
 *
 * Thread:  any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct strbuf;

enum scalar_type {
    SCALAR_STRING,
    SCALAR_NULL,
    SCALAR_TRUE,
    SCALAR_FALSE,
    SCALAR_INT,
    SCALAR_FLOAT,
    SCALAR_NOT_JSON, /* .inf, .nan */
};

/* Replaces the contents of `number` with the JSON text of an int or float. */
enum scalar_type scalar_resolve(const char *text, size_t length, struct strbuf *number);

/* Whether every YAML parser reads the text, printed without quotes, as a
 * string. Times and base 60 numbers are not read as strings.
 */
bool scalar_is_plain_string(const char *text, size_t length);
