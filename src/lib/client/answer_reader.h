/* SPDX-License-Identifier: Apache-2.0 */
/* answer_reader.h - parses the text of an answer into objects
 *
 * All results of a reading are valid until answer_reader_fini.
 *
 * Thread:  any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/api/object/status.h"
#include "lib/base/macro.h"

struct arena;
struct error;
struct kind;
struct object;

struct answer_reader {
    struct arena *arena;
    struct status status;
    bool has_status;
    const struct object *object; /* or NULL */
    const struct object **objects;
    size_t n_objects;
    const char *resource_version; /* of a list */
    const char *continue_token;
};

/* Life */
void answer_reader_fini(struct answer_reader *reading);
#define CLEANUP_ANSWER_READER CLEANUP(answer_reader_fini)

/* Reads an object of that kind, a list of them, or a Status; any other object
 * leaves the reading empty. -EINVAL with what is wrong with the text.
 */
int answer_reader_read(const struct kind *kind, const char *text, size_t length,
                       struct answer_reader *ret_reading, struct error *err);

/* Reads one line of a watch: `ret_type` is its type, such as "ADDED". */
int answer_reader_read_frame(const struct kind *kind, const char *text, size_t length,
                             struct answer_reader *ret_reading, const char **ret_type,
                             struct error *err);
