/* SPDX-License-Identifier: Apache-2.0 */
/* pod_maker.h - pods of a log's jobs, as the API would hand them out
 *
 * Each is made of one of two templates, waiting or running, since most of a
 * replay's time would else go by in texts that nobody reads.
 *
 * Thread:  one at a time.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct object;
struct pod_maker;

struct pod_words {
    uint64_t job; /* its place in the log */
    unsigned member;
    unsigned cpus;
    int64_t created_us, started_us;
    int64_t limit_s;
    int64_t user;
    const char *node; /* NULL while it waits */
};

void pod_maker_free(struct pod_maker *m);
struct pod_maker *pod_maker_new(void) OWNED_BY(pod_maker_free);

/* Pods are named jJOB-MEMBER. */
const struct object *pod_maker_make(struct pod_maker *m,
                                    const struct pod_words *words);
