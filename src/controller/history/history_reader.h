/* SPDX-License-Identifier: Apache-2.0 */
/* history_reader.h - answers questions from the history file
 *
 * Rows come in the order of their end. A page is bounded in rows and in time: when the time
 * is over, it has what was found so far, and the place where the next question continues.
 *
 * Thread:  the reader's; one at a time. The writer works meanwhile.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct error;
struct history_question;
struct history_reader;
struct strbuf;

/* Life. `helpers`: threads beside the caller's that read long pages; they do not change the
 * answer. -ENOENT: there is no file yet.
 */
void history_reader_close(struct history_reader *reader);
int history_reader_open(const char *path, unsigned helpers, struct history_reader **ret_reader,
                        struct error *err);

/* How many of the threads help from now on; at first all do. */
void history_reader_use_helpers(struct history_reader *reader, unsigned helpers);

/* Adds the answer as JSON: kind HistoryList, with items and, if there are more rows,
 * metadata.continue ("END.ID"); kind StepList; or kind HistoryReport, which fails with
 * -ETIMEDOUT after `most_us`.
 */
int history_reader_answer(struct history_reader *reader, const struct history_question *question,
                          int64_t most_us, struct strbuf *out, struct error *err);
