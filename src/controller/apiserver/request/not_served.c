/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/request/not_served.h"

#include <string.h>
#include <strings.h>

#include "controller/apiserver/request/request.h"
#include "lib/api/object/kind.h"
#include "lib/base/macro.h"

bool
not_served_yet(const char *path)
{
    static const char *const words[] = {
        "/exec",
        "/attach",
        "/portforward",
        "/proxy",
    };
    const char *last = strrchr(path, '/');

    for (unsigned i = 0; last != NULL && i < ARRAY_SIZE(words); i++)
        if (strcmp(last, words[i]) == 0)
            return strstr(path, "/pods/") != NULL;
    return false;
}

void
not_served_reply_later(struct reply *r, bool upgrades)
{
    if (!upgrades) {
        reply_bad_request(r, "Upgrade request required");
        return;
    }
    reply_fail(r, &(struct reply_failure){
                      .code = 501,
                      .reason = "NotImplemented",
                      .message = "exec, attach, port-forward and cp are not "
                                 "supported yet: a job's processes belong to its "
                                 "user on the node; use logs to see its output",
                  });
}

void
not_served_reply(struct reply *r, enum route_result result)
{
    static const char text[] = "404 page not found\n";

    switch (result) {
    case ROUTE_NO_PATH:
        reply_text(r, 404, "text/plain; charset=utf-8", text, sizeof(text) - 1);
        break;
    case ROUTE_NO_METHOD:
        reply_fail(r, &(struct reply_failure){
                          .code = 405,
                          .reason = "MethodNotAllowed",
                          .message = "the server does not allow this method on "
                                     "the requested resource",
                          .empty_details = true,
                      });
        break;
    default:
        reply_fail(r, &(struct reply_failure){
                          .code = 404,
                          .reason = "NotFound",
                          .message = "the server could not find the requested "
                                     "resource",
                          .empty_details = true,
                      });
    }
}
