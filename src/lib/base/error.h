/* SPDX-License-Identifier: Apache-2.0 */
/* error.h - what went wrong, in words for the person who will read it
 *
 * Functions return 0 or a negative errno; one that a person will read about
 * takes `struct error *err` as its very last argument. It lives on the
 * caller's stack, may be NULL, and is untouched on success.
 *
 * Thread:  any; an error is on the stack of its caller.
 */
#pragma once

#include "lib/base/macro.h"

struct error {
    int code; /* negative errno, 0 when nothing was set */
    char text[1024];
};

/* Both return `code`, so that they end a function: return error_set(...). */
int error_set(struct error *err, int code, const char *format, ...)
    PRINTF(3, 4);

/* Puts the words in front of what stands there already: "binding job 'x': no
 * space left". Where nothing was set, the text of the errno follows.
 */
int error_wrap(struct error *err, int code, const char *format, ...)
    PRINTF(3, 4);
