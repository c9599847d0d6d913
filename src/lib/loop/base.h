/* SPDX-License-Identifier: Apache-2.0 */
/* base.h - the libevent base under a loop
 *
 * Called by:  only lib/loop and lib/http, which add libevent's own events to
 *             it.
 * Thread:     the loop's.
 */
#pragma once

struct event_base;
struct loop;

struct event_base *loop_base(const struct loop *loop);
