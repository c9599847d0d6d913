/* SPDX-License-Identifier: Apache-2.0 */
/* scalar.h - what a plain YAML scalar means: yes, 010, 1_000, ~
 *
 * The rules are those of go-yaml version 2, which kubectl and the API server
 * read YAML with, so that a manifest means the same to both.
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

/* Replaces what is in `number` by the JSON text of an int or float. */
enum scalar_type
scalar_resolve(const char *text, size_t length, struct strbuf *number);

/* Whether the text, printed without quotes, is read back as a string by every
 * YAML parser: also times and base 60 numbers are not.
 */
bool scalar_is_plain_string(const char *text, size_t length);
