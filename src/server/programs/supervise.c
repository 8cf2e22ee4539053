// The supervisor as a program of its own, which the build puts into the other one. It is started
// for every command, and most of the time it takes to start `pawl` goes to libraries that a
// supervisor never uses.
#include "server/supervisor.h"

int main(int argc, char **argv)
{
    return supervisor_main(argc, argv);
}
