/* SPDX-License-Identifier: Apache-2.0 */
/* kalloc - allocate nodes, and use them from here */
#include <stddef.h>
#include <string.h>

#include "cli/kalloc/kalloc.h"
#include "lib/base/macro.h"

/* ksub --interactive, and srun outside of a job, become this program and keep their names. */
int
main(int argc, char **argv)
{
    static const char *const names[] = {"ksub", "salloc", "srun"};
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    const char *name = slash != NULL ? slash + 1 : argc > 0 ? argv[0] : "";

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strcmp(name, names[i]) == 0)
            return kalloc_run(names[i], argc, argv);
    return kalloc_run("kalloc", argc, argv);
}
