/* SPDX-License-Identifier: Apache-2.0 */
/* reused_file.h - a short text in a file of fixed size that is overwritten
 *
 * Creating a file, syncing it with its directory and removing it costs several
 * times as much as overwriting one. Each write covers the whole file: the text,
 * NUL bytes up to its size, and a checksum of both. A file that a crash left
 * half written fails its checksum and counts as empty.
 *
 * Thread: any; one at a time for each file.
 */
#pragma once

#include "lib/base/macro.h"

struct strbuf;

/* Write makes the file if it is missing, and returns when the text is on the
 * disk; -EFBIG when the text does not fit. Read appends the text; -ENOENT when
 * there is no file, or no complete text in it. Blank invalidates the text; the
 * disk has the change at some later time. Other errors are a negative errno.
 */
int reused_file_write(const char *directory, const char *name, const struct strbuf *text);
int reused_file_read(const char *directory, const char *name, struct strbuf *text);
int reused_file_blank(const char *directory, const char *name);
