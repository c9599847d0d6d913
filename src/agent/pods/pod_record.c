/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pods/pod_record.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/cgroup/cgroup.h"
#include "agent/pods/agent_context.h"
#include "agent/pods/pod_cgroup.h"
#include "agent/pods/pod_host.h"
#include "agent/pods/pod_order.h"
#include "agent/shepherd/files/exit_record.h"
#include "agent/shepherd/files/live_record.h"
#include "agent/shepherd/files/order.h"
#include "agent/volumes/pod_mounts.h"
#include "agent/volumes/tmp_dirs.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"

#define POD_TEXT_LIMIT (4u << 20)

char *
pod_record_state_path(const struct agent_context *agent, const char *uid, const char *file)
{
    return xasprintf("%s/pods/%s%s%s", agent->state_dir, uid, *file ? "/" : "", file);
}

char *
pod_record_run_path(const struct agent_context *agent, const char *uid, const char *file)
{
    return xasprintf("%s/pods/%s%s%s", agent->run_dir, uid, *file ? "/" : "", file);
}

int
pod_record_read(const struct agent_context *agent, const char *uid, struct pod_record *r)
{
    CLEANUP_FREE char *path = pod_record_run_path(agent, uid, "pod");
    char *line_end, *blank;
    int result = file_read(path, POD_TEXT_LIMIT, &r->text, NULL);

    if (result < 0)
        return result;
    line_end = r->text.length > 0 ? memchr(r->text.text, '\n', r->text.length) : NULL;
    if (line_end == NULL)
        return -EBADMSG;
    *line_end = '\0';
    r->boot_id = r->text.text;
    r->pod = line_end + 1;
    blank = strchr(r->text.text, ' ');
    r->tmp_dir = blank != NULL ? blank + 1 : NULL;
    if (blank != NULL)
        *blank = '\0';
    return 0;
}

void
pod_record_fini(struct pod_record *r)
{
    strbuf_fini(&r->text);
}
