// libfyaml's events become nodes in an arena. Everything a configuration has no use for is refused
// here, where it stands, so that who reads the tree has three kinds of nodes to know.
#include "server/yaml.h"

#include <libfyaml.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES_MAX = 50000 };

// ----- faults

static struct str path_text(struct arena *arena, const struct yaml_path *path)
{
    if (!path)
        return S("");
    struct str up = path_text(arena, path->up);
    if (path->key.n == 0)
        return str_format(arena, "%.*s[%zu]", STR(up), path->index);
    return str_format(arena, "%.*s%s%.*s", STR(up), up.n ? "." : "", STR(path->key));
}

void yaml_fault(struct yaml_faults *faults, struct yaml_place place, const char *format, ...)
{
    if (faults->count == YAML_FAULTS_MAX) {
        faults->more = true;
        return;
    }
    char message[sizeof((struct pawl_error){0}.message)];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    text_tidy(message, n < 0 || (size_t)n >= sizeof(message));
    faults->list[faults->count++] = (struct yaml_fault){
        .line = place.line,
        .column = place.column,
        .key = path_text(faults->arena, place.path),
        .message = str_dup(faults->arena, str_of(message)),
    };
}

static int by_place(const void *a, const void *b)
{
    const struct yaml_fault *x = a, *y = b;
    return x->line != y->line ? x->line - y->line : x->column - y->column;
}

void yaml_faults_sort(struct yaml_faults *faults)
{
    qsort(faults->list, faults->count, sizeof(faults->list[0]), by_place);
}

struct str yaml_fault_text(struct arena *arena, const struct yaml_faults *faults, size_t index)
{
    const struct yaml_fault *fault = &faults->list[index];
    return str_format(arena, "%.*s:%d:%d: %.*s%s%.*s", STR(faults->path), fault->line,
                      fault->column, STR(fault->key), fault->key.n ? ": " : "",
                      STR(fault->message));
}

// ----- nodes

bool yaml_null(const struct yaml_node *node)
{
    return node->kind == YAML_TEXT && !node->quoted
        && (node->text.n == 0 || str_eq(node->text, S("~")) || str_eq(node->text, S("null")));
}

struct parser {
    struct yaml_faults *faults;
    struct fy_diag *diag;
    struct fy_parser *fy;
    struct fy_event *event;  // the one that is looked at; NULL at the end, or when it is no YAML
    int line, column;        // of the newest event that has a place
    size_t nodes;
    bool stopped;            // too much to go on
};

// libfyaml's mark of a quoted text or an alias is behind the sign that opens it.
static int behind_sign(struct fy_event *event)
{
    struct fy_token *token = event->type == FYET_SCALAR ? fy_event_get_token(event) : NULL;
    enum fy_scalar_style style = token ? fy_token_scalar_style(token) : FYSS_ANY;
    return event->type == FYET_ALIAS || style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED;
}

static void next(struct parser *p)
{
    if (p->event)
        fy_parser_event_free(p->fy, p->event);
    p->event = p->stopped ? NULL : fy_parser_parse(p->fy);
    const struct fy_mark *mark = p->event ? fy_event_start_mark(p->event) : NULL;
    if (mark) {
        p->line = mark->line + 1;
        p->column = mark->column + 1 - behind_sign(p->event);
    }
}

static struct yaml_place here(const struct parser *p, const struct yaml_path *path)
{
    return (struct yaml_place){ p->line, p->column, path };
}

static void stop(struct parser *p, const struct yaml_path *path, const char *why)
{
    if (!p->stopped)
        yaml_fault(p->faults, here(p, path), "%s", why);
    p->stopped = true;
}

static void refuse_specials(struct parser *p, const struct yaml_path *path)
{
    if (p->event->type == FYET_ALIAS)
        yaml_fault(p->faults, here(p, path),
                   "anchors and aliases are not taken: a text that begins with * needs quotes");
    else if (fy_event_get_anchor_token(p->event))
        yaml_fault(p->faults, here(p, path), "anchors and aliases are not taken: say it in full");
    if (p->event->type != FYET_ALIAS && fy_event_get_tag_token(p->event))
        yaml_fault(p->faults, here(p, path), "tags are not taken: say only the value");
}

static void take_text(struct parser *p, const struct yaml_path *path, struct yaml_node *node)
{
    struct fy_token *token = fy_event_get_token(p->event);
    size_t n = 0;
    const char *s = token ? fy_token_get_text(token, &n) : "";
    node->kind = YAML_TEXT;
    if (p->event->type == FYET_ALIAS)
        return;
    node->quoted = token && fy_token_scalar_style(token) != FYSS_PLAIN;
    node->text = str_dup(p->faults->arena, (struct str){ s, s ? n : 0 });
    if (!utf8_valid(node->text) || memchr(node->text.s, '\0', node->text.n))
        yaml_fault(p->faults, here(p, path), "must be UTF-8 without NUL characters");
}

static void take_value(struct parser *p, const struct yaml_path *path, int depth,
                       struct yaml_node *node);

static struct yaml_node *new_node(struct parser *p, const struct yaml_path *path)
{
    struct yaml_node *node = arena_new(p->faults->arena, struct yaml_node, 1);
    if (!node) {
        stop(p, path, "there is no memory to read it");
        return NULL;
    }
    node->key = node->text = S("");
    if (++p->nodes > NODES_MAX)
        stop(p, path, "the file has too many values");
    return node;
}

static void take_list(struct parser *p, const struct yaml_path *path, int depth,
                      struct yaml_node *list)
{
    const struct yaml_node **end = &list->first;
    list->kind = YAML_LIST;
    for (next(p); p->event && p->event->type != FYET_SEQUENCE_END; next(p)) {
        struct yaml_path at = { path, S(""), list->count };
        struct yaml_node *node = new_node(p, &at);
        if (!node)
            return;
        take_value(p, &at, depth + 1, node);
        *end = node;
        end = &node->next;
        list->count++;
    }
}

// A key is a plain text. Whatever else stands there is read over.
static void take_key(struct parser *p, const struct yaml_path *path, int depth,
                     struct yaml_node *node)
{
    struct yaml_node key = {0};
    node->key_line = p->line;
    node->key_column = p->column;
    if (p->event->type == FYET_SCALAR) {
        refuse_specials(p, path);
        take_text(p, path, &key);
        node->key = key.text;
    } else {
        take_value(p, path, depth, &key);
    }
    if (node->key.n == 0 || node->key.n > YAML_KEY_BYTES_MAX)
        yaml_fault(p->faults, (struct yaml_place){ node->key_line, node->key_column, path },
                   "a key must be a text of 1 to %d bytes", YAML_KEY_BYTES_MAX);
    if (str_eq(node->key, S("<<")))
        yaml_fault(p->faults, (struct yaml_place){ node->key_line, node->key_column, path },
                   "merge keys are not taken: say it in full");
}

static int by_key(const void *a, const void *b)
{
    const struct yaml_node *x = *(const struct yaml_node *const *)a;
    const struct yaml_node *y = *(const struct yaml_node *const *)b;
    int order = str_order(x->key, y->key);
    if (order == 0 && x->key_line != y->key_line)
        order = x->key_line - y->key_line;
    return order ? order : x->key_column - y->key_column;
}

static void refuse_twice(struct parser *p, const struct yaml_path *path,
                         const struct yaml_node *map)
{
    const struct yaml_node **nodes = arena_new(p->faults->arena, const struct yaml_node *,
                                               map->count + 1);
    size_t count = 0;
    if (!nodes) {
        stop(p, path, "there is no memory to read it");
        return;
    }
    for (const struct yaml_node *node = map->first; node; node = node->next)
        nodes[count++] = node;
    qsort(nodes, count, sizeof(const void *), by_key);
    for (size_t i = 1; i < count; i++) {
        struct yaml_path at = { path, nodes[i]->key, 0 };
        struct yaml_place place = { nodes[i]->key_line, nodes[i]->key_column, &at };
        if (nodes[i]->key.n && str_eq(nodes[i]->key, nodes[i - 1]->key))
            yaml_fault(p->faults, place, "is given twice: first in line %d",
                       nodes[i - 1]->key_line);
    }
}

static void take_map(struct parser *p, const struct yaml_path *path, int depth,
                     struct yaml_node *map)
{
    const struct yaml_node **end = &map->first;
    map->kind = YAML_MAP;
    for (next(p); p->event && p->event->type != FYET_MAPPING_END; next(p)) {
        struct yaml_node *node = new_node(p, path);
        if (!node)
            return;
        take_key(p, path, depth + 1, node);
        next(p);
        if (!p->event)
            return;
        struct yaml_path at = { path, node->key, 0 };
        take_value(p, &at, depth + 1, node);
        *end = node;
        end = &node->next;
        map->count++;
    }
    if (p->event)
        refuse_twice(p, path, map);
}

// Leaves the parser at the last event of the value.
static void take_value(struct parser *p, const struct yaml_path *path, int depth,
                       struct yaml_node *node)
{
    node->line = p->line;
    node->column = p->column;
    if (depth > YAML_DEPTH_MAX) {
        stop(p, path, "is nested too deeply");
        return;
    }
    refuse_specials(p, path);
    if (p->event->type == FYET_MAPPING_START)
        take_map(p, path, depth, node);
    else if (p->event->type == FYET_SEQUENCE_START)
        take_list(p, path, depth, node);
    else
        take_text(p, path, node);
}

static bool at(const struct parser *p, enum fy_event_type type)
{
    return p->event && p->event->type == type;
}

// What libfyaml has to say when there are no more events: nothing at a good end.
static bool take_complaints(struct parser *p)
{
    void *iterator = NULL;
    struct fy_diag_error *error;
    size_t before = p->faults->count;
    if (p->stopped || !fy_parser_get_stream_error(p->fy))
        return !p->stopped;
    while ((error = fy_diag_errors_iterate(p->diag, &iterator)) != NULL)
        if (error->type == FYET_ERROR && error->msg)
            yaml_fault(p->faults,
                       (struct yaml_place){ error->line > 0 ? error->line : p->line,
                                            error->column > 0 ? error->column : p->column, NULL },
                       "is not YAML: %s", error->msg);
    if (p->faults->count == before && !p->faults->more)
        yaml_fault(p->faults, here(p, NULL), "is not YAML");
    return false;
}

static const struct yaml_node *take_stream(struct parser *p)
{
    struct yaml_node *root = new_node(p, NULL);
    if (!root)
        return NULL;
    root->kind = YAML_MAP;
    root->line = root->column = 1;
    while (p->event && !at(p, FYET_DOCUMENT_START))
        next(p);
    if (p->event)
        next(p);
    if (p->event)
        take_value(p, NULL, 0, root);
    while (p->event && !p->stopped) {
        next(p);
        if (at(p, FYET_DOCUMENT_START))
            stop(p, NULL, "a second document begins: there must be one");
    }
    return take_complaints(p) ? root : NULL;
}

static bool parser_open(struct parser *p, struct str text)
{
    struct fy_diag_cfg diag;
    fy_diag_cfg_default(&diag);
    diag.fp = NULL;
    diag.colorize = false;
    p->diag = fy_diag_create(&diag);
    if (!p->diag)
        return false;
    fy_diag_set_collect_errors(p->diag, true);
    struct fy_parse_cfg config = {
        .flags = FYPCF_QUIET | FYPCF_DEFAULT_VERSION_1_2 | FYPCF_JSON_NONE
               | FYPCF_SLOPPY_FLOW_INDENTATION,
        .diag = p->diag,
    };
    p->fy = fy_parser_create(&config);
    return p->fy && fy_parser_set_string(p->fy, text.n ? text.s : "", text.n) == 0;
}

static void parser_close(struct parser *p)
{
    if (p->event)
        fy_parser_event_free(p->fy, p->event);
    fy_parser_destroy(p->fy);
    fy_diag_destroy(p->diag);
}

static struct yaml_place place_of(struct str text, size_t offset)
{
    struct yaml_place place = { 1, 1, NULL };
    for (size_t i = 0; i < offset; i++) {
        place.line += text.s[i] == '\n';
        place.column = text.s[i] == '\n' ? 1 : place.column + 1;
    }
    return place;
}

static bool text_clean(struct str text, struct yaml_faults *faults)
{
    size_t offset = 0;
    if (text.n > YAML_BYTES_MAX) {
        yaml_fault(faults, (struct yaml_place){ 1, 1, NULL },
                   "the file is larger than %d bytes", YAML_BYTES_MAX);
        return false;
    }
    while (offset < text.n && text.s[offset] != '\0') {
        size_t step = utf8_step((struct str){ text.s + offset, text.n - offset });
        if (step == 0)
            break;
        offset += step;
    }
    if (offset == text.n)
        return true;
    yaml_fault(faults, place_of(text, offset), "is not UTF-8 text");
    return false;
}

const struct yaml_node *yaml_parse(struct str text, struct yaml_faults *faults)
{
    struct parser p = { .faults = faults, .line = 1, .column = 1 };
    const struct yaml_node *root = NULL;
    if (!text_clean(text, faults))
        return NULL;
    if (parser_open(&p, text)) {
        next(&p);
        root = take_stream(&p);
    } else {
        stop(&p, NULL, "there is no memory to read it");
    }
    parser_close(&p);
    return root;
}
