/* SPDX-License-Identifier: Apache-2.0 */
/* http_transport.h - the extender transport that speaks HTTP/1.1
 *
 * A few kept connections for each extender. Names are looked up on a thread of
 * its own.
 *
 * Thread: the loop's.
 */
#pragma once

#include "controller/scheduler/extenders/extender_transport.h"

struct extenders;
struct loop;

/* The extenders are borrowed. Free cancels what is under way. */
struct extender_transport *
http_transport_new(struct loop *loop,
                   const struct extenders *extenders) MUST_USE;
