// JSON is printed as it comes; the rows of a table wait, since they decide how wide it is.
#include "cli/listing.h"

#include <stdio.h>

#include "cli/value.h"

enum { LIMIT_DEFAULT = 20, PAGE = 100 };

struct listing listing_of(struct cli *cli, const char *const *headings, size_t columns,
                          void (*add)(struct listing *listing, const json_t *object))
{
    return (struct listing){
        .cli = cli,
        .left = cli->given[OPTION_LIMIT] ? value_number(cli, OPTION_LIMIT) : LIMIT_DEFAULT,
        .table = table_of(&cli->arena, headings, columns),
        .add = add,
        .more = "... and more: --limit shows them",
    };
}

bool listing_add(struct listing *listing, const json_t *object, struct pawl_error *err)
{
    listing->left--;
    if (listing->cli->given[OPTION_JSON])
        return items_print(&listing->items, object, err);
    listing->add(listing, object);
    return true;
}

static bool show(void *self, const json_t *object, struct pawl_error *err)
{
    return listing_add(self, object, err);
}

void listing_end(struct listing *listing)
{
    if (listing->cli->given[OPTION_JSON])
        items_close(&listing->items);
    else
        table_print_list(&listing->table, listing->none);
    if (!listing->cli->given[OPTION_JSON] && listing->page.cursor.n)
        puts(listing->more);
    if (listing->page.damaged)
        fprintf(stderr, "pawl: %zu damaged jobs are left out: run `pawl verify`\n",
                listing->page.damaged);
}

bool listing_show(struct listing *listing, struct pawl_error *err)
{
    listing->page.show = show;
    listing->page.self = listing;
    do {
        listing->page.limit = listing->left < PAGE ? listing->left : PAGE;
        if (!listing->next(listing, err))
            return false;
    } while (listing->page.cursor.n && listing->left > 0);
    listing_end(listing);
    return true;
}
