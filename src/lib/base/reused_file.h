/* SPDX-License-Identifier: Apache-2.0 */
/* reused_file.h - a short text in a file that is written over and never grows
 *
 * To make a file, to sync it with its directory and to remove it costs several
 * times as much as to write over one that is there. All of it is written each
 * time: the text, NUL bytes up to its size, and a sum of both. So what a crash
 * of the machine leaves of two texts is known to be none.
 *
 * Thread: any; one at a time for each file.
 */
#pragma once

#include "lib/base/macro.h"

struct strbuf;

/* Write makes it where it is missing, and returns when it is on the disk;
 * -EFBIG for a text that has no room. Read appends the text; -ENOENT when there
 * is no file, or no whole text in it. Blank: there is none any more, on the disk
 * at some later time. A negative errno otherwise.
 */
int reused_file_write(const char *directory,
                      const char *name,
                      const struct strbuf *text);
int
reused_file_read(const char *directory, const char *name, struct strbuf *text);
int reused_file_blank(const char *directory, const char *name);
