#pragma once
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { MAX_WORDS = 8, MAX_FILES = 64, BUFFER = 70000 };

/// One line: the call and its arguments.
struct words {
    int count;
    char *at[MAX_WORDS];
    size_t length[MAX_WORDS];
};

/// Performs the call and prints its result without the final newline.
void act(const struct words *words);

/// open(2) for reading with the uid of `lender`, by a process of `borrower`; both have the group `gid`, and each one
/// supplementary group, `lent` and `own`. Only root can stage it. Prints ok or the errno's name.
void open_borrowed(const char *path, uid_t lender, uid_t borrower, gid_t gid, gid_t lent, gid_t own);

/// Prints bytes with every byte that is no plain character as \xHH.
void say_bytes(const char *bytes, size_t count);
