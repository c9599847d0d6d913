/* SPDX-License-Identifier: Apache-2.0 */
/* listeners.h - opens the sockets and addresses of the settings
 *
 * Called by:  controller.c.
 * Thread:     the loop's.
 */
#pragma once

struct apiserver;
struct controller_settings;
struct error;
struct serving_keys;
struct standby;

/* Ends what `standby` did with the ports. `keys` is for TLS, or NULL. The error names
 * the address. Says in the log what is served.
 */
int listeners_open(const struct controller_settings *settings, struct apiserver *api,
                   struct serving_keys *keys, struct standby *standby, struct error *err);
