/* SPDX-License-Identifier: Apache-2.0 */
/* krun - run tasks on the CPUs of a job */
#include <string.h>

#include "cli/krun/krun.h"

int
main(int argc, char **argv)
{
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    const char *name = argc > 0 ? (slash != NULL ? slash + 1 : argv[0]) : "krun";

    return krun_run(strcmp(name, "srun") == 0 ? "srun" : "krun", argc, argv);
}
