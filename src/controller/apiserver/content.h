/* SPDX-License-Identifier: Apache-2.0 */
/* content.h - a job's script and environment: taken out of the Job on the way
 * in, kept by digest, served to those who may read them
 *
 * See: doc/decisions.md 6.
 */
#pragma once

#include <stddef.h>

struct request;
struct store_txn;

/* What admission took out of the tree, in the request's arena. */
struct content {
    const char *digest; /* NULL: none */
    const void *bytes;
    size_t length;
};

#define CONTENT_SCRIPT_MAX      (4u << 20)
#define CONTENT_ENVIRONMENT_MAX (1u << 20)

/* Stores what was taken out, with the Job that names it. */
void content_put(const struct request *q, struct store_txn *txn);
