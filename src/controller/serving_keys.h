/* SPDX-License-Identifier: Apache-2.0 */
/* serving_keys.h - the keys of a controller that serves TLS: its certificate,
 * and the key of its tokens
 *
 * Both are in the state directory, and are made there at the first start; a replicated
 * store has them, too (shared_keys.h). The site may provide its own certificate instead.
 *
 * Called by:  controller.c, reload.c.
 * Thread:     the main one; serving_keys_read_again: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/macro.h"

struct token_endpoint;
struct controller_settings;
struct serving_keys;
struct error;
struct http_layer;
struct credential_backend;
struct tls;

/* Life. NULL for a controller without TLS listeners. */
void serving_keys_free(struct serving_keys *keys);
int serving_keys_open(const struct controller_settings *settings, struct serving_keys **ret_keys,
                      struct error *err);

/* Makes a new token key, which invalidates all tokens. The controller may be
 * running or not; with a replicated store it must lead, and this waits until the store has
 * the key.
 */
int serving_keys_rotate_tokens(const struct controller_settings *settings, struct error *err);

/* Another certificate at the same paths, for a reload. Read_again reads it, or makes one
 * where the controller's own was removed, and fails with words that say what is wrong; take uses it for new connections, and
 * leaves the former one in `fresh`. True if it is another one. Both accept NULL.
 */
struct fresh_certificate;
int serving_keys_read_again(const struct serving_keys *keys, struct fresh_certificate **ret_fresh,
                            struct error *err);
bool serving_keys_take(struct serving_keys *keys, struct fresh_certificate *fresh);
void fresh_certificate_free(struct fresh_certificate *fresh);

/* For the API server; borrowed. */
void serving_keys_access(const struct serving_keys *keys,
                         struct credential_backend *credential_backend,
                         struct token_endpoint *ret_access);
void serving_keys_layer(const struct serving_keys *keys, struct http_layer *ret_layer);

/* The token key in the state directory has changed. */
void serving_keys_reload(struct serving_keys *keys);

/* The certificate that is in use, in PEM; and the names that one of this controller
 * has, of which the first is the subject.
 */
#define CERTIFICATE_NAMES 64
struct certificate_names {
    char *items[CERTIFICATE_NAMES];
    size_t count;
};
const char *serving_keys_certificate(const struct serving_keys *keys);
void serving_keys_names(const struct serving_keys *keys, struct certificate_names *ret_names);
void certificate_names_fini(struct certificate_names *names);

/* The TLS of the ports; NULL for no keys. */
struct tls *serving_keys_tls(const struct serving_keys *keys);
