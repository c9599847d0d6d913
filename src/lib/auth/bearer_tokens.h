/* SPDX-License-Identifier: Apache-2.0 */
/* bearer_tokens.h - short-lived tokens for clients that cannot use MUNGE
 *
 * A token names a user and the time when it expires, and is signed
 * (HMAC-SHA256) with a key that the controller keeps in a file; tokens
 * themselves are not stored. A new key revokes all tokens: a changed key file
 * is read again. Logs name a token only by an identifier made from its digest.
 *
 * Thread: the loop's.
 * See:    doc/protocol.md.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/macro.h"

struct bearer_tokens;
struct clock;
struct error;

#define BEARER_TOKEN_SIZE      256 /* a token and a NUL */
#define BEARER_TOKEN_NAME_SIZE 17

/* Life. Open makes the key, with mode 0600, when there is none. Rotate writes a
 * new key; it may be called while a controller runs.
 */
void bearer_tokens_free(struct bearer_tokens *bearer);
int bearer_tokens_open(const char *path, const char *cluster, struct clock *clock,
                       struct bearer_tokens **ret_bearer, struct error *err);
int bearer_tokens_rotate(const char *path, struct error *err);
DEFINE_CLEANUP(struct bearer_tokens, bearer_tokens_free)

/* The key file may have changed: the next call reads it, however soon it comes. */
void bearer_tokens_reload(struct bearer_tokens *bearer);

/* Makes a token for this user that expires after `lifetime_s`. */
void bearer_tokens_issue(struct bearer_tokens *bearer, uid_t uid, gid_t gid, int64_t lifetime_s,
                         char ret_token[BEARER_TOKEN_SIZE], int64_t *ret_ends_at_s);

/* Finds the user of a token. -EKEYREJECTED with a text for the client: it is no
 * token, is of another cluster or key, or has expired.
 */
int bearer_tokens_check(struct bearer_tokens *bearer, const char *token, uid_t *ret_uid,
                        gid_t *ret_gid, struct error *err);

/* The identifier of a token in logs. */
void bearer_token_name(const char *token, char ret_name[BEARER_TOKEN_NAME_SIZE]);
