/* SPDX-License-Identifier: Apache-2.0 */
/* extender_url.h - splits an extender's urlPrefix into its origin and path
 *
 * Thread: any; pure functions.
 */
#pragma once

struct error;

/* Splits "http[s]://host[:port][/path]" into an origin with a port and a path
 * without a slash at its end. The caller owns both. -EINVAL with an error text.
 */
int extender_url_split(const char *url, char **ret_origin, char **ret_path, struct error *err);
