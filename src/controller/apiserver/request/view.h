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
    const struct kind *kind; /* whose field names and columns are used, or NULL
                              */
    const struct principal *principal;
    struct store *store; /* for the cells of Kiln's columns that read other
                          * objects
                          */
    int64_t now_us;
    const int64_t *east_s; /* the reader's time zone in seconds east of UTC;
                            * NULL: not given
                            */
};
