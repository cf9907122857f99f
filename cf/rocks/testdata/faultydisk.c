// Makes calls fail that change files below FAULTYDISK_DIR, in the process that it is
// loaded into (LD_PRELOAD). The file FAULTYDISK_CONTROL holds four numbers: how many
// calls succeed before one fails, how many fail then, the errno, and the number of all
// such calls, which is counted here.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

static struct control {
	_Atomic int well, fail, error, calls;
} *control;
static const char *dir;

// The functions that it calls never call it again.
static void begin(void) {
	const char *path = getenv("FAULTYDISK_CONTROL");
	int fd = path ? open(path, O_RDWR) : -1;
	dir = getenv("FAULTYDISK_DIR");
	if (fd < 0 || !dir)
		return;
	void *p = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (p != MAP_FAILED)
		control = p;
}

static int controlled(void) {
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, begin);
	return control != NULL;
}

// The log for people is not the database's.
static int fails(const char *path) {
	const char *name = strrchr(path, '/');
	if (!controlled() || strncmp(path, dir, strlen(dir)) != 0 || (name && strcmp(name, "/LOG") == 0))
		return 0;
	atomic_fetch_add(&control->calls, 1);
	if (atomic_load(&control->fail) <= 0 || atomic_fetch_sub(&control->well, 1) > 0)
		return 0;
	if (atomic_fetch_sub(&control->fail, 1) <= 0)
		return 0;
	errno = atomic_load(&control->error);
	return 1;
}

static int fd_fails(int fd) {
	char link[64], path[PATH_MAX];
	if (!controlled())
		return 0;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof path - 1);
	if (n < 0)
		return 0;
	path[n] = 0;
	return fails(path);
}

#define FAULTY(type, name, failing, call, ...)                           \
	type name(__VA_ARGS__) {                                         \
		static type (*real)(__VA_ARGS__);                        \
		if (!real)                                               \
			real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name); \
		return failing ? -1 : real call;                         \
	}

FAULTY(ssize_t, write, fd_fails(fd), (fd, p, n), int fd, const void *p, size_t n)
FAULTY(ssize_t, pwrite, fd_fails(fd), (fd, p, n, at), int fd, const void *p, size_t n, off_t at)
FAULTY(ssize_t, pwrite64, fd_fails(fd), (fd, p, n, at), int fd, const void *p, size_t n, off_t at)
FAULTY(int, fsync, fd_fails(fd), (fd), int fd)
FAULTY(int, fdatasync, fd_fails(fd), (fd), int fd)
FAULTY(int, rename, fails(to), (from, to), const char *from, const char *to)
FAULTY(int, link, fails(to), (from, to), const char *from, const char *to)

static int opened(const char *name, const char *path, int flags, mode_t mode) {
	int (*real)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, name);
	if ((flags & O_CREAT) && fails(path))
		return -1;
	return real(path, flags, mode);
}

int open(const char *path, int flags, ...) {
	va_list more;
	va_start(more, flags);
	mode_t mode = (flags & O_CREAT) ? va_arg(more, mode_t) : 0;
	va_end(more);
	return opened("open", path, flags, mode);
}

int open64(const char *path, int flags, ...) {
	va_list more;
	va_start(more, flags);
	mode_t mode = (flags & O_CREAT) ? va_arg(more, mode_t) : 0;
	va_end(more);
	return opened("open64", path, flags, mode);
}
