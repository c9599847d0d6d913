/* SPDX-License-Identifier: Apache-2.0 */
/* history_questions.h - questions that wait for the reader's thread
 *
 * A user has so many at a time, and all together have; each is answered in
 * slices of time, so that none waits long for another.
 *
 * Thread:  the loop's, but for its own.
 */
#pragma once

#include <stddef.h>

#include "controller/history/history.h"
#include "lib/base/macro.h"

struct error;
struct history_question;
struct history_questions;
struct loop;

/* Life. Stop answers what waits. */
void history_questions_stop(struct history_questions *questions);
void history_questions_free(struct history_questions *questions);
struct history_questions *history_questions_new(struct loop *loop,
                                                const char *path)
    OWNED_BY(history_questions_free);

/* The file is there, or another is in its place. */
void history_questions_open(struct history_questions *questions);

/* As history_ask. */
int history_questions_ask(struct history_questions *questions,
                          const struct history_question *question,
                          history_answer_fn *done,
                          void *context,
                          struct error *err);
