// libcurl takes addresses apart the way it will use them.
#include "link.h"

#include <ctype.h>
#include <curl/curl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define countof(array) (sizeof(array) / sizeof((array)[0]))

static const char *const trackers[] = { "utm_", "fbclid=", "gclid=", "mc_cid=", "mc_eid=" };

bool link_is_http(const char *text)
{
    return strncasecmp(text, "http://", 7) == 0 || strncasecmp(text, "https://", 8) == 0;
}

static bool tracks(const char *parameter)
{
    for (size_t i = 0; i < countof(trackers); i++)
        if (strncasecmp(parameter, trackers[i], strlen(trackers[i])) == 0)
            return true;
    return false;
}

// Moves the parameters that are kept to the front, in their order.
static void drop_trackers(char *query)
{
    size_t used = 0;
    for (char *at = query; *at;) {
        size_t length = strcspn(at, "&");
        char *next = at + length + (at[length] == '&');
        if (!tracks(at)) {
            if (used > 0)
                query[used++] = '&';
            memmove(query + used, at, length);
            used += length;
        }
        at = next;
    }
    query[used] = 0;
}

static bool clean_query(CURLU *url)
{
    char *query = NULL;
    if (curl_url_get(url, CURLUPART_QUERY, &query, 0) != CURLUE_OK)
        return true;  // there is none
    drop_trackers(query);
    bool good = curl_url_set(url, CURLUPART_QUERY, *query ? query : NULL, 0) == CURLUE_OK;
    curl_free(query);
    return good;
}

static bool lower_host(CURLU *url)
{
    char *host = NULL;
    if (curl_url_get(url, CURLUPART_HOST, &host, 0) != CURLUE_OK)
        return false;
    for (char *c = host; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    bool good = curl_url_set(url, CURLUPART_HOST, host, 0) == CURLUE_OK;
    curl_free(host);
    return good;
}

static bool clean(CURLU *url, const char *base, const char *link)
{
    if (link_is_http(base) && curl_url_set(url, CURLUPART_URL, base, 0) != CURLUE_OK)
        return false;
    return curl_url_set(url, CURLUPART_URL, link, CURLU_URLENCODE) == CURLUE_OK
        && lower_host(url) && clean_query(url)
        && curl_url_set(url, CURLUPART_FRAGMENT, NULL, 0) == CURLUE_OK
        && curl_url_set(url, CURLUPART_USER, NULL, 0) == CURLUE_OK
        && curl_url_set(url, CURLUPART_PASSWORD, NULL, 0) == CURLUE_OK;
}

bool link_clean(const char *base, const char *link, char *out, size_t size)
{
    CURLU *url = curl_url();
    char *text = NULL;
    bool good = url && clean(url, base, link)
        && curl_url_get(url, CURLUPART_URL, &text, CURLU_NO_DEFAULT_PORT) == CURLUE_OK
        && link_is_http(text) && strlen(text) < size;
    if (good)
        snprintf(out, size, "%s", text);
    curl_free(text);
    curl_url_cleanup(url);
    return good;
}
