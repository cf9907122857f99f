// Records syncs (LD_PRELOAD): each sync of a file below SYNCS_DIR adds a line to the
// file SYNCS_JOURNAL, with the size of the file when the sync began, and its path.
// Files that are removed from the directory db there are moved to SYNCS_REMOVED.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int journal = -1;

static void begin(void) {
	const char *path = getenv("SYNCS_JOURNAL");
	if (path)
		journal = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static int write_down(const char *line, int n) {
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, begin);
	return write(journal, line, n) < 0 ? -1 : 0;
}

static int note(char *line, int fd) {
	char link[64], path[PATH_MAX];
	const char *dir = getenv("SYNCS_DIR");
	struct stat info;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof path - 1);
	if (!dir || n < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
		return 0;
	path[n] = 0;
	if (strncmp(path, dir, strlen(dir)) != 0)
		return 0;
	return snprintf(line, PATH_MAX + 64, "%lld %s\n", (long long)info.st_size, path);
}

#define NOTED(name)                                            \
	int name(int fd) {                                         \
		static int (*real)(int);                               \
		char line[PATH_MAX + 64];                              \
		if (!real)                                             \
			real = (int (*)(int))dlsym(RTLD_NEXT, #name);      \
		int n = note(line, fd);                                \
		int result = real(fd);                                 \
		if (result == 0 && n > 0 && write_down(line, n) < 0) \
			abort();                                           \
		return result;                                         \
	}

NOTED(fsync)
NOTED(fdatasync)

int unlink(const char *path) {
	static int (*real)(const char *);
	const char *dir = getenv("SYNCS_DIR"), *removed = getenv("SYNCS_REMOVED"), *name = strrchr(path, '/');
	char from[PATH_MAX], to[PATH_MAX];
	if (!real)
		real = (int (*)(const char *))dlsym(RTLD_NEXT, "unlink");
	if (!dir || !removed || !name)
		return real(path);
	snprintf(from, sizeof from, "%s/db%s", dir, name);
	snprintf(to, sizeof to, "%s%s", removed, name);
	return strcmp(from, path) == 0 ? rename(path, to) : real(path);
}
