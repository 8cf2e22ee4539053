// Pawl in a program of your own: a handler, a job, its result.
//
//     cc embed.c $(pkg-config --cflags --libs pawl jansson) -o embed && ./embed "to be or not"
//
// The job is on disk when pawl_enqueue answers. Killed at any moment and started again, the program
// goes on with it.
#include <jansson.h>
#include <pawl.h>
#include <stdio.h>
#include <string.h>

// The work. It may be run again after a crash, so it only computes; the result is stored once.
static bool count_words(struct pawl_run *run, void *context)
{
    (void)context;
    json_t *payload = json_loads(pawl_payload(run), 0, NULL);
    const char *text = json_string_value(json_object_get(payload, "text")), *at = text;
    int words = 0;
    for (; at && *(at += strspn(at, " \n")); words++)
        at += strcspn(at, " \n");
    json_decref(payload);
    if (!text)
        return pawl_fail(run, PAWL_INVALID_INPUT, "the payload has no text");  // no second try
    char result[32];
    snprintf(result, sizeof(result), "{\"words\":%d}", words);
    return pawl_result(run, result);
}

int main(int argc, char **argv)
{
    struct pawl *pawl = NULL;
    struct pawl_error err = {0};
    struct pawl_options options = { .store = "sqlite:embed.db" };
    struct pawl_handler handler = { .job_type = "count", .prepare = count_words };
    json_t *input = json_pack("{s:s}", "text", argc > 1 ? argv[1] : "to be or not");
    char *payload = json_dumps(input, 0);  // NULL, an empty payload, when it is not UTF-8
    struct pawl_job job = { .job_type = "count", .payload = payload };
    struct pawl_ticket ticket;
    struct pawl_status status = {0};
    char *result = NULL;
    bool done = pawl_open(&pawl, &options, &err) && pawl_handle(pawl, &handler, &err)
        && pawl_start(pawl, &err) && pawl_enqueue(pawl, &job, &ticket, &err)
        && pawl_wait(pawl, ticket.job_id, 10000000, &status, &err)
        && pawl_get_result(pawl, ticket.job_id, &result, &err);
    bool succeeded = done && strcmp(status.state, "SUCCEEDED") == 0;
    if (succeeded)
        printf("%s\n", result);
    else
        fprintf(stderr, "embed: %s\n", done ? status.error : err.message);

    pawl_free(result);
    pawl_close(pawl);
    free(payload);
    json_decref(input);
    return succeeded ? 0 : 1;
}
