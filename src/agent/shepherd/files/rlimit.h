/* SPDX-License-Identifier: Apache-2.0 */
/* rlimit.h - resource limits by name: RLIMIT_NOFILE is "nofile"
 *
 * Thread: any; pure.
 */
#pragma once

#include <sys/resource.h>

struct error;
struct strbuf;

/* An infinite limit is RLIM_INFINITY, written "unlimited". */
struct rlimit_setting {
    int resource;
    rlim_t soft;
    rlim_t hard;
};

#define RLIMIT_SETTINGS_MAX 16u

/* Parses "nofile", "1024", "unlimited". Refuses unknown names, values that are
 * no numbers, and a soft limit above the hard one.
 */
int rlimit_parse(const char *name, const char *soft, const char *hard,
                 struct rlimit_setting *ret_setting, struct error *err);
const char *rlimit_name(int resource);
void rlimit_format_value(rlim_t value, struct strbuf *out);
