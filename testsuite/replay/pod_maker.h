/* SPDX-License-Identifier: Apache-2.0 */
/* pod_maker.h - pods of a log's jobs, like the API's
 *
 * Each is made of one of two templates, waiting or running, because otherwise a
 * replay would spend most of its time on texts that nobody reads.
 *
 * Thread:  one at a time.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct object;
struct pod_maker;

struct pod_words {
    uint64_t job; /* index in the log */
    unsigned member;
    unsigned cpus;
    int64_t created_us, started_us;
    int64_t limit_s;
    int64_t user;
    const char *node; /* NULL while the pod waits */
};

void pod_maker_free(struct pod_maker *m);
struct pod_maker *pod_maker_new(void) OWNED_BY(pod_maker_free);

/* Pods are named jJOB-MEMBER. */
const struct object *pod_maker_make(struct pod_maker *m, const struct pod_words *words);
