/* SPDX-License-Identifier: Apache-2.0 */
/* reading.h - the text of an answer to the objects in it
 *
 * Everything a reading holds lives until reading_fini.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/api/object/status.h"
#include "lib/base/macro.h"

struct arena;
struct error;
struct json;
struct kind;
struct object;

struct reading {
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
void reading_fini(struct reading *reading);
#define CLEANUP_READING CLEANUP(reading_fini)

/* Read: an object of that kind, a list of them, or a Status; anything else
 * leaves the reading empty. -EINVAL with what is wrong with the text.
 */
int reading_of_answer(const struct kind *kind,
                      const char *text,
                      size_t length,
                      struct reading *ret_reading,
                      struct error *err);

/* One line of a watch: `ret_type` is "ADDED", ... as it came. */
int reading_of_frame(const struct kind *kind,
                     const char *text,
                     size_t length,
                     struct reading *ret_reading,
                     const char **ret_type,
                     struct error *err);
