/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pods/files/gpu_use.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"

#define TITLE    "kiln gpu use 1"
#define LENGTH   256 /* of the file: one write replaces it as a whole */
#define UID_SIZE 128

void
gpu_use_add(struct gpu_use *use, const struct gpu_use_sample *sample)
{
    if (sample->at_us <= use->at_us)
        return;
    use->at_us = sample->at_us;
    use->samples++;
    use->milli_sum += sample->milli;
    use->count = sample->count;
    use->total_bytes = sample->total_bytes;
    if (sample->bytes > use->peak_bytes)
        use->peak_bytes = sample->bytes;
}

int64_t
gpu_use_mean_milli(const struct gpu_use *use)
{
    return use->samples > 0 ? (use->milli_sum + use->samples / 2) / use->samples : 0;
}

/* Not synced: after a crash of the machine the pod does not run any more. */
int
gpu_use_write(const struct gpu_use *use, const char *state_dir, const char *pod_uid)
{
    CLEANUP_FREE char *path = xasprintf("%s/" GPU_USE_FILE, state_dir);
    CLEANUP_FD int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    char text[LENGTH];
    int n =
        snprintf(text, sizeof(text),
                 TITLE " %s %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n", pod_uid,
                 use->samples, use->milli_sum, use->count, use->peak_bytes, use->total_bytes);

    if (fd < 0)
        return -errno;
    if (n < 0 || n >= LENGTH)
        return -ENAMETOOLONG;
    memset(text + n, '\n', sizeof(text) - (size_t)n);
    return pwrite(fd, text, sizeof(text), 0) == (ssize_t)sizeof(text) ? 0 : -EIO;
}

void
gpu_use_read(const char *state_dir, const char *pod_uid, struct gpu_use *ret_use)
{
    CLEANUP_FREE char *path = xasprintf("%s/" GPU_USE_FILE, state_dir);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    char uid[UID_SIZE];
    struct gpu_use use = {0};

    *ret_use = use;
    if (file_read(path, LENGTH, &text, NULL) < 0 || text.length != LENGTH
        || sscanf(text.text,
                  TITLE " %127s %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64, uid,
                  &use.samples, &use.milli_sum, &use.count, &use.peak_bytes, &use.total_bytes)
               != 6
        || strcmp(uid, pod_uid) != 0 || use.samples < 0 || use.milli_sum < 0)
        return;
    *ret_use = use;
}
