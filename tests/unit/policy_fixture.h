/*
 * policy_fixture.h: a policy whose delays can be told without a table.
 */
#ifndef RUNNER_TEST_POLICY_FIXTURE_H
#define RUNNER_TEST_POLICY_FIXTURE_H

#include "../../src/engine/policy.h"

/* 100 ms, no jitter, no cap. */
static inline struct policy plain(enum backoff backoff)
{
	struct policy p = POLICY_DEFAULT;

	p.backoff = backoff;
	p.jitter = JITTER_NONE;
	p.delay_ms = 100;
	p.max_delay_ms = 0;
	return p;
}

#endif
