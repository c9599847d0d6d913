/* SPDX-License-Identifier: Apache-2.0 */
/* extender_url.h - an extender's urlPrefix: where it is, and what its verbs
 * stand behind
 *
 * Thread: any; pure functions.
 */
#pragma once

struct error;

/* "http[s]://host[:port][/path]" to an origin with its port and the path without
 * a slash at its end, both the caller's; -EINVAL with words.
 */
int extender_url_split(const char *url,
                       char **ret_origin,
                       char **ret_path,
                       struct error *err);
