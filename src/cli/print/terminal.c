/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/print/terminal.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define MOST 65535

/* 0: the variable is unset, or is no number. */
static unsigned
read_environment(const char *name)
{
    const char *text = getenv(name);
    char *end;
    unsigned long n;

    if (text == NULL || *text < '0' || *text > '9')
        return 0;
    n = strtoul(text, &end, 10);
    return *end == '\0' && n <= MOST ? (unsigned)n : 0;
}

bool
terminal_is_output(void)
{
    return isatty(STDOUT_FILENO);
}

static unsigned
find(const char *name, bool is_width, unsigned usual)
{
    struct winsize size = {0};
    unsigned n = is_width || terminal_is_output() ? read_environment(name) : 0;

    if (n > 0 || !terminal_is_output())
        return n;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        n = is_width ? size.ws_col : size.ws_row;
    return n > 0 ? n : usual;
}

unsigned
terminal_width(void)
{
    return find("COLUMNS", true, 80);
}

unsigned
terminal_height(void)
{
    return find("LINES", false, 24);
}
