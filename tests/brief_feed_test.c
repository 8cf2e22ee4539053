// What the Daily Brief reads: text, dates, addresses and feeds, the good ones and the others.
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "daily-brief/dates.h"
#include "daily-brief/feed.h"
#include "daily-brief/link.h"
#include "daily-brief/plain.h"

static struct str plain(const char *text, bool html, size_t size)
{
    char *out = arena_alloc(test_arena(), size);
    plain_text(text, html, out, size);
    return str_of(out);
}

// ----- text

TEST(SLOT_10_html_becomes_one_line_of_text)
{
    EXPECT_STR(plain("<p>One</p><p>two</p>", true, 100), "One two");
    EXPECT_STR(plain("un<b>believ</b>able", true, 100), "unbelievable");
    EXPECT_STR(plain("  a\n\t b  ", true, 100), "a b");
    EXPECT_STR(plain("R&amp;D &lt;3 &#8364; &#x20AC; &nbsp;x", true, 100),
               "R&D <3 \u20ac \u20ac x");
    EXPECT_STR(plain("R&D, AT&T; 3 < 4 > 2", true, 100), "R&D, AT&T; 3 < 4 > 2");
    EXPECT_STR(plain("a<script>alert('<b>')</script>b<style>p{}</style>c", true, 100), "abc");
    EXPECT_STR(plain("a<!-- <b> -->b", true, 100), "ab");
    EXPECT_STR(plain("a<img alt=\"x > y\">b", true, 100), "a b");
    EXPECT_STR(plain("never <a href='ends", true, 100), "never");
    EXPECT_STR(plain("<script>never ends", true, 100), "");
}

TEST(SLOT_10_text_that_is_no_html_is_taken_literally)
{
    EXPECT_STR(plain("a <b> &amp; c", false, 100), "a <b> &amp; c");
}

TEST(SLOT_10_text_cannot_mislead_or_break)
{
    EXPECT_STR(plain("a\u202eb\u2066c", false, 100), "abc");
    EXPECT_STR(plain("a\x01\x1b[31mb", false, 100), "a [31mb");
    EXPECT_STR(plain("a&#0;b&#xD800;&#x110000;&#99999999999;", true, 100),
               "a b\ufffd\ufffd&#99999999999;");
    EXPECT_STR(plain("a\xff\xc3", false, 100), "a\ufffd\ufffd");
}

TEST(SLOT_10_long_text_is_cut_between_words)
{
    EXPECT_STR(plain("alpha beta gamma", false, 12), "alpha\u2026");
    EXPECT_STR(plain("alpha beta", false, 11), "alpha beta");
    EXPECT_STR(plain("\u20ac\u20ac\u20ac\u20ac", false, 9), "\u20ac\u2026");
    for (size_t size = 1; size < 30; size++) {
        struct str cut = plain("\u00e9 \u20ac\u20ac \U0001F600 word<b> &amp; more", true, size);
        EXPECT(cut.n < size && utf8_valid(cut));
    }
}

// ----- dates

static int64_t date(const char *text)
{
    int64_t at = -1;
    return date_parse(text, &at) ? at : -1;
}

TEST(SLOT_10_dates_of_all_formats)
{
    EXPECT_INT(date("Sat, 14 Mar 2026 18:05:09 GMT"), 1773511509);
    EXPECT_INT(date("Sat, 14 Mar 2026 19:05:09 +0100"), 1773511509);
    EXPECT_INT(date("14 March 2026 13:05:09 EST"), 1773511509);
    EXPECT_INT(date("14 Mar 26 18:05 UT"), 1773511500);
    EXPECT_INT(date("14 Mar 2026 18:05"), 1773511500);
    EXPECT_INT(date("2026-03-14T18:05:09Z"), 1773511509);
    EXPECT_INT(date(" 2026-03-14T19:35:09.123+01:30 "), 1773511509);
    EXPECT_INT(date("2026-03-14T18:05Z"), 1773511500);
    EXPECT_INT(date("2026-03-14"), 1773446400);
    EXPECT_INT(date("2026-03"), 1772323200);
    EXPECT_INT(date("1970-01-01T00:00:00Z"), 0);
    EXPECT_INT(date("2024-02-29"), 1709164800);
    EXPECT_INT(date("2000-02-29"), 951782400);
}

TEST(SLOT_10_what_is_no_date)
{
    static const char *const bad[] = {
        "", "yesterday", "2026-02-29", "2026-13-01", "2026-00-10", "2026-03-14T24:00:00Z",
        "2026-03-14T18:05:09", "2026-03-14T18:05:09+99:00", "31 Jun 2026 10:00 GMT", "1969-12-31",
        "14 Mrz 2026 10:00 GMT", "14 Mar 2026 10:00 XYZ", "14 Mar 2026 10:00 GMT and more",
        "2026-03-14T18:05:09Zjunk", "99999-01-01", ",", "14 Mar", "Sat, ",
    };
    for (size_t i = 0; i < countof(bad); i++)
        expect(date(bad[i]) == -1, PLACE(bad[i]));
}

// ----- addresses

static struct str clean(const char *base, const char *link)
{
    char out[1024] = "";
    return link_clean(base, link, out, sizeof(out)) ? str_dup(test_arena(), str_of(out))
                                                    : S("refused");
}

TEST(SLOT_10_one_article_has_one_address)
{
    EXPECT_STR(clean("", "HTTPS://Example.ORG:443/a?utm_source=x&id=7&fbclid=y#top"),
               "https://example.org/a?id=7");
    EXPECT_STR(clean("", "http://me:secret@example.org/a?utm_source=x"), "http://example.org/a");
    EXPECT_STR(clean("https://example.org/feeds/all.xml", "/2026/a b"),
               "https://example.org/2026/a%20b");
    EXPECT_STR(clean("https://example.org/feeds/all.xml", "a"), "https://example.org/feeds/a");
}

TEST(SLOT_10_only_addresses_of_the_web_are_taken)
{
    EXPECT_STR(clean("", "javascript:alert(1)"), "refused");
    EXPECT_STR(clean("https://example.org/", "javascript:alert(1)"), "refused");
    EXPECT_STR(clean("https://example.org/", "data:text/html,x"), "refused");
    EXPECT_STR(clean("", "file:///etc/passwd"), "refused");
    EXPECT_STR(clean("https://example.org/", "ftp://example.org/a"), "refused");
    EXPECT_STR(clean("", "/a"), "refused");
    EXPECT_STR(clean("", ""), "refused");
    EXPECT_STR(clean("", "http://"), "refused");
}

// ----- feeds

static struct feed must_read(const char *text)
{
    struct feed feed;
    struct pawl_error err = {0};
    MUST(feed_parse(&feed, text, strlen(text), &err));
    return feed;
}

static struct str refusal(const char *bytes, size_t length)
{
    struct feed feed;
    struct pawl_error err = {0};
    EXPECT(!feed_parse(&feed, bytes, length, &err));
    EXPECT(!feed.articles && feed.count == 0);
    return str_dup(test_arena(), str_of(err.message));
}

TEST(SLOT_10_rss_2)
{
    struct feed feed = must_read(
        "<rss version='2.0' xmlns:content='http://purl.org/rss/1.0/modules/content/'><channel>"
        "<title>not this</title><link>http://not.this/</link>"
        "<item><title>One &amp;amp; only</title><link> http://a.example/1 </link>"
        "<description><![CDATA[<p>Some <b>words</b></p>]]></description>"
        "<pubDate>Sat, 14 Mar 2026 18:05:09 GMT</pubDate></item>"
        "<item><guid>http://a.example/2</guid>"
        "<content:encoded>body &lt;i>text&lt;/i></content:encoded></item>"
        "<item><guid isPermaLink='false'>http://a.example/3</guid><title>no address</title></item>"
        "<item><link>http://a.example/4</link></item>"
        "</channel></rss>");
    EXPECT(strcmp(feed.kind, "RSS 2.0") == 0);
    EXPECT_INT(feed.count, 2);
    EXPECT_INT(feed.skipped, 2);
    EXPECT_STR(str_of(feed.articles[0].title), "One & only");
    EXPECT_STR(str_of(feed.articles[0].url), "http://a.example/1");
    EXPECT_STR(str_of(feed.articles[0].summary), "Some words");
    EXPECT_INT(feed.articles[0].published_at, 1773511509);
    EXPECT_STR(str_of(feed.articles[1].url), "http://a.example/2");
    EXPECT_STR(str_of(feed.articles[1].title), "body text");
    EXPECT_INT(feed.articles[1].published_at, 0);
    feed_end(&feed);
}

TEST(SLOT_10_rss_1)
{
    struct feed feed = must_read(
        "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'"
        " xmlns='http://purl.org/rss/1.0/' xmlns:dc='http://purl.org/dc/elements/1.1/'>"
        "<channel><title>not this</title></channel>"
        "<item><title>One</title><link>http://a.example/1</link><description>d</description>"
        "<dc:date>2026-03-14T18:05Z</dc:date><dc:title>not this</dc:title></item></rdf:RDF>");
    EXPECT(strcmp(feed.kind, "RSS 1.0") == 0);
    EXPECT_INT(feed.count, 1);
    EXPECT_STR(str_of(feed.articles[0].title), "One");
    EXPECT_STR(str_of(feed.articles[0].summary), "d");
    EXPECT_INT(feed.articles[0].published_at, 1773511500);
    feed_end(&feed);
}

TEST(SLOT_10_atom)
{
    struct feed feed = must_read(
        "<f:feed xmlns:f='http://www.w3.org/2005/Atom'><f:title>not this</f:title>"
        "<f:entry><f:title type='html'>a &lt;b>b&lt;/b> &amp;amp; c</f:title>"
        "<f:link rel='enclosure' href='http://a.example/x.mp3'/><f:link href='http://a.example/1'/>"
        "<f:source><f:title>not this</f:title><f:updated>2020-01-01T00:00:00Z</f:updated>"
        "</f:source>"
        "<f:updated>2026-03-15T00:00:00Z</f:updated>"
        "<f:published>2026-03-14T18:05:09Z</f:published>"
        "<f:content type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'><p>one</p><p>two</p>"
        "</div></f:content></f:entry>"
        "<f:entry><f:title>3 &lt; 4 is &amp;amp; literal</f:title><f:id>http://a.example/2</f:id>"
        "<f:link rel='alternate' href='http://a.example/2'/>"
        "<f:updated>2026-03-15T00:00:00Z</f:updated></f:entry></f:feed>");
    EXPECT(strcmp(feed.kind, "Atom") == 0);
    EXPECT_INT(feed.count, 2);
    EXPECT_STR(str_of(feed.articles[0].title), "a b & c");
    EXPECT_STR(str_of(feed.articles[0].url), "http://a.example/1");
    EXPECT_STR(str_of(feed.articles[0].summary), "one two");
    EXPECT_INT(feed.articles[0].published_at, 1773511509);
    EXPECT_STR(str_of(feed.articles[1].title), "3 < 4 is &amp; literal");
    EXPECT_INT(feed.articles[1].published_at, 1773532800);
    feed_end(&feed);
}

TEST(SLOT_10_encodings)
{
    static const char *const names[] = { "ISO-8859-1", "windows-1252", "ISO-8859-15", "latin1" };
    for (size_t i = 0; i < countof(names); i++) {
        char text[400];
        snprintf(text, sizeof(text),
                 "<?xml version='1.0' encoding='%s'?><rss><channel><item><title>caf\xe9</title>"
                 "<link>http://a.example/</link></item></channel></rss>",
                 names[i]);
        struct feed feed = must_read(text);
        EXPECT_STR(str_of(feed.articles[0].title), "caf\u00e9");
        feed_end(&feed);
    }
    static const char bad[] = "<?xml version='1.0'?><rss><channel><item><title>caf\xe9</title>";
    EXPECT_STR(refusal(bad, sizeof(bad) - 1), "line 1: not well-formed (invalid token)");
    static const char unknown[] = "<?xml version='1.0' encoding='klingon'?><rss/>";
    EXPECT_STR(refusal(unknown, sizeof(unknown) - 1), "line 1: unknown encoding");
    static const char wide[] = "<?xml version='1.0' encoding='Shift_JIS'?><rss>\x83\x65</rss>";
    EXPECT(refusal(wide, sizeof(wide) - 1).n > 0);
}

TEST(SLOT_10_entities_of_html_in_a_feed_with_a_dtd)
{
    struct feed feed = must_read(
        "<!DOCTYPE rss PUBLIC '-//Netscape Communications//DTD RSS 0.91//EN'"
        " 'http://nowhere.example/rss.dtd'><rss><channel><item><title>caf&eacute;</title>"
        "<link>http://a.example/</link></item></channel></rss>");
    EXPECT_STR(str_of(feed.articles[0].title), "caf\u00e9");
    feed_end(&feed);
}

TEST(SLOT_10_hostile_feeds_are_refused)
{
    static const struct {
        const char *text, *why;
    } bad[] = {
        { "", "line 1: no element found" },
        { "garbage", "line 1: syntax error" },
        { "<html><body/></html>", "line 1: it is no feed: neither RSS nor Atom" },
        { "<rss><channel><item>", "line 1: no element found" },
        { "<!DOCTYPE rss [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;'>]><rss>&b;</rss>",
          "line 1: it declares entities, which is not allowed" },
        { "<!DOCTYPE rss [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><rss>&x;</rss>",
          "line 1: it declares entities, which is not allowed" },
        { "<!DOCTYPE rss [<!ENTITY % x SYSTEM 'http://127.0.0.1/x'> %x;]><rss/>",
          "line 1: it declares entities, which is not allowed" },
        { "<rss>&undefined;</rss>", "line 1: undefined entity" },
    };
    for (size_t i = 0; i < countof(bad); i++)
        expect_str(refusal(bad[i].text, strlen(bad[i].text)), str_of(bad[i].why),
                   PLACE(bad[i].text));
}

TEST(SLOT_10_deep_and_long_feeds_have_limits)
{
    struct buf deep = buf_new(test_arena(), 1 << 20), many = buf_new(test_arena(), 1 << 20);
    buf_add(&deep, S("<rss>"));
    for (int i = 0; i < 1000; i++)
        buf_add(&deep, S("<a>"));
    EXPECT_STR(refusal(buf_str(&deep).s, buf_str(&deep).n),
               "line 1: its elements are nested too deeply");
    buf_add(&many, S("<rss><channel>"));
    for (int i = 0; i < FEED_ARTICLES_MAX + 5; i++)
        buf_add(&many, S("<item><title>t</title><link>http://a.example/</link></item>"));
    buf_add(&many, S("</channel></rss>"));
    struct feed feed;
    struct pawl_error err;
    MUST(feed_parse(&feed, buf_str(&many).s, buf_str(&many).n, &err));
    EXPECT_INT(feed.count, FEED_ARTICLES_MAX);
    EXPECT_INT(feed.skipped, 5);
    feed_end(&feed);
}

TEST(SLOT_10_a_text_without_end_is_cut)
{
    struct buf text = buf_new(test_arena(), 4 << 20);
    buf_add(&text, S("<rss><channel><item><link>http://a.example/</link><title>"));
    for (int i = 0; i < 100000; i++)
        buf_add(&text, S("word&amp;"));
    buf_add(&text, S("</title></item></channel></rss>"));
    struct feed feed;
    struct pawl_error err;
    MUST(feed_parse(&feed, buf_str(&text).s, buf_str(&text).n, &err));
    EXPECT_INT(feed.count, 1);
    EXPECT(strlen(feed.articles[0].title) < sizeof(feed.articles[0].title));
    feed_end(&feed);
}

// ----- mutations

static uint32_t dice = 20260314;

static size_t roll(size_t sides)
{
    dice = dice * 1664525u + 1013904223u;
    return (dice >> 8) % sides;
}

// Changes a byte, doubles a piece, cuts a piece out, or ends it early.
static size_t mutate(char *bytes, size_t length, size_t size)
{
    size_t at = roll(length), count = roll(length - at < 200 ? length - at : 200) + 1;
    switch (roll(4)) {
    case 0: bytes[at] = (char)roll(256); return length;
    case 1:
        if (length + count > size || at + count > length)
            return length;
        memmove(bytes + at + count, bytes + at, length - at);
        return length + count;
    case 2:
        memmove(bytes + at, bytes + at + count, length - at - count);
        return length - count;
    default: return roll(20) == 0 ? at + 1 : length;
    }
}

static void read_mutation(const char *bytes, size_t length)
{
    struct feed feed;
    struct pawl_error err = {0};
    if (!feed_parse(&feed, bytes, length, &err)) {
        EXPECT(err.message[0]);
        return;
    }
    for (size_t i = 0; i < feed.count; i++) {
        const struct article *article = &feed.articles[i];
        EXPECT(article->url[0] && article->title[0]);
        EXPECT(utf8_valid(str_of(article->title)) && utf8_valid(str_of(article->summary)));
    }
    feed_end(&feed);
}

TEST(SLOT_10_mutated_feeds_are_read_or_refused)
{
    static const char *const names[] = {
        "northmoor-herald.xml", "calder-bay-times.xml", "meridian-post.atom", "lakeside-wire.rdf",
        "technology-ledger.atom", "harbour-hill-radio.xml", "ferrow-science-review.rdf",
    };
    for (size_t i = 0; i < countof(names); i++) {
        char path[128];
        snprintf(path, sizeof(path), "examples/daily-brief/feeds/%s", names[i]);
        struct str original = test_file(path);
        for (int round = 0; round < 300; round++) {
            // As large as needed and no larger, so that a sanitizer sees a byte too far.
            size_t size = original.n + 2048, length = original.n;
            char *bytes = calloc(1, size);
            EXPECT(bytes);
            memcpy(bytes, original.s, original.n);
            for (size_t n = roll(4) + 1; n > 0 && length > 1; n--)
                length = mutate(bytes, length, size);
            char *exact = realloc(bytes, length);
            read_mutation(exact, length);
            free(exact);
        }
    }
}
