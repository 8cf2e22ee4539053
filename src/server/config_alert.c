// Targets of alerts: a list of maps. A URL may itself be a secret (many chat services work that
// way), so it may come from a file, and is never shown.
#include "server/config_read.h"

#include <string.h>

#include "model/alert.h"
#include "server/outbound.h"

enum { HEADERS_MAX = 32, URL_BYTES_MAX = 2048 };

// ----- kinds of values

static void read_url(const struct reading *r, const struct config_row *row,
                     const struct yaml_node *node, void *to)
{
    struct str url = node->text, host = S("");
    bool from_file = str_ends(str_of(row->key), S("_file"));
    if (!node_is_text(r, node, "a URL") || (from_file && !file_contents(r, node, &url)))
        return;
    const char *problem = outbound_url_problem(r->arena, url, &host);
    if (url.n > URL_BYTES_MAX)
        wrong(r, node, "must be at most %d bytes", URL_BYTES_MAX);
    else if (problem)
        wrong(r, node, "must be %s", problem);
    else
        *(struct str *)to = url;
}

static void read_secret(const struct reading *r, const struct config_row *row,
                        const struct yaml_node *node, void *to)
{
    (void)row;
    struct str secret = S("");
    if (!node_is_text(r, node, "a file") || !file_contents(r, node, &secret))
        return;
    if (secret.n < 16)
        wrong(r, node, "must hold at least 16 bytes: shorter ones can be guessed");
    else
        *(struct str *)to = secret;
}

// `Name: value`, the name as HTTP allows it.
static bool is_header(struct str line)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789-_";
    struct str name, value;
    return str_cut(line, ':', &name, &value) && name.n > 0 && !memchr(value.s, '\r', value.n)
        && strspn(name.s, letters) == name.n;
}

static void read_headers(const struct reading *r, const struct config_row *row,
                         const struct yaml_node *node, void *to)
{
    (void)row;
    struct str rest = S(""), line;
    const char **lines = arena_new(r->arena, const char *, HEADERS_MAX + 1);
    size_t count = 0;
    bool more = true;
    if (!lines || !node_is_text(r, node, "a file") || !file_contents(r, node, &rest))
        return;
    while (more) {
        more = str_cut(rest, '\n', &line, &rest);
        if (line.n == 0)
            continue;
        if (count == HEADERS_MAX || !is_header(line)) {
            wrong(r, node, "must hold at most %d lines `Name: value`", HEADERS_MAX);
            return;
        }
        lines[count++] = str_cstr(r->arena, line);
    }
    *(const char *const **)to = lines;
}

static void read_kinds(const struct reading *r, const struct config_row *row,
                       const struct yaml_node *list, void *to)
{
    (void)row;
    int64_t kinds = 0;
    if (list->kind != YAML_LIST || list->count == 0) {
        wrong(r, list, "must be a list of kinds such as [dead_letter]");
        return;
    }
    for (const struct yaml_node *node = list->first; node; node = node->next) {
        enum alert_kind kind = ALERT_NONE;
        if (node->kind != YAML_TEXT || !alert_kind_parse(node->text, &kind))
            wrong(r, node, "must be dead_letter, scheduled_failed or finish_failing");
        kinds |= alert_bit(kind);
    }
    *(int64_t *)to = kinds;
}

static json_t *show_kinds(struct arena *arena, const struct config_row *row, const void *from)
{
    (void)arena, (void)row;
    json_t *list = json_array();
    for (unsigned i = 1; i < ALERT_KINDS; i++)
        if (*(const int64_t *)from & alert_bit((enum alert_kind)i))
            json_array_append_new(list, json_string(alert_kind_name((enum alert_kind)i)));
    return list;
}

const struct config_kind kind_url = { "URL", read_url, NULL, NULL };
static const struct config_kind kind_url_file = { "file with a URL", read_url, NULL, NULL };
const struct config_kind kind_secret = { "file with a secret", read_secret, NULL, NULL };
const struct config_kind kind_headers = { "file with headers", read_headers, NULL, NULL };
static const struct config_kind kind_kinds = { "list of kinds", read_kinds, show_kinds, NULL };

// clang-format off
static const struct config_row rows[] = {
    { "name", &kind_name, MEMBER(config_alert, name), NULL,
      "a name that stays the same: what was not delivered waits under it; else the host of the URL "
      "or the name of the program" },
    { "webhook", &kind_url, MEMBER(config_alert, webhook), NULL,
      "where alerts are sent as JSON with POST; one of `webhook`, `webhook_file` and `command`" },
    { "webhook_file", &kind_url_file, MEMBER(config_alert, webhook), NULL,
      "the same from a file, for a URL that is itself a secret" },
    { "command", &kind_command, MEMBER(config_alert, command), NULL,
      "a program that gets the JSON on its standard input; exit status 0 means that it was told" },
    { "kinds", &kind_kinds, MEMBER(config_alert, kinds), NULL,
      "which alerts: `dead_letter`, `scheduled_failed`, `finish_failing`; else all" },
    { "secret_file", &kind_secret, MEMBER(config_alert, secret), NULL,
      "signs each message: `X-Pawl-Signature: sha256=HMAC`, of the body in hexadecimal digits" },
    { "headers_file", &kind_headers, MEMBER(config_alert, headers), NULL,
      "sent with each message, one `Name: value` per line" },
    { "timeout", &kind_duration, MEMBER(config_alert, timeout_us), "5s", "of one try",
      MILLISECONDS(100), MINUTES(1) },
    { "attempts", &kind_number, MEMBER(config_alert, attempts), "20",
      "tries before an alert is given up and counted; they are 1 s apart, then 2 s, 4 s, up to "
      "10 m", 1, 100 },
    { "rate", &kind_number, MEMBER(config_alert, rate), "10",
      "messages a minute, tries included; what is beyond it is told in a summary", 1, 6000 },
    { "burst", &kind_number, MEMBER(config_alert, burst), "20",
      "messages at once after a pause", 1, 1000 },
};
// clang-format on
const struct config_table alert_table = TABLE("alerts[]", rows);

// ----- the list

static struct str name_of(const struct reading *r, const struct config_alert *alert)
{
    struct str host = S("");
    if (alert->webhook.n) {
        (void)outbound_url_problem(r->arena, alert->webhook, &host);  // it was asked before
        return host;
    }
    const char *program = alert->command ? alert->command[0] : NULL;
    const char *slash = program ? strrchr(program, '/') : NULL;
    return str_of(slash ? slash + 1 : program);
}

static bool is_taken(const struct config *config, struct str name)
{
    for (size_t i = 0; i < config->alert_count; i++)
        if (str_eq(config->alerts[i].name, name))
            return true;
    return false;
}

static void read_one(const struct reading *r, const struct yaml_node *node,
                     struct config_alert *alert)
{
    static const char *const ways[] = { "webhook", "webhook_file", "command" };
    size_t given = 0;
    *alert = (struct config_alert){ .kinds = alert_all_kinds() };
    alert->directory = str_cstr(r->arena, r->config->directory);
    table_defaults(r, &alert_table, alert);
    if (!node_is_map(r, node, "a map with a webhook or a command"))
        return;
    table_read(r, &alert_table, node, alert);
    for (size_t i = 0; i < countof(ways); i++)
        given += node_find(node, ways[i]) != NULL;
    if (given != 1)
        wrong(r, node, "needs one of webhook, webhook_file and command");
    if (alert->command && (alert->secret.n || alert->headers))
        wrong(r, node, "secret_file and headers_file are for a webhook");
    if (alert->name.n == 0)
        alert->name = name_of(r, alert);
    if (alert->name.n && is_taken(r->config, alert->name))
        wrong(r, node, "another target is called %.*s: give it a name", STR(alert->name));
}

static void read_alerts(const struct reading *r, const struct config_row *row,
                        const struct yaml_node *list, void *to)
{
    (void)row, (void)to;
    struct config *config = r->config;
    if (list->kind != YAML_LIST || list->count > ALERT_TARGETS_MAX) {
        wrong(r, list, "must be a list of at most %d targets", ALERT_TARGETS_MAX);
        return;
    }
    struct config_alert *alerts = arena_new(r->arena, struct config_alert, list->count + 1);
    if (!alerts)
        return;
    config->alerts = alerts;
    config->alert_count = 0;
    size_t index = 0;
    for (const struct yaml_node *node = list->first; node; node = node->next, index++) {
        struct yaml_path path = { r->path, S(""), index };
        read_one(&(struct reading){ r->arena, r->faults, config, &path }, node, &alerts[index]);
        config->alert_count++;
    }
}

static json_t *show_alerts(struct arena *arena, const struct config_row *row, const void *from)
{
    (void)row;
    const struct config *config = (const void *)((const char *)from
                                                 - offsetof(struct config, alerts));
    json_t *list = json_array();
    for (size_t i = 0; i < config->alert_count; i++)
        json_array_append_new(list, table_show(arena, &alert_table, &config->alerts[i]));
    return list;
}

const struct config_kind kind_alerts = { "list", read_alerts, show_alerts, NULL };
