// The small program is in this one (tools/embed_file.py) and is laid into memory once. Nobody can
// change it there: it is sealed.
#include "server/supervisor_program.h"

#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "server/supervisor.h"
#include "supervise.gen.h"

static char small[32];  // its path; empty: it could not be laid down
static const char *programs[SUPERVISOR_PROGRAMS] = { NULL, "/proc/self/exe" };
static pthread_once_t laid = PTHREAD_ONCE_INIT;

// Not one of the descriptors that a supervisor begins with: they are replaced before it does.
static int lay_down(void)
{
    int low = memfd_create("pawl-supervisor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int fd = low < 0 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, SUPERVISOR_DESCRIPTORS);
    if (low >= 0)
        close(low);
    bool whole = fd >= 0 && write(fd, supervise, sizeof supervise) == (ssize_t)sizeof supervise
              && fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
                     == 0;
    if (whole)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static void lay_down_once(void)
{
    int fd = lay_down();
    if (fd < 0)
        return;
    snprintf(small, sizeof small, "/proc/self/fd/%d", fd);
    programs[0] = small;
}

const char *const *supervisor_programs(void)
{
    pthread_once(&laid, lay_down_once);
    return programs;
}

static void lay_down_nothing(void)
{
}

void supervisor_programs_are(const char *first, const char *second)
{
    pthread_once(&laid, lay_down_nothing);
    programs[0] = first;
    programs[1] = second;
}
