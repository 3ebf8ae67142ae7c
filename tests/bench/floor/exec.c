/*
 * exec: the least that any program costs: the kernel starts it, libc sets itself up, it ends.
 */

int main(void)
{
	return 0;
}
