// Slows down syncs of files below SLOWDISK_DIR, for which RocksDB waits, in the process
// that it is loaded into (LD_PRELOAD). A sync takes SLOWDISK_MS milliseconds longer, or
// up to twice that. While the first number in the file SLOWDISK_CONTROL is not 0, syncs
// are held; the second number counts the held syncs.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct control {
	_Atomic int hold, held;
} *control;

static void begin(void) {
	const char *path = getenv("SLOWDISK_CONTROL");
	int fd = path ? open(path, O_RDWR) : -1;
	if (fd < 0)
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

static int is_slow(int fd) {
	char link[64], path[PATH_MAX];
	const char *dir = getenv("SLOWDISK_DIR");
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof path - 1);
	if (!dir || n < 0)
		return 0;
	path[n] = 0;
	return strncmp(path, dir, strlen(dir)) == 0;
}

static void wait_for(int fd) {
	const char *ms = getenv("SLOWDISK_MS");
	if (!is_slow(fd))
		return;
	if (ms)
		usleep((useconds_t)(atoi(ms) * 1000 + random() % (atoi(ms) * 1000 + 1)));
	if (!controlled() || !atomic_load(&control->hold))
		return;
	atomic_fetch_add(&control->held, 1);
	while (atomic_load(&control->hold))
		usleep(1000);
	atomic_fetch_sub(&control->held, 1);
}

#define SLOW(name, call, ...)                                      \
	int name(__VA_ARGS__) {                                        \
		static int (*real)(__VA_ARGS__);                           \
		if (!real)                                                 \
			real = (int (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name);  \
		wait_for(fd);                                              \
		return real call;                                          \
	}

SLOW(fsync, (fd), int fd)
SLOW(fdatasync, (fd), int fd)
