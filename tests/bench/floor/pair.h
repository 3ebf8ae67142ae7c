/*
 * pair: two processes with a socket pair: the child works, answers with one byte and ends; the parent waits for both.
 */

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* The exit status of the child, which has what `work` returns. */
static int pair(int (*work)(void))
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return EXIT_FAILURE;
	pid_t child = fork();
	if (child < 0)
		return EXIT_FAILURE;
	char byte = 0;
	if (child == 0) {
		int status = work();
		_exit(write(ends[1], &byte, 1) == 1 ? status : EXIT_FAILURE);
	}
	close(ends[1]);
	int status = 0;
	if (read(ends[0], &byte, 1) != 1 || waitpid(child, &status, 0) != child)
		return EXIT_FAILURE;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}
