/* SPDX-License-Identifier: Apache-2.0 */
/* line.h - the way from the API's thread to that of a client in this process
 *
 * News are told at the end of the API's turn, all together: a thread that is
 * woken for each of them costs more than they do.
 *
 * Thread: told on the API's; opened and closed on the client's; references
 *         on both.
 */
#pragma once

#include "lib/base/macro.h"
#include "lib/loop/loop.h"

struct line;

/* Life. Close lets go as well; what is told from then on is abandoned. */
void line_unref(struct line *line);
struct line *line_ref(struct line *line);
struct line *line_open(struct loop *server_loop, struct loop *client_loop)
    OWNED_BY(line_unref);
void line_close(struct line *line);

/* Runs `fn` on the client's thread, in order; or, when there is no client any
 * more, `abandoned` on the API's.
 */
void line_tell(struct line *line, loop_fn fn, loop_fn abandoned, void *arg);
