/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/summary/summary.h"

#include <string.h>

#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "lib/base/macro.h"

static const struct {
    const char *path;
    void (*answer)(struct request *q);
} summaries[] = {
    {"/kiln/v1/nodes", summary_nodes},
    {"/kiln/v1/status", summary_status},
    {"/kiln/v1/whoami", summary_whoami},
};

bool
summary_check(struct request *q)
{
    if (q->method != HTTP_GET) {
        reply_fail(&q->reply, &(struct reply_failure){
                                  .code = 405,
                                  .reason = "MethodNotAllowed",
                                  .message = "this is read with GET",
                              });
        return false;
    }
    if (principal_is_person(q->principal))
        return true;
    reply_fail(&q->reply, &(struct reply_failure){
                              .code = 403,
                              .reason = "Forbidden",
                              .message = "this is answered to users, and to root only on the "
                                         "machine of the controller that leads",
                          });
    return false;
}

bool
summary_serve(struct request *q, const char *path)
{
    for (unsigned i = 0; i < ARRAY_SIZE(summaries); i++)
        if (strcmp(summaries[i].path, path) == 0) {
            if (summary_check(q))
                summaries[i].answer(q);
            else
                request_finish(q);
            return true;
        }
    return false;
}
