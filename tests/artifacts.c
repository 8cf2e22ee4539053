// Written as a server does it: the file first, then the row.
#include "artifacts.h"

#include <string.h>
#include <unistd.h>

static struct blob settled(struct box *box, const char *bytes)
{
    struct blob blob = {0};
    struct pawl_error err = {0};
    MUST(blob_create(db_files(box->db), &box->world.world, &blob, &err));
    MUST(blob_write(&blob, bytes, strlen(bytes), &err));
    MUST(blob_settle(&blob, &err));
    return blob;
}

struct artifact must_store_for(struct box *box, const char *bytes, const char *project)
{
    struct blob blob = settled(box, bytes);
    struct artifact artifact = {
        .org_id = box->caller.org_id,
        .project_id = str_of(project),
        .content_type = S("text/plain"),
        .name = S("a.txt"),
    };
    OK(artifact_add(tx, &blob, &artifact, err));
    blob_keep(&blob);
    return artifact;
}

struct artifact must_store(struct box *box, const char *bytes)
{
    return must_store_for(box, bytes, "");
}

bool file_is_there(struct box *box, const struct artifact *artifact)
{
    struct pawl_error err = {0};
    return blob_check(db_files(box->db), artifact->file, artifact->bytes, artifact->sha256, &err);
}

size_t files_of(struct box *box)
{
    struct blob_names names;
    struct pawl_error err = {0};
    MUST(blobs_list(db_files(box->db), test_arena(), &names, &err));
    return names.count;
}
