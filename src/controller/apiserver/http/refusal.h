/* SPDX-License-Identifier: Apache-2.0 */
/* refusal.h - the Status of a request that HTTP itself refused
 *
 * No principal is known and no session signs it: the request could not be read,
 * or was too much to take in.
 * Thread:                                        the loop's.
 */
#pragma once

struct strbuf;

/* An http_refusal_fn. */
const char *
refusal_word(int status, const char *why, struct strbuf *out, void *arg);
