/* SPDX-License-Identifier: Apache-2.0 */
/* refusal.h - the Status of a request that the HTTP layer refused
 *
 * Such a request has no principal and its answer no seal: the request could not
 * be read, or was too large.
 *
 * Thread:  the loop's.
 */
#pragma once

struct strbuf;

/* An http_refusal_fn. */
const char *refusal_word(int status, const char *why, struct strbuf *out, void *arg);
