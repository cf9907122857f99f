// Runs a command, and kills it before one of its changes of files:
//
//	killer ARM STEP DIR STEPS LOSS COMMAND...
//
// A step is a system call of any thread that changes something below DIR. Steps are counted from
// the moment at which the file ARM exists, or with "-" from the beginning on, and each is written
// to the file STEPS. The process is killed before STEP: its number, or the name of a call and of
// the file, as in "unlinkat STANDBY"; with 0 it is not. LOSS says what a kill leaves: "-" all that
// was done, or less, as after a loss of power:
//
//	names    the names that were synced with their directories, and the content that was synced
//	content  all names, and the content that was synced
//
// With both, DIR must be in a tmpfs, where no inode gets the number of another one.
//
// SIGTERM is passed on, SIGUSR1 kills the command.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t child;
static const char *arm, *dir, *loss;
static FILE *steps;
static const char *at;
static int armed;

static void die(const char *what) {
	perror(what);
	exit(99);
}

// The calls that may change files: where they have their path, or their descriptor.
static const struct {
	int nr;
	const char *name;
	int fd;   // the argument with the descriptor of the file, or -1
	int path; // the argument with a path, after its directory if at is 1, or -1
	int at;
	int second; // another path, or -1
} calls[] = {
	{SYS_openat, "openat", -1, 1, 1, -1},
	{SYS_open, "open", -1, 0, 0, -1},
	{SYS_creat, "creat", -1, 0, 0, -1},
	{SYS_write, "write", 0, -1, 0, -1},
	{SYS_pwrite64, "pwrite64", 0, -1, 0, -1},
	{SYS_writev, "writev", 0, -1, 0, -1},
	{SYS_pwritev, "pwritev", 0, -1, 0, -1},
	{SYS_fsync, "fsync", 0, -1, 0, -1},
	{SYS_fdatasync, "fdatasync", 0, -1, 0, -1},
	{SYS_sync_file_range, "sync_file_range", 0, -1, 0, -1},
	{SYS_ftruncate, "ftruncate", 0, -1, 0, -1},
	{SYS_fallocate, "fallocate", 0, -1, 0, -1},
	{SYS_truncate, "truncate", -1, 0, 0, -1},
	{SYS_rename, "rename", -1, 0, 0, 1},
	{SYS_renameat, "renameat", -1, 1, 1, 3},
	{SYS_renameat2, "renameat2", -1, 1, 1, 3},
	{SYS_unlink, "unlink", -1, 0, 0, -1},
	{SYS_unlinkat, "unlinkat", -1, 1, 1, -1},
	{SYS_rmdir, "rmdir", -1, 0, 0, -1},
	{SYS_mkdir, "mkdir", -1, 0, 0, -1},
	{SYS_mkdirat, "mkdirat", -1, 1, 1, -1},
	{SYS_link, "link", -1, 0, 0, 1},
	{SYS_linkat, "linkat", -1, 1, 1, 3},
	{SYS_symlink, "symlink", -1, 1, 0, -1},
	{SYS_symlinkat, "symlinkat", -1, 2, 1, -1},
	{SYS_copy_file_range, "copy_file_range", 2, -1, 0, -1},
};
#define CALLS ((int)(sizeof calls / sizeof *calls))

static void filter(void) {
	struct sock_filter code[2 * CALLS + 8];
	int n = 0;
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (int i = 0; i < CALLS; i++) {
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i].nr, 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog prog = {n, code};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) != 0)
		die("seccomp");
}

static void text_at(pid_t pid, unsigned long from, char *to) {
	for (size_t n = 0; n < PATH_MAX - 1;) {
		size_t size = 256 - (from + n) % 256; // within a page
		struct iovec here = {to + n, size}, there = {(void *)(from + n), size};
		if (n + size > PATH_MAX - 1)
			break;
		if (process_vm_readv(pid, &here, 1, &there, 1, 0) <= 0)
			break;
		if (memchr(to + n, 0, size))
			return;
		n += size;
	}
	to[0] = 0;
}

static void file_of(pid_t pid, int fd, char *to) {
	char link[64];
	snprintf(link, sizeof link, fd == AT_FDCWD ? "/proc/%d/cwd" : "/proc/%d/fd/%d", pid, fd);
	ssize_t n = readlink(link, to, PATH_MAX - 1);
	to[n > 0 ? n : 0] = 0;
}

static int below(const char *path) {
	size_t n = strlen(dir);
	return strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == 0);
}

static unsigned long arg(const struct user_regs_struct *r, int n) {
	const unsigned long all[] = {r->rdi, r->rsi, r->rdx, r->r10, r->r8, r->r9};
	return all[n];
}

static void path_of(pid_t pid, const struct user_regs_struct *r, int path, int has_at, char *to) {
	char name[PATH_MAX], base[PATH_MAX];
	text_at(pid, arg(r, path), name);
	if (name[0] == '/') {
		strcpy(to, name);
		return;
	}
	file_of(pid, has_at ? (int)arg(r, path - 1) : AT_FDCWD, base);
	snprintf(to, 2 * PATH_MAX, "%s/%s", base, name);
}

// What is on the disk: the content of files and the names in directories, by their
// inodes.
typedef struct {
	ino_t ino;
	int is_dir, mode, n, size;
	char *content;
	struct name { char name[256]; ino_t ino; } *names;
} saved;
static saved *disk;
static int disks;

static saved *of(ino_t ino, int make) {
	for (int i = 0; i < disks; i++)
		if (disk[i].ino == ino)
			return &disk[i];
	if (!make)
		return NULL;
	disk = realloc(disk, (disks + 1) * sizeof *disk);
	memset(&disk[disks], 0, sizeof *disk);
	disk[disks].ino = ino;
	return &disk[disks++];
}

// The names that there are now below dir.
static struct entry { ino_t in, ino; char name[256]; } *now;
static int nows;

static void walk(const char *path) {
	struct stat info;
	DIR *d = lstat(path, &info) == 0 && S_ISDIR(info.st_mode) ? opendir(path) : NULL;
	if (!d)
		return;
	for (struct dirent *e; (e = readdir(d));) {
		char inner[2 * PATH_MAX];
		struct stat there;
		snprintf(inner, sizeof inner, "%s/%s", path, e->d_name);
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || lstat(inner, &there) != 0)
			continue;
		now = realloc(now, (nows + 1) * sizeof *now);
		now[nows].in = info.st_ino, now[nows].ino = there.st_ino;
		strcpy(now[nows++].name, e->d_name);
		walk(inner);
	}
	closedir(d);
}

static int named(const saved *s, ino_t ino) {
	for (int i = 0; i < s->n; i++)
		if (s->names[i].ino == ino)
			return 1;
	return 0;
}

static int is_in(ino_t in, ino_t ino) {
	for (int i = 0; i < nows; i++)
		if (now[i].in == in && now[i].ino == ino)
			return 1;
	return 0;
}

// move makes the disk have what was renamed from one directory to another in one of them, when
// one of both was synced: file systems do that at once. was are the names of the synced one
// before.
static void move(ino_t in, const saved *was) {
	nows = 0;
	walk(dir);
	for (int i = 0; i < nows; i++) { // from here to another directory
		saved *to = of(now[i].in, 0);
		if (now[i].in == in || !named(was, now[i].ino) || is_in(in, now[i].ino) || !to || named(to, now[i].ino))
			continue;
		to->names = realloc(to->names, (to->n + 1) * sizeof *to->names);
		to->names[to->n].ino = now[i].ino;
		strcpy(to->names[to->n++].name, now[i].name);
	}
	for (int i = 0; i < disks; i++) // from another directory to here
		for (int k = 0; disk[i].ino != in && k < disk[i].n; k++)
			if (is_in(in, disk[i].names[k].ino) && !is_in(disk[i].ino, disk[i].names[k].ino))
				disk[i].names[k--] = disk[i].names[--disk[i].n];
}

static void save(const char *path, int deep) {
	struct stat info;
	if (lstat(path, &info) != 0)
		return;
	saved *s = of(info.st_ino, 1);
	s->mode = info.st_mode & 07777;
	if (!S_ISDIR(info.st_mode)) {
		int fd = open(path, O_RDONLY);
		if (fd < 0)
			return;
		s->content = realloc(s->content, info.st_size + 1);
		s->size = 0;
		for (ssize_t n; s->size < info.st_size && (n = read(fd, s->content + s->size, info.st_size - s->size)) > 0;)
			s->size += n;
		close(fd);
		return;
	}
	DIR *d = opendir(path);
	if (!d)
		return;
	struct name *names = NULL;
	int n = 0;
	for (struct dirent *e; (e = readdir(d));) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		char inner[2 * PATH_MAX];
		struct stat there;
		snprintf(inner, sizeof inner, "%s/%s", path, e->d_name);
		if (lstat(inner, &there) != 0)
			continue;
		names = realloc(names, (n + 1) * sizeof *names);
		strcpy(names[n].name, e->d_name);
		names[n++].ino = there.st_ino;
		if (deep)
			save(inner, 1);
		else if (!of(there.st_ino, 0)) { // a file without content, or a directory without names
			saved *fresh = of(there.st_ino, 1);
			fresh->is_dir = S_ISDIR(there.st_mode);
			fresh->mode = there.st_mode & 07777;
		}
	}
	closedir(d);
	s = of(info.st_ino, 1); // it may have moved
	saved was = *s;
	s->is_dir = 1;
	s->names = names;
	s->n = n;
	if (!deep)
		move(info.st_ino, &was);
	free(was.names);
}

static struct { ino_t ino; char path[PATH_MAX]; } linked[4096];
static int links;

static void lay(const char *path, saved *s) {
	if (s->is_dir) {
		if (mkdir(path, 0700) != 0 && errno != EEXIST)
			die(path);
		for (int i = 0; i < s->n; i++) {
			char inner[2 * PATH_MAX];
			snprintf(inner, sizeof inner, "%s/%s", path, s->names[i].name);
			saved *below = of(s->names[i].ino, 0);
			if (below)
				lay(inner, below);
		}
		chmod(path, s->mode);
		return;
	}
	for (int i = 0; i < links; i++)
		if (linked[i].ino == s->ino) {
			if (link(linked[i].path, path) != 0)
				die(path);
			return;
		}
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd < 0 || write(fd, s->content ? s->content : "", s->size) != s->size || fchmod(fd, s->mode) != 0)
		die(path);
	close(fd);
	if (links < 4096) {
		linked[links].ino = s->ino;
		strcpy(linked[links++].path, path);
	}
}

static void truncate_unsynced(const char *path) {
	struct stat info;
	if (lstat(path, &info) != 0)
		return;
	if (S_ISDIR(info.st_mode)) {
		DIR *d = opendir(path);
		for (struct dirent *e; (e = readdir(d));) {
			if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
				continue;
			char inner[2 * PATH_MAX];
			snprintf(inner, sizeof inner, "%s/%s", path, e->d_name);
			truncate_unsynced(inner);
		}
		closedir(d);
		return;
	}
	saved *s = of(info.st_ino, 0);
	int fd = open(path, O_WRONLY | O_TRUNC);
	if (fd < 0 || (s && s->content && write(fd, s->content, s->size) != s->size))
		die(path);
	close(fd);
}

static void lose(void) {
	if (strcmp(loss, "content") == 0)
		truncate_unsynced(dir);
	if (strcmp(loss, "names") == 0) {
		struct stat info;
		char before[2 * PATH_MAX];
		if (stat(dir, &info) != 0)
			die(dir);
		snprintf(before, sizeof before, "%s.before-loss", dir);
		if (rename(dir, before) != 0)
			die(dir);
		lay(dir, of(info.st_ino, 0));
	}
}

static void end(void) {
	int st;
	kill(child, SIGKILL);
	while (waitpid(-1, &st, __WALL) > 0 || errno == EINTR)
		;
	lose();
	fprintf(steps, "killed\n");
	fclose(steps);
	exit(137);
}

static void step(pid_t pid) {
	struct user_regs_struct r;
	if (ptrace(PTRACE_GETREGS, pid, 0, &r) != 0)
		return;
	int i = 0;
	while (i < CALLS && calls[i].nr != (int)r.orig_rax)
		i++;
	if (i == CALLS)
		return;
	if (r.orig_rax == SYS_openat && !(r.rdx & (O_CREAT | O_TRUNC)))
		return;
	if (r.orig_rax == SYS_open && !(r.rsi & (O_CREAT | O_TRUNC)))
		return;
	char path[2 * PATH_MAX] = "", second[2 * PATH_MAX] = "";
	if (calls[i].fd >= 0)
		file_of(pid, (int)arg(&r, calls[i].fd), path);
	else
		path_of(pid, &r, calls[i].path, calls[i].at, path);
	if (calls[i].second >= 0)
		path_of(pid, &r, calls[i].second, calls[i].at, second);
	if (!below(path) && !below(second))
		return;
	const char *name = strrchr(path, '/');
	if (calls[i].fd >= 0 && strcmp(name, "/LOG") == 0) // the engine's messages
		return;
	if (!armed && (strcmp(arm, "-") == 0 || access(arm, F_OK) == 0)) {
		armed = 1;
		if (strcmp(loss, "-") != 0)
			save(dir, 1);
	}
	if (!armed)
		return;
	static long n;
	char number[32], call[4 * PATH_MAX];
	snprintf(number, sizeof number, "%ld", ++n);
	snprintf(call, sizeof call, "%s %s", calls[i].name, strrchr(second[0] ? second : path, '/') + 1);
	fprintf(steps, "%s %s %s %s\n", number, calls[i].name, path, second);
	if (strcmp(at, number) == 0 || strcmp(at, call) == 0) {
		r.orig_rax = -1;
		ptrace(PTRACE_SETREGS, pid, 0, &r);
		end();
	}
	if (strcmp(loss, "-") != 0 && (r.orig_rax == SYS_fsync || r.orig_rax == SYS_fdatasync))
		save(path, 0);
}

static void pass(int sig) { kill(child, sig == SIGUSR1 ? SIGKILL : sig); }

int main(int argc, char **argv) {
	if (argc < 7)
		return 98;
	arm = argv[1], at = argv[2], dir = argv[3], loss = argv[5];
	if (!(steps = fopen(argv[4], "w")))
		die(argv[4]);
	int go[2];
	if (pipe(go) != 0)
		die("pipe");
	if ((child = fork()) == 0) {
		char c;
		close(go[1]);
		if (read(go[0], &c, 1) != 1)
			_exit(97);
		close(go[0]);
		filter();
		execvp(argv[6], argv + 6);
		die(argv[6]);
	}
	struct sigaction a = {.sa_handler = pass};
	sigaction(SIGTERM, &a, NULL);
	sigaction(SIGUSR1, &a, NULL);
	if (ptrace(PTRACE_SEIZE, child, 0, PTRACE_O_TRACESECCOMP | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_EXITKILL) != 0)
		die("ptrace");
	if (write(go[1], "g", 1) != 1)
		die("pipe");
	close(go[0]);
	close(go[1]);
	for (;;) {
		int st;
		pid_t pid = waitpid(-1, &st, __WALL);
		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0)
			return 96;
		if (WIFEXITED(st) || WIFSIGNALED(st)) {
			if (pid != child)
				continue;
			fclose(steps);
			return WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
		}
		int event = st >> 16, sig = 0;
		if (event == PTRACE_EVENT_SECCOMP)
			step(pid);
		else if (event == 0)
			sig = WSTOPSIG(st);
		ptrace(PTRACE_CONT, pid, 0, sig);
	}
}
