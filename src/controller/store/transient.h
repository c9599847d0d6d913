/* SPDX-License-Identifier: Apache-2.0 */
/* transient.h - the store's part of the expiry of transient objects (events): whose they
 * are, and their removal
 *
 * Thread:  the loop's.
 */
#pragma once

#include "controller/store/expiry.h"

struct store;

struct expiry *transient_new_expiry(struct store *store) OWNED_BY(expiry_free);
