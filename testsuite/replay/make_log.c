/* SPDX-License-Identifier: Apache-2.0 */
/* make-log NAME OUT [TRACE] - makes one of the logs that policies are compared
 * on
 *
 * NAME is one of those below. Logs that are sampled from a real one need TRACE,
 * of a machine of 100 processors.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/random.h"
#include "testsuite/replay/job_log.h"
#include "testsuite/replay/log_model.h"

#define TRACE_PROCS 100
#define JOBS        20000
#define SEED        101

enum model { LUBLIN, USERS, WEEKS, SCALE };

static const struct recipe {
    const char *name;
    enum model model;
    unsigned procs;
    double load; /* 0: unchanged */
    double size; /* jobs, copies, weeks or factor */
} recipes[] = {
    {"lublin-low", LUBLIN, 128, 0.65, JOBS}, {"lublin-high", LUBLIN, 128, 0.80, JOBS},
    {"users", USERS, 100, 0.69, 1},          {"weeks", WEEKS, 100, 0, 47},
    {"wider", SCALE, 128, 0.75, 1.28},
};

static int
make(const struct recipe *recipe, const char *out, const char *trace, struct error *err)
{
    struct random_source random = {.state = SEED * UINT64_C(1000003)};
    struct job_log log = {0}, source = {0};
    unsigned size = (unsigned)recipe->size;
    int r = 0;

    if (recipe->model != LUBLIN && trace == NULL)
        return error_set(err, -EINVAL, "%s is drawn from a log: name it", recipe->name);
    if (recipe->model != LUBLIN)
        r = job_log_read(&source, trace, TRACE_PROCS, err);
    if (r < 0)
        return r;
    switch (recipe->model) {
    case LUBLIN:
        log_model_lublin(&log, &random, size, recipe->procs);
        break;
    case USERS:
        log_model_users(&log, &random, &source, size, recipe->procs);
        break;
    case WEEKS:
        log_model_weeks(&log, &random, &source, size);
        break;
    case SCALE:
        log_model_scale(&log, &source, recipe->size, recipe->procs);
        break;
    }
    log_model_load(&log, recipe->load, recipe->procs);
    r = job_log_write(&log, out, recipe->procs, err);
    job_log_fini(&log);
    job_log_fini(&source);
    return r;
}

int
main(int argc, char **argv)
{
    struct error err = {0};

    if (argc < 3 || argc > 4) {
        fprintf(stderr, "usage: make-log NAME OUT [TRACE]; NAME is one of");
        for (size_t i = 0; i < ARRAY_SIZE(recipes); i++)
            fprintf(stderr, " %s", recipes[i].name);
        fprintf(stderr, "\n");
        return 2;
    }
    for (size_t i = 0; i < ARRAY_SIZE(recipes); i++) {
        if (strcmp(recipes[i].name, argv[1]) != 0)
            continue;
        if (make(&recipes[i], argv[2], argc > 3 ? argv[3] : NULL, &err) == 0)
            return EXIT_SUCCESS;
        fprintf(stderr, "make-log: %s\n", err.text);
        return EXIT_FAILURE;
    }
    fprintf(stderr, "make-log: there is no log '%s'\n", argv[1]);
    return 2;
}
