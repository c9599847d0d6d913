/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/krsh/krsh_call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"

/* Options of ssh that mean nothing here: forwarding, terminals, addresses, how much
 * ssh says; and those of these that have a value.
 */
#define FLAGS  "46AaCgKkNnqsTtvXxYyf"
#define VALUED "bcDEeFIiJLmOopQRSWw"

void
krsh_call_fini(struct krsh_call *call)
{
    free(call->user);
    free(call->host);
}

/* Of "USER" or "USER@HOST". */
static void
set_user(struct krsh_call *call, const char *text)
{
    const char *at = strrchr(text, '@');

    free(call->user);
    call->user = at != NULL ? xstrndup(text, (size_t)(at - text)) : xstrdup(text);
}

static int
refuse(struct krsh_call *call, struct error *err, const char *before, const char *what,
       const char *after)
{
    krsh_call_fini(call);
    return error_set(err, -EINVAL, "%s%s%s", before, what, after);
}

int
krsh_call_read(int argc, const char *const *argv, struct krsh_call *ret_call, struct error *err)
{
    struct krsh_call call = {0};
    const char *at;
    int i;

    for (i = 1; i < argc && argv[i][0] == '-' && argv[i][1] != '\0'; i++) {
        const char *option = argv[i] + 1;

        if (strcmp(option, "-") == 0) {
            i++;
            break;
        }
        while (*option != '\0' && strchr(FLAGS, *option) != NULL)
            option++;
        if (*option == '\0')
            continue;
        if (*option != 'l' && strchr(VALUED, *option) == NULL)
            return refuse(&call, err, "'", argv[i], "' is no option of krsh");
        if (option[1] == '\0' && ++i == argc)
            return refuse(&call, err, "the option '", argv[i - 1], "' needs a value");
        if (*option == 'l')
            set_user(&call, option[1] != '\0' ? option + 1 : argv[i]);
    }
    if (i >= argc || argv[i][0] == '\0')
        return refuse(&call, err, "no node is named", "", "");
    at = strrchr(argv[i], '@');
    if (at != NULL)
        set_user(&call, argv[i]);
    call.host = xstrdup(at != NULL ? at + 1 : argv[i]);
    call.first = i + 1;
    *ret_call = call;
    return 0;
}

void
krsh_call_join(int argc, const char *const *argv, int first, struct strbuf *out)
{
    for (int i = first; i < argc; i++)
        strbuf_printf(out, "%s%s", i > first ? " " : "", argv[i]);
}
