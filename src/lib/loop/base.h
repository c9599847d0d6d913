/* SPDX-License-Identifier: Apache-2.0 */
/* base.h - the libevent base under a loop
 *
 * Called by:  lib/loop and lib/http, which hang libevent's own things on it.
 *             Nobody else.
 * Thread:     the loop's.
 */
#pragma once

struct event_base;
struct loop;

struct event_base *loop_base(const struct loop *loop);
