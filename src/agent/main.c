/* SPDX-License-Identifier: Apache-2.0 */
/* kiln-agent - runs the pods that are bound to this node */
#include <sys/stat.h>

#include "agent/agent.h"
#include "agent/settings.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/program/program.h"

/* Starts a new agent as often as a run asks for one: with proof of its node
 * after it has enrolled, without proof when its Node is gone.
 */
static int
run(const struct agent_settings *settings, struct error *err)
{
    enum agent_next next = AGENT_PROVEN;

    while (next != AGENT_ENDS) {
        struct agent *agent;
        int r = agent_new(settings, next, &agent, err);

        if (r < 0)
            return r;
        next = agent_run(agent);
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

    /* A stricter one would keep jobs from directories that are meant to be open to them. */
    umask(022);
    agent_settings_read(&settings, argc, argv);
    log_set_level((enum log_level)settings.log_level);
    r = run(&settings, &err);
    agent_settings_fini(&settings);
    return program_end("kiln-agent", r, &err);
}
