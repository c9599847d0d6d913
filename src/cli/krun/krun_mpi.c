/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/krun/krun_mpi.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/krun/krun_settings.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/random.h"

/* "pmi2" is Slurm's word for what MPICH and Intel MPI need, and these speak PMI-1, too.
 * "openmpi" was Slurm's for programs that are started by mpirun. A server of PMIx 4 serves
 * clients of PMIx 3.
 */
static const struct {
    const char *word, *kind, *meaning;
} kinds[] = {
    {"none", "none", "the tasks have nothing"},
    {"openmpi", "none", NULL},
    {"pmi1", "pmi1", "PMI-1, for MPICH and Intel MPI"},
    {"pmi2", "pmi1", "the same"},
    {"pmix", "pmix", "PMIx, for Open MPI, on nodes that have kiln-pmix"},
    {"pmix_v3", "pmix", NULL},
    {"pmix_v4", "pmix", "the same"},
};

int
krun_mpi_set(UNUSED const struct option_spec *option, const char *value, void *settings,
             struct error *err)
{
    struct krun_settings *s = settings;

    s->lists_mpi = strcasecmp(value, "list") == 0;
    if (s->lists_mpi)
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (strcasecmp(value, kinds[i].word) == 0) {
            s->request.mpi = kinds[i].kind;
            return 0;
        }
    return error_set(err, -EINVAL,
                     "'%.40s' is none of the kinds that there are: pmix, for programs of Open MPI; "
                     "pmi1 or pmi2, for those of MPICH and Intel MPI; none",
                     value);
}

void
krun_mpi_print(const char *program)
{
    printf("%s: MPI types are...\n", program);
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (kinds[i].meaning != NULL)
            printf("%s: %-8s %s\n", program, kinds[i].word, kinds[i].meaning);
}

void
krun_mpi_complete(struct arena *arena, struct krun_settings *s)
{
    unsigned char secret[STEP_SECRET_DIGITS / 2];
    char *digits;

    if (s->request.mpi == NULL || strcmp(s->request.mpi, "pmix") != 0)
        return;
    random_bytes(secret, sizeof(secret));
    digits = arena_alloc(arena, STEP_SECRET_DIGITS + 1);
    for (size_t i = 0; i < sizeof(secret); i++)
        snprintf(digits + 2 * i, 3, "%02x", secret[i]);
    s->request.mpi_secret = digits;
}
