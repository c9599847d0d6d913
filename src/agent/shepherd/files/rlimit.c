/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/shepherd/files/rlimit.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

static const struct {
    const char *name;
    int resource;
} names[] = {
    {"as", RLIMIT_AS},           {"core", RLIMIT_CORE},         {"cpu", RLIMIT_CPU},
    {"data", RLIMIT_DATA},       {"fsize", RLIMIT_FSIZE},       {"locks", RLIMIT_LOCKS},
    {"memlock", RLIMIT_MEMLOCK}, {"msgqueue", RLIMIT_MSGQUEUE}, {"nice", RLIMIT_NICE},
    {"nofile", RLIMIT_NOFILE},   {"nproc", RLIMIT_NPROC},       {"rss", RLIMIT_RSS},
    {"rtprio", RLIMIT_RTPRIO},   {"rttime", RLIMIT_RTTIME},     {"sigpending", RLIMIT_SIGPENDING},
    {"stack", RLIMIT_STACK},
};

const char *
rlimit_name(int resource)
{
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (names[i].resource == resource)
            return names[i].name;
    return "?";
}

static int
parse_value(const char *text, rlim_t *ret_value, struct error *err)
{
    char *end;
    unsigned long long value;

    if (strcmp(text, "unlimited") == 0) {
        *ret_value = RLIM_INFINITY;
        return 0;
    }
    errno = 0;
    value = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end != '\0' || errno != 0)
        return error_set(err, -EINVAL, "'%s' is neither a number nor 'unlimited'", text);
    *ret_value = value;
    return 0;
}

int
rlimit_parse(const char *name, const char *soft, const char *hard,
             struct rlimit_setting *ret_setting, struct error *err)
{
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        struct rlimit_setting s = {.resource = names[i].resource};
        int r;

        if (strcmp(name, names[i].name) != 0)
            continue;
        r = parse_value(soft, &s.soft, err);
        if (r == 0)
            r = parse_value(hard, &s.hard, err);
        if (r == 0 && s.soft > s.hard)
            r = error_set(err, -EINVAL, "soft limit %s is above the hard limit %s", soft, hard);
        if (r < 0)
            return error_wrap(err, r, "resource limit '%s'", name);
        *ret_setting = s;
        return 0;
    }
    return error_set(err, -EINVAL, "there is no resource limit '%s'", name);
}

void
rlimit_format_value(rlim_t value, struct strbuf *out)
{
    if (value == RLIM_INFINITY)
        strbuf_add_text(out, "unlimited");
    else
        strbuf_printf(out, "%" PRIu64, (uint64_t)value);
}
