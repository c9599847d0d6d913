/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ksub/warning_signal.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/ksub/submission.h"
#include "lib/base/error.h"

#define DEFAULT_WARNING 60 /* seconds, as Slurm's --signal */

/* "10", "USR1" or "SIGUSR1" */
static int
signal_named(const char *text)
{
    const char *name = strncasecmp(text, "SIG", 3) == 0 ? text + 3 : text;
    char *end;
    long number = strtol(text, &end, 10);

    if (end != text && *end == '\0')
        return number > 0 && number < NSIG ? (int)number : 0;
    for (int i = 1; i < NSIG; i++) {
        const char *known = sigabbrev_np(i);

        if (known != NULL && strcasecmp(known, name) == 0)
            return i;
    }
    return 0;
}

static int
refuse_signal(const char *value, struct error *err)
{
    return error_set(err, -EINVAL,
                     "'%s' is not a signal with the seconds before the limit "
                     "(such as USR1@120 or B:TERM@60)",
                     value);
}

int
warning_signal_parse(const char *value, struct submission_signal *ret_signal, struct error *err)
{
    struct submission_signal signal = {.seconds_before = DEFAULT_WARNING};
    const char *name = value;
    const char *at;
    size_t prefix;
    char text[16];
    const char *known;
    int number;

    /* R: reservations that overlap, which Slurm may let a job run into; none are here. */
    prefix = strcspn(name, ":");
    if (name[prefix] == ':' && prefix > 0 && strspn(name, "BRbr") == prefix) {
        signal.batch_only = strcspn(name, "Bb") < prefix;
        name += prefix + 1;
    }
    at = strchrnul(name, '@');
    if (at == name || (size_t)(at - name) >= sizeof(text))
        return refuse_signal(value, err);
    memcpy(text, name, (size_t)(at - name));
    text[at - name] = '\0';
    if (*at == '@') {
        char *end;

        signal.seconds_before = strtol(at + 1, &end, 10);
        if (!isdigit((unsigned char)at[1]) || *end != '\0' || signal.seconds_before > 65535)
            return refuse_signal(value, err);
    }
    number = signal_named(text);
    known = number > 0 ? sigabbrev_np(number) : NULL;
    if (known == NULL)
        return refuse_signal(value, err);
    strncpy(signal.name, known, sizeof(signal.name) - 1);
    *ret_signal = signal;
    return 0;
}
