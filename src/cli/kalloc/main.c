/* SPDX-License-Identifier: Apache-2.0 */
/* kalloc - allocate nodes, and use them from here */
#include <string.h>

#include "cli/kalloc/kalloc.h"

int
main(int argc, char **argv)
{
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    const char *name = slash != NULL ? slash + 1 : argc > 0 ? argv[0] : "";

    return kalloc_run(strcmp(name, "salloc") == 0 ? "salloc" : "kalloc", argc, argv);
}
