/* SPDX-License-Identifier: Apache-2.0 */
/* error.h - an error code with a text for a person
 *
 * Functions return 0 or a negative errno. A function whose errors a person will
 * read takes `struct error *err` as its very last argument. The struct is on
 * the caller's stack, may be NULL, and is untouched on success.
 *
 * Thread:  any; an error is on the stack of its caller.
 */
#pragma once

#include "lib/base/macro.h"

struct error {
    int code; /* negative errno; 0: no error was set */
    char text[1024];
};

/* Both return `code`, so that a function can end with: return error_set(...).
 */
int error_set(struct error *err, int code, const char *format, ...) PRINTF(3, 4);

/* Puts the text in front of the one that is set: "binding job 'x': no space
 * left". If no error was set, the text of the errno follows instead.
 */
int error_wrap(struct error *err, int code, const char *format, ...) PRINTF(3, 4);
