/* SPDX-License-Identifier: Apache-2.0 */
/* serving_keys.h - what a controller has that serves TLS: a certificate, and
 * the key of its tokens
 *
 * Both are in the state directory, where they are made at the first start,
 * unless the site gives a certificate of its own.
 *
 * Called by:  controller.c.
 * Thread:     the main one.
 */
#pragma once

#include "lib/base/macro.h"

struct token_endpoint;
struct controller_settings;
struct serving_keys;
struct error;
struct http_layer;
struct credential_backend;

/* Life. A controller that listens to no TLS has none: NULL. */
void serving_keys_free(struct serving_keys *keys);
int serving_keys_open(const struct controller_settings *settings,
                      struct serving_keys **ret_keys,
                      struct error *err);

/* Another key: all tokens end. Of a controller that runs or not. */
int serving_keys_rotate_tokens(const struct controller_settings *settings,
                               struct error *err);

/* Look: for the API server, borrowed. */
void serving_keys_access(const struct serving_keys *keys,
                         struct credential_backend *credential_backend,
                         struct token_endpoint *ret_access);
void serving_keys_layer(const struct serving_keys *keys,
                        struct http_layer *ret_layer);
