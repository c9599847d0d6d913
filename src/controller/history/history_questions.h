/* SPDX-License-Identifier: Apache-2.0 */
/* history_questions.h - the queue of questions for the reader's thread
 *
 * The number of pending questions is limited for each user and for all
 * together. Each question gets a slice of time, so that none waits long for
 * another.
 *
 * Thread:  the loop's, except its own thread.
 */
#pragma once

#include <stddef.h>

#include "controller/history/history.h"
#include "lib/base/macro.h"

struct error;
struct history_question;
struct history_questions;
struct loop;

/* Life. Stop answers the pending questions. */
void history_questions_stop(struct history_questions *questions);
void history_questions_free(struct history_questions *questions);
struct history_questions *history_questions_new(struct loop *loop, const char *path)
    OWNED_BY(history_questions_free);

/* The file was opened or replaced. */
void history_questions_open(struct history_questions *questions);

/* See history_ask. */
int history_questions_ask(struct history_questions *questions,
                          const struct history_question *question, history_answer_fn *done,
                          void *context, struct error *err);
