/* SPDX-License-Identifier: Apache-2.0 */
/* picture_file.h - writes a picture to the file that the user named
 *
 * Thread: any.
 */
#pragma once

struct error;
struct strbuf;

/* "-" is the standard output. Negative errno: the file is incomplete. */
int picture_file_write(const char *path, const struct strbuf *text, struct error *err);
