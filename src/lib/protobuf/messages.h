/* SPDX-License-Identifier: Apache-2.0 */
/* messages.h - which number in a message is which field
 *
 * Numbers never change their meaning once a release has used them, so they
 * are upstream's for good.
 *
 * Thread: any.
 * See: generated.proto of each group of k8s.io/api, v1.32.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct message;

struct message_field {
    const char *name; /* not NUL-terminated */
    size_t length;
    const struct message *inlined; /* NULL, or: its fields are ours */
};

/* By the name that records have, "io.k8s.api.core.v1.Pod"; or NULL. */
const struct message *message_find(const char *name);

bool message_find_field(const struct message *message,
                        uint32_t number,
                        struct message_field *ret_field);

/* Whether a field of that name is there, also in what is inlined. */
bool message_has(const struct message *message, const char *name);
