// Asked of /proc and of getrusage, when somebody scrapes; and the limit on file descriptors.
#include "server/process.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static void ask_memory(struct process_figures *figures)
{
    long long pages = 0, resident = 0;
    int64_t page = sysconf(_SC_PAGESIZE);
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file)
        return;
    // Numbers of the kernel's own: they fit.
    if (fscanf(file, "%lld %lld", &pages, &resident) == 2) {  // NOLINT(cert-err34-c)
        figures->virtual_bytes = pages * page;
        figures->resident_bytes = resident * page;
    }
    fclose(file);
}

static double seconds(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static int64_t count_fds(void)
{
    int64_t count = 0;
    DIR *directory = opendir("/proc/self/fd");
    if (!directory)
        return 0;
    for (struct dirent *entry; (entry = readdir(directory));)
        count += entry->d_name[0] != '.';
    closedir(directory);
    return count - 1;  // the directory itself
}

struct process_figures process_figures(void)
{
    struct process_figures figures = { .open_fds = count_fds() };
    struct rusage usage;
    struct rlimit limit;
    ask_memory(&figures);
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        figures.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        figures.max_fds = (int64_t)limit.rlim_cur;
    return figures;
}

int64_t process_allow_fds(int64_t wanted)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return wanted;  // then it is not known to be too little
    rlim_t more = (rlim_t)wanted < limit.rlim_max ? (rlim_t)wanted : limit.rlim_max;
    struct rlimit raised = { .rlim_cur = more, .rlim_max = limit.rlim_max };
    if (more > limit.rlim_cur && setrlimit(RLIMIT_NOFILE, &raised) == 0)
        limit = raised;
    return limit.rlim_cur < (rlim_t)INT64_MAX ? (int64_t)limit.rlim_cur : INT64_MAX;
}
