// What a store is made of on disk.
#pragma once

// Prints each table and index of the file with its pages, and its bytes per job of those that
// `jobs` counts; ends the program when it cannot. Nobody else may be writing.
void sizes_print(const char *path, long jobs);
