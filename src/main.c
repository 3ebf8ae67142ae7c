/*
 * main.c: ties the two processes together. The supervisor is handed the
 * worker's entry point, so that none of its objects knows Lua.
 */
#include "supervisor/supervisor.h"
#include "worker/worker.h"

int main(int argc, char **argv)
{
	return supervisor_main(argc, argv, worker_main);
}
