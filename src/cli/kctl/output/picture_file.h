/* SPDX-License-Identifier: Apache-2.0 */
/* picture_file.h - a picture as the file that its user named
 *
 * Thread: any.
 */
#pragma once

struct error;
struct strbuf;

/* "-" is the standard output. Negative errno: it is not whole. */
int picture_file_write(const char *path,
                       const struct strbuf *text,
                       struct error *err);
