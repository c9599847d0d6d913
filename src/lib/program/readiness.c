/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/program/readiness.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#ifdef HAVE_SYSTEMD
#include <systemd/sd-daemon.h>
#endif

#include "lib/base/clock.h"

static void
notify(const char *state)
{
#ifdef HAVE_SYSTEMD
    sd_notify(0, state);
#else
    (void)state;
#endif
}

void
readiness_ready(void)
{
    notify("READY=1");
}

void
readiness_reloading(void)
{
    char state[80];

    snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%lld",
             (long long)clock_monotonic_us(&clock_system));
    notify(state);
}

void
readiness_stopping(void)
{
    notify("STOPPING=1");
}

void
readiness_status(const char *format, ...)
{
    char state[512] = "STATUS=";
    va_list args;

    va_start(args, format);
    vsnprintf(state + 7, sizeof(state) - 7, format, args);
    va_end(args);
    for (char *p = state; *p != '\0'; p++)
        if (*p == '\n')
            *p = ' ';
    notify(state);
}
