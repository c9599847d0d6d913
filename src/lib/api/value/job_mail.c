/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/value/job_mail.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

#define ADDRESS_MAX 254u

static const struct {
    const char *word;
    unsigned events;
} words[] = {
    {"BEGIN", JOB_MAIL_BEGIN},
    {"END", JOB_MAIL_END},
    {"FAIL", JOB_MAIL_FAIL},
    {"REQUEUE", JOB_MAIL_REQUEUE},
    {"INVALID_DEPEND", JOB_MAIL_INVALID_DEPEND},
    {"TIME_LIMIT", JOB_MAIL_TIME_LIMIT},
    {"TIME_LIMIT_50", JOB_MAIL_TIME_LIMIT_50},
    {"TIME_LIMIT_80", JOB_MAIL_TIME_LIMIT_80},
    {"TIME_LIMIT_90", JOB_MAIL_TIME_LIMIT_90},
    {"ARRAY_TASKS", JOB_MAIL_ARRAY_TASKS},
    {"STAGE_OUT", JOB_MAIL_STAGE_OUT},
    {"ALL",
     JOB_MAIL_BEGIN | JOB_MAIL_END | JOB_MAIL_FAIL | JOB_MAIL_REQUEUE | JOB_MAIL_INVALID_DEPEND},
    {"NONE", 0},
};

int
job_mail_parse(const char *text, unsigned *events, struct error *err)
{
    for (const char *at = text;;) {
        const size_t length = strcspn(at, ",");
        size_t i = 0;

        while (i < ARRAY_SIZE(words)
               && (strlen(words[i].word) != length || strncasecmp(words[i].word, at, length) != 0))
            i++;
        if (i == ARRAY_SIZE(words))
            return error_set(err, -EINVAL,
                             "'%.*s' is none of BEGIN, END, FAIL, REQUEUE, INVALID_DEPEND, "
                             "TIME_LIMIT, TIME_LIMIT_50, TIME_LIMIT_80, TIME_LIMIT_90, ALL, NONE",
                             length < 40 ? (int)length : 40, at);
        *events = words[i].events == 0 ? 0 : *events | words[i].events;
        if (at[length] == '\0')
            return 0;
        at += length + 1;
    }
}

const char *
job_mail_format(unsigned events, struct arena *arena)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if ((events & words[i].events) != 0 && (words[i].events & (words[i].events - 1)) == 0)
            strbuf_printf(&out, "%s%s", out.length > 0 ? "," : "", words[i].word);
    return arena_strdup(arena, out.length > 0 ? out.text : "NONE");
}

/* It becomes an argument of a program and a part of a header: nothing that could
 * be an option, another line or more.
 */
static bool
is_address(const char *text, size_t length)
{
    const char *at = memchr(text, '@', length);
    const size_t rest = at != NULL ? length - (size_t)(at + 1 - text) : 1;

    if (length == 0 || length > ADDRESS_MAX || !isalnum((unsigned char)text[0]) || rest == 0
        || (at != NULL && memchr(at + 1, '@', rest) != NULL))
        return false;
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)text[i]) && strchr("._+-=@%", text[i]) == NULL)
            return false;
    return true;
}

int
job_mail_check_addresses(const char *text, struct error *err)
{
    unsigned n = 0;

    for (const char *at = text;; at++) {
        const size_t length = strcspn(at, ",");

        if (!is_address(at, length))
            return error_set(err, -EINVAL,
                             "'%.80s' is not an address of mail (name@example.org) or the name of "
                             "a user",
                             text);
        if (++n > JOB_MAIL_ADDRESSES)
            return error_set(err, -EINVAL, "more than %d addresses", JOB_MAIL_ADDRESSES);
        at += length;
        if (*at == '\0')
            return 0;
    }
}
