/*
 * processes: the least that a supervisor and its worker cost.
 */

#include "pair.h"

static int work(void)
{
	return EXIT_SUCCESS;
}

int main(void)
{
	return pair(work);
}
