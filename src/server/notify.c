// The socket is a path, or an abstract name that is written with @ in front.
#include "server/notify.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void notify(struct str message)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    struct str name = str_of(getenv("NOTIFY_SOCKET"));
    if (name.n < 2 || name.n >= sizeof to.sun_path || (name.s[0] != '/' && name.s[0] != '@'))
        return;
    memcpy(to.sun_path, name.s, name.n);
    if (name.s[0] == '@')
        to.sun_path[0] = 0;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + name.n);
    // Whether it was heard is the service manager's affair.
    (void)!sendto(fd, message.s, message.n, MSG_NOSIGNAL, (struct sockaddr *)&to, bytes);
    close(fd);
}
