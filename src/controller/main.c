/* SPDX-License-Identifier: Apache-2.0 */
/* kiln-controller - API, store, scheduler and lifecycle of a cluster */
#include <errno.h>

#include "controller/controller.h"
#include "controller/settings.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/program/program.h"

static int
run(const struct controller_settings *settings, struct error *err)
{
    CLEANUP(controller_freep) struct controller *controller = NULL;
    int r = controller_new(settings, &controller, err);

    if (r == -ECANCELED) /* a standby was told to stop */
        return 0;
    return r < 0 ? r : controller_run(controller, err);
}

int
main(int argc, char **argv)
{
    struct controller_settings settings;
    struct error err = {0};
    int r;

    controller_settings_read(&settings, argc, argv);
    log_set_level((enum log_level)settings.log_level);
    r = run(&settings, &err);
    controller_settings_fini(&settings);
    return program_end("kiln-controller", r, &err);
}
