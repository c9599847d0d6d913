/* SPDX-License-Identifier: Apache-2.0 */
/* shared_keys.h - the keys of serving_keys.h as secrets of a replicated store, so that
 * another controller that takes over has the same
 *
 * The store has them, and the files of the state directory are copies that follow it.
 * While this controller leads, a file that is changed there replaces what the store has.
 * The certificate and key that a site provides (tls.certificate) are the site's to copy.
 *
 * Called by:  controller.c, serving_keys.c.
 * Thread:     the main one.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct controller_settings;
struct error;
struct loop;
struct serving_keys;
struct shared_keys;
struct store;

/* Life. Open runs the loop until the store has all keys; -ECANCELED: it is stopping.
 * Nothing is shared without TLS, or with a store in the state directory: *ret_shared stays.
 * Stop it before the store is closed, which may call it back, and free it after that, also
 * when it was not opened.
 */
struct shared_keys_settings {
    const struct controller_settings *settings;
    struct serving_keys *keys; /* or NULL */
    struct store *store;
    struct loop *loop;
    const bool *is_stopping;
};
void shared_keys_stop(struct shared_keys *shared);
void shared_keys_free(struct shared_keys *shared);
int shared_keys_open(const struct shared_keys_settings *settings, struct shared_keys **ret_shared,
                     struct error *err);

/* Waits until the store has the token key of this file. Blocks for seconds; of a program
 * that runs no controller.
 */
int shared_keys_await(const struct controller_settings *settings, const char *path,
                      struct error *err);
