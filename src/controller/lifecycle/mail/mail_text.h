/* SPDX-License-Identifier: Apache-2.0 */
/* mail_text.h - the words of a mail about a job
 *
 * A user's texts (the name of the job) never begin a line of a header.
 *
 * Thread: any; pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct job;
struct mail_due;
struct strbuf;

struct mail_facts {
    const struct job *job;
    const struct mail_due *due;
    const char *address; /* checked */
    const char *cluster; /* of its name; or NULL */
    int64_t now_us;
    bool is_last; /* the user's further mails are left out for a while */
};

/* The message with its headers, lines ended by LF. */
void mail_text_write(const struct mail_facts *facts, struct arena *arena, struct strbuf *out);
