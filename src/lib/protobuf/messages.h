/* SPDX-License-Identifier: Apache-2.0 */
/* messages.h - which number in a message is which field
 *
 * A record that upstream has names its fields in the order of their numbers,
 * from 1 (`message` of struct record). A number among them is that of the next
 * one; fields in parentheses are one message, whose fields stand in JSON as if
 * they were the record's own: "name (hostPath emptyDir) 8 medium". Numbers
 * never change their meaning once a release has used them, so they are
 * upstream's for good.
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
    const char *inlined; /* NULL, or the message: its fields are ours */
};

bool message_find_field(const char *message,
                        uint32_t number,
                        struct message_field *ret_field);
