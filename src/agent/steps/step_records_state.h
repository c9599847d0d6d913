/* SPDX-License-Identifier: Apache-2.0 */
/* step_records_state.h - the private structs of the records of steps
 *
 * step_records.c has the changes and the files, step_records_report.c the reports.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/api/cluster/step_record.h"

struct arena;
struct map;
struct strbuf;

#define MEMBER_KNOWN "known" /* the controller knows the end of that step */

struct kept_step {
    struct step_record r;
    struct arena *arena;                  /* of its texts and numbers */
    uint64_t version, sent, acknowledged; /* versions; 0: none */
};

struct kept_pod {
    char *namespace, *name, *uid;
    struct kept_step *records; /* by id, ascending */
    unsigned count, capacity;
    int64_t omitted, omitted_sent, omitted_acknowledged;
    bool is_closed, is_collected;
    size_t bytes, shrunk_bytes; /* of the file; when it was written anew */
};

struct step_records {
    char *dir;
    struct map *pods; /* by uid */
    size_t count;     /* records */
};

/* Whether the controller has the end of the step. */
bool kept_step_is_known(const struct kept_step *r);

/* Append adds lines to the file of the pod. Forget_if_done: true if nothing more comes of the
 * pod, and nothing has to be sent; then it is freed.
 */
void kept_pod_append(const struct step_records *s, struct kept_pod *p, const struct strbuf *text);
void kept_pod_remove_known(struct step_records *s, struct kept_pod *p);
bool kept_pod_forget_if_done(struct step_records *s, struct kept_pod *p);
