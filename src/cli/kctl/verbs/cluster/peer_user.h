/* SPDX-License-Identifier: Apache-2.0 */
/* peer_user.h - the user at the other end of a local TCP connection
 *
 * The kernel lists the user of each socket in /proc/net/tcp. This works only
 * for peers on 127.0.0.1.
 *
 * Thread: any.
 */
#pragma once

#include <sys/types.h>

#define PEER_USER_TABLE "/proc/net/tcp"

/* The uid of the process whose socket is at `address` ("127.0.0.1:40112") and
 * is connected to our `port`, by the table in that file. -ENOENT when there is
 * none, -EINVAL when the address has another form; another negative errno when
 * the file cannot be read.
 */
int peer_user_find(const char *table_path, const char *address, unsigned port, uid_t *ret_uid);
