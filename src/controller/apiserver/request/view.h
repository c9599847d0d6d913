/* SPDX-License-Identifier: Apache-2.0 */
/* view.h - for whom and in which form objects are shown
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdint.h>

#include "controller/apiserver/request/accept.h"

struct kind;
struct principal;
struct store;

struct view {
    struct accept accept;
    const struct kind *kind; /* in whose words objects are shown, or NULL */
    const struct principal *principal;
    struct store *store; /* what the cells of Kiln's columns look up */
    int64_t now_us;
    const int64_t *east_s; /* of UTC, where the reader is; NULL: not said */
};
