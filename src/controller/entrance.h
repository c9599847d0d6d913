/* SPDX-License-Identifier: Apache-2.0 */
/* entrance.h - what a controller has that serves TLS: a certificate, and the
 * key of its tokens
 *
 * Both are in the state directory, where they are made at the first start,
 * unless the site gives a certificate of its own.
 *
 * Called by:  controller.c.
 */
#pragma once

#include "lib/base/macro.h"

struct access;
struct controller_settings;
struct entrance;
struct error;
struct http_layer;
struct credential_backend;

/* Life. A controller that listens to no TLS has none: NULL. */
void entrance_free(struct entrance *entrance);
int entrance_open(const struct controller_settings *settings,
                  struct entrance **ret_entrance,
                  struct error *err);

/* Another key: all tokens end. Of a controller that runs or not. */
int entrance_rotate_tokens(const struct controller_settings *settings,
                           struct error *err);

/* Look: for the API server, borrowed. */
void entrance_access(const struct entrance *entrance,
                     struct credential_backend *credential_backend,
                     struct access *ret_access);
void entrance_layer(const struct entrance *entrance,
                    struct http_layer *ret_layer);
