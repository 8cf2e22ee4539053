// Artifacts of a server: requests whose body, or answer, is a file.
#include "cli/artifact.h"
#include "cli/remote.h"

static struct str path_of(struct cli *cli, struct id id, const char *rest)
{
    return str_format(&cli->arena, "/v1/artifacts/%.*s%s", STR(id_text(&cli->arena, id)), rest);
}

static struct str upload_path(struct cli *cli, const struct artifact *a)
{
    struct str name = url_encoded(&cli->arena, a->name);
    return str_format(&cli->arena, "/v1/artifacts?%s%.*s%s%.*s", name.n ? "name=" : "", STR(name),
                      a->project_id.n ? "&project_id=" : "", STR(a->project_id));
}

static int64_t give_bytes(void *self, void *bytes, size_t room)
{
    return flow_read(self, bytes, room);
}

static bool take_bytes(void *self, const void *bytes, size_t n)
{
    return flow_write(self, bytes, n);
}

bool server_artifact_put(struct cli *cli, struct put *put, json_t **artifact,
                         struct pawl_error *err)
{
    struct reply reply = {0};
    struct request request = { .method = "POST", .path = upload_path(cli, &put->artifact) };
    struct transfer transfer = {
        .self = &put->flow,
        .give = give_bytes,
        .bytes = put->flow.total,
        .content_type = put->artifact.content_type,
        .sha256 = put->sha256,
    };
    if (!client_transfer(cli->client, &request, &transfer, &reply, err))
        return false;
    if (!reply_good(&reply)) {
        (void)!reply_refused(cli, &reply, err);
        reply_end(&reply);
        return false;
    }
    *artifact = reply.body;
    return true;
}

bool server_artifact(struct cli *cli, struct id id, json_t **artifact, struct pawl_error *err)
{
    struct reply reply = {0};
    struct request request = { .method = "GET", .path = path_of(cli, id, "/about") };
    if (!remote_ask(cli, &request, &reply, err))
        return false;
    *artifact = reply.body;
    return true;
}

bool server_artifact_remove(struct cli *cli, struct id id, json_t **artifact,
                            struct pawl_error *err)
{
    struct reply reply = {0};
    struct request request = { .method = "DELETE", .path = path_of(cli, id, "") };
    if (!remote_ask(cli, &request, &reply, err))
        return false;
    *artifact = reply.body;
    return true;
}

bool server_artifact_bytes(struct cli *cli, struct id id, struct flow *flow,
                           struct pawl_error *err)
{
    SCOPED(reply) struct reply reply = {0};
    struct request request = { .method = "GET", .path = path_of(cli, id, "") };
    struct transfer transfer = { .self = flow, .take = take_bytes };
    return client_transfer(cli->client, &request, &transfer, &reply, err)
        && (reply.status == 200 || reply_refused(cli, &reply, err));
}
