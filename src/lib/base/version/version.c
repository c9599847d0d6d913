/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/version/version.h"

#include <stddef.h>
#include <string.h>

/* In build_version.c, which is not linked to tests. */
extern const char build_version[] __attribute__((weak));

const char *
version_text(void)
{
    return build_version != NULL ? build_version : PACKAGE_VERSION;
}

const char *
version_commit(void)
{
    const char *commit = strstr(version_text(), "+g");

    return commit != NULL ? commit + 2 : "";
}
