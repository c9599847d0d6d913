/* SPDX-License-Identifier: Apache-2.0 */
/* http_transport.h - the extender transport that uses HTTP/1.1
 *
 * It keeps connections to each extender open. Host names are resolved on a
 * worker thread.
 *
 * Thread: the loop's.
 */
#pragma once

#include "controller/scheduler/extenders/extender_transport.h"

struct extenders;
struct loop;

/* Borrows the extenders. Free cancels pending calls. */
struct extender_transport *http_transport_new(struct loop *loop,
                                              const struct extenders *extenders) MUST_USE;
