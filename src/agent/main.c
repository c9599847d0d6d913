/* SPDX-License-Identifier: Apache-2.0 */
/* kiln-agent - runs the pods that are bound to this node */
#include <stdbool.h>

#include "agent/agent.h"
#include "agent/settings.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/program/program.h"

/* An agent that was just enrolled begins anew, as its node. */
static int
run(const struct agent_settings *settings, struct error *err)
{
    bool again = true;

    while (again) {
        struct agent *agent;
        int r = agent_new(settings, &agent, err);

        if (r < 0)
            return r;
        again = agent_run(agent);
        agent_free(agent);
    }
    return 0;
}

int
main(int argc, char **argv)
{
    struct agent_settings settings;
    struct error err = {0};
    int r;

    agent_settings_read(&settings, argc, argv);
    log_set_level((enum log_level)settings.log_level);
    r = run(&settings, &err);
    agent_settings_fini(&settings);
    return program_end("kiln-agent", r, &err);
}
