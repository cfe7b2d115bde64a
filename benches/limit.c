/*
 * The limit: what a hook cannot do without. It reads stdin to the end, takes the lock and replaces
 * files with fixed bytes. It parses nothing, decides nothing and reports nothing.
 *
 *   limit DIR FILES BYTES [SYNCED [exchange]]
 *
 * SYNCED of the files get an fdatasync before they take their name (0 if absent). A file takes its
 * name by rename; with `exchange` by swapping the two names and removing the old file, which some
 * file systems do faster.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE 2
#endif

static const char new[] = ".new";

static void must(int worked, const char *what)
{
	if (!worked) {
		perror(what);
		exit(1);
	}
}

static void take_name(int dir, const char *name, int exchange)
{
	/* The first time there is nothing to exchange with. */
	if (exchange && renameat2(dir, new, dir, name, RENAME_EXCHANGE) == 0)
		must(unlinkat(dir, new, 0) == 0, "unlink");
	else
		must(renameat(dir, new, dir, name) == 0, "rename");
}

static void replace(int dir, const char *name, const char *bytes, size_t size, int sync,
		    int exchange)
{
	int file = openat(dir, new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	must(file >= 0, "create");
	must(write(file, bytes, size) == (ssize_t)size, "write");
	if (sync)
		must(fdatasync(file) == 0, "fdatasync");
	must(close(file) == 0, "close");
	take_name(dir, name, exchange);
}

int main(int argc, char **argv)
{
	static char payload[8192];
	ssize_t got;

	if (argc < 4) {
		fputs("usage: limit DIR FILES BYTES [SYNCED [exchange]]\n", stderr);
		return 1;
	}
	int files = atoi(argv[2]);
	size_t size = (size_t)atol(argv[3]);
	int synced = argc > 4 ? atoi(argv[4]) : 0;
	int exchange = argc > 5 && strcmp(argv[5], "exchange") == 0;

	while ((got = read(0, payload, sizeof payload)) > 0)
		;
	must(got == 0, "read");

	int dir = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(dir >= 0, "open the directory");
	int lock = openat(dir, ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	must(lock >= 0, "open the lock");
	must(flock(lock, LOCK_EX) == 0, "lock");

	char *bytes = malloc(size + 1);
	must(bytes != NULL, "allocate");
	memset(bytes, 'x', size);
	for (int n = 0; n < files; n++) {
		char name[16];

		snprintf(name, sizeof name, "%d", n);
		replace(dir, name, bytes, size, n < synced, exchange);
	}
	return 0;
}
