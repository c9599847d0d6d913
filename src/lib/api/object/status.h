/* SPDX-License-Identifier: Apache-2.0 */
/* status.h - the API's answer when it returns no object: metav1.Status
 *
 * Thread:  any; plain data.
 */
#pragma once

#include "lib/json/record.h"

struct strbuf;

struct status_cause {
    const char *reason;
    const char *message;
    const char *field;
};

struct status_details {
    const char *name;
    const char *group;
    const char *kind;
    const char *uid;
    LIST_OF(struct status_cause) causes;
    int64_t retry_after_s;
};

struct status {
    const char *status; /* "Success", "Failure" */
    const char *message;
    const char *reason; /* "NotFound", "AlreadyExists", "Conflict", ... */
    struct status_details details;
    int64_t code; /* HTTP */
};

extern const struct record status_record;

/* Appends the message for people: `jobs.batch "job-7" is forbidden: WHY` is
 * "job 7: WHY", `jobs.batch is forbidden: WHY` is "WHY", `nodes "n1" not found`
 * is "node n1 not found". The same applies after a first colon, as in "Error
 * creating: jobs.batch is forbidden: WHY". Other messages are unchanged.
 */
void status_add_plain_message(const char *message, struct strbuf *out);
