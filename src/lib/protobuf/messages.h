/* SPDX-License-Identifier: Apache-2.0 */
/* messages.h - maps the field numbers of a message to field names
 *
 * A record that upstream has lists its fields in the order of their numbers,
 * from 1 (`message` of struct record). A number in the list is that of the next
 * field. Fields in parentheses belong to one message, whose fields are the
 * record's own in JSON: "name (hostPath emptyDir) 8 medium". Numbers never
 * change their meaning once a release has used them, so upstream's numbers are
 * stable.
 *
 * Thread: any.
 * See: generated.proto of each group of k8s.io/api, v1.32.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct message_field {
    const char *name; /* not NUL-terminated */
    size_t length;
    const char *inlined; /* NULL, or an inlined message: in JSON its fields are
                          * the record's */
};

bool message_find_field(const char *message, uint32_t number, struct message_field *ret_field);
