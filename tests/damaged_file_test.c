// Files that were damaged behind Pawl's back: bytes changed, cut off, the log cut or gone. Pawl
// refuses them and says so, or goes on with what is right; it never crashes, whatever is in them.
//
// DAMAGED_FILES says how many (`make torture-damage`, under AddressSanitizer); a finding is printed
// with its seed.
#include <stdlib.h>

#include "engine/seal.h"
#include "rich_store.h"
#include "script.h"
#include "store/copy.h"
#include "torture.h"

static const char *path_of(const struct box *box, const char *suffix)
{
    return str_format(test_arena(), "%s%s", box->url.s + S("sqlite:").n, suffix).s;
}

static size_t any(uint64_t *dice, size_t count)
{
    return count ? disk_random(dice) % count : 0;
}

static void flip_bytes(struct disk_file *file, uint64_t *dice)
{
    for (size_t i = 1 + any(dice, 20); i > 0 && file->seen.count > 0; i--) {
        unsigned char byte = (unsigned char)disk_random(dice);
        disk_write(file, &byte, 1, any(dice, file->seen.count));
    }
}

// Among the first bytes of a page are what it is and where its records are.
static void damage_page_head(struct disk_file *file, uint64_t *dice)
{
    enum { PAGE = 4096, HEAD = 24 };
    unsigned char byte = (unsigned char)disk_random(dice);
    disk_write(file, &byte, 1, any(dice, file->seen.count / PAGE) * PAGE + any(dice, HEAD));
}

static void zero_page(struct disk_file *file, uint64_t *dice)
{
    static const char zeros[4096];
    size_t page = any(dice, file->seen.count / sizeof zeros);
    disk_write(file, zeros, sizeof zeros, page * sizeof zeros);
}

static void swap_pages(struct disk_file *file, uint64_t *dice)
{
    char page[4096];
    disk_read(file, page, sizeof page, any(dice, file->seen.count / sizeof page) * sizeof page);
    disk_write(file, page, sizeof page, any(dice, file->seen.count / sizeof page) * sizeof page);
}

static void cut_off(struct disk_file *file, uint64_t *dice)
{
    disk_truncate(file, any(dice, file->seen.count + 1));
}

static void remove_it(struct disk_file *file, uint64_t *dice)
{
    (void)dice;
    disk_unname(file);
}

static void (*const main_damages[])(struct disk_file *file, uint64_t *dice) = {
    flip_bytes, damage_page_head, damage_page_head, zero_page, swap_pages, cut_off,
};
static void (*const log_damages[])(struct disk_file *file, uint64_t *dice) = {
    flip_bytes, cut_off, remove_it,
};

static void damage(const struct box *box, uint64_t *dice)
{
    struct disk_file *log = disk_find(path_of(box, "-wal")), *file = disk_find(path_of(box, ""));
    if (log && any(dice, 3) == 0)
        log_damages[any(dice, countof(log_damages))](log, dice);
    else
        main_damages[any(dice, countof(main_damages))](file, dice);
}

// Everything that reads and writes a good deal of it.
static bool use(struct script *s, struct pawl_error *err)
{
    struct verified verified;
    struct seals_checked checked;
    return db_intact(s->db, false, err)
        && verify(s->db, &(struct verify_options){0}, &verified, err)
        && seals_check(s->db, &(struct seal_check){0}, &checked, err);
}

static bool enqueue(struct script *s, struct tx *tx, struct pawl_error *err)
{
    struct contract contract = contract_for(s->box, "after_damage");
    struct job job;
    bool deduplicated;
    return job_enqueue(tx, &contract, &job, &deduplicated, err);
}

static bool sweep_all(struct script *s, struct tx *tx, struct pawl_error *err)
{
    struct swept swept;
    (void)s;
    return sweep(tx, 100, &swept, err);
}

static bool told(bool done, const struct pawl_error *err)
{
    return done || (err->code != PAWL_OK && err->message[0] != '\0');
}

// Opening it may be refused; whatever is refused is said.
static bool endure(struct stage *stage, uint64_t seed)
{
    struct pawl_error opening = {0}, using = {0}, adding = {0}, sweeping = {0};
    struct script s = stage_begin(stage);
    uint64_t dice = seed * 0x9e3779b97f4a7c15U + 1;
    damage(&stage->box, &dice);
    bool opened = script_open(&s, &opening);
    bool endured = told(opened, &opening)
        && (!opened
            || (told(use(&s, &using), &using) && told(script_do(&s, enqueue, &adding), &adding)
                && told(script_do(&s, sweep_all, &sweeping), &sweeping)));
    script_close(&s);
    if (!endured)
        print_message("seed %llu: an error that says nothing\n", (unsigned long long)seed);
    return endured;
}

static bool nothing(struct script *s, struct pawl_error *err)
{
    (void)s;
    (void)err;
    return true;
}

static void fill(struct script *s)
{
    rich_store(s->box);
}

TEST(OPS_9_a_damaged_file_is_refused_or_used_and_crashes_nobody)
{
    static const struct scenario whole = { "damage", fill, nothing, 0, KEEPS_LOG };
    struct torture t = { .name = "damaged files",
                         .planned = torture_asked("DAMAGED_FILES", 150) };
    struct stage stage;
    crash_vfs_install();
    stage_open(&stage, &whole);
    for (int64_t seed = 1; seed <= t.planned; seed++)
        torture_count(&t, endure(&stage, (uint64_t)seed));
    stage_close(&stage);
    crash_vfs_remove();
    EXPECT_INT(torture_end(&t), 0);
}
