// Telling the service manager how we are: systemd's notify protocol, one datagram per message.
#pragma once

#include "base/text.h"

// Sends "READY=1", "STOPPING=1" and the like to $NOTIFY_SOCKET. Without one, or when nobody
// listens there, nothing happens: the program works the same without a service manager.
void notify(struct str message);
