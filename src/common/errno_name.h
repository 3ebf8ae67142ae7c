/*
 * errno_name.h: the name of an errno, "ENOENT" and so on: what scripts and envelopes
 * compare, since its number differs between systems.
 */
#ifndef ERRNO_NAME_H
#define ERRNO_NAME_H

/* A static string; NULL where this system's number has no name here. */
const char *errno_name(int number);

#endif
