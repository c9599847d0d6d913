/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/values/output_path.h"

#include <errno.h>
#include <string.h>

#include "lib/base/error.h"

int
output_path_check(const char *path, struct error *err)
{
    if (path[0] == '\0')
        return error_set(err, -EINVAL, "the path is empty");
    for (const char *p = strchr(path, '%'); p != NULL; p = strchr(p, '%')) {
        p++;
        p += strspn(p, "0123456789");
        if (*p == '\0' || strchr("jAaxuN%", *p) == NULL)
            return error_set(err, -EINVAL,
                             "'%s' contains an unknown pattern (%%j job id, "
                             "%%A job id of an array and %%a of its task, %%x "
                             "job name, %%u user, %%N node, %%%% a percent "
                             "sign)",
                             path);
        p++;
    }
    return 0;
}
