/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/output/picture_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/base/strbuf.h"

int
picture_file_write(const char *path, const struct strbuf *text, struct error *err)
{
    bool is_stdout = strcmp(path, "-") == 0;
    FILE *f = is_stdout ? stdout : fopen(path, "we");
    bool is_whole;

    if (f == NULL)
        return error_set(err, -errno, "%s: %s", path, strerror(errno));
    is_whole = fwrite(text->text, 1, text->length, f) == text->length && fflush(f) == 0;
    if (is_stdout && !is_whole)
        return error_set(err, -errno, "writing to standard output: %s", strerror(errno));
    if (!is_stdout && fclose(f) != 0)
        is_whole = false;
    return is_whole ? 0 : error_set(err, -EIO, "%s: cannot write the picture", path);
}
