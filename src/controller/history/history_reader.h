/* SPDX-License-Identifier: Apache-2.0 */
/* history_reader.h - questions to the file of history
 *
 * Rows come in the order of their end. An answer is bounded in rows, and in the
 * time it takes: when that is over, it is what was found so far, with the place
 * where the next question goes on.
 *
 * Thread:  the reader's; one at a time. The writer works meanwhile.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct error;
struct history_question;
struct history_reader;
struct strbuf;

/* Life. With so many threads beside the caller's for long pages, of which the
 * answer knows nothing. -ENOENT: there is no file yet.
 */
void history_reader_close(struct history_reader *reader);
int history_reader_open(const char *path,
                        unsigned helpers,
                        struct history_reader **ret_reader,
                        struct error *err);

/* So many of its threads help, from now on; all of them unless said. */
void history_reader_use_helpers(struct history_reader *reader,
                                unsigned helpers);

/* Adds the answer as JSON: kind HistoryList, with items and perhaps
 * metadata.continue ("END.ID"); or kind HistoryReport.
 */
int history_reader_list(struct history_reader *reader,
                        const struct history_question *question,
                        int64_t most_us,
                        struct strbuf *out,
                        struct error *err);
int history_reader_report(struct history_reader *reader,
                          const struct history_question *question,
                          int64_t most_us,
                          struct strbuf *out,
                          struct error *err);
