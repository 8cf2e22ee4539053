#include "torture.h"

#include <stdio.h>
#include <stdlib.h>

int64_t torture_setting(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);
    char *end = NULL;
    int64_t number = text ? strtoll(text, &end, 10) : 0;
    return text && *text && *end == 0 ? number : otherwise;
}

void torture_sum(const char *name, int64_t tried, int64_t found, int64_t not_reached)
{
    printf("torture %s: %lld tried, %lld survived, %lld found, %lld not reached\n", name,
           (long long)tried, (long long)(tried - found), (long long)found,
           (long long)not_reached);
}
