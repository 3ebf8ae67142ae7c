/*
 * test_codes.c: the registry is what the contract says, row for row. The
 * expected tables are written out by hand on purpose: a number that changes in
 * codes.def must change here too, in the open.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/common/codes.h"

static const struct {
	const char *name;
	int standard;
	int classic;
	const char *retryable;
	const char *side_effects;
} expected_exits[] = {
	{ "SUCCESS", 0, 0, "false", "complete" },
	{ "GENERAL_ERROR", 1, 1, "false", "partial" },
	{ "ARG_ERROR", 2, 2, "false", "none" },
	{ "PARTIAL_FAILURE", 3, 23, "false", "partial" },
	{ "PRECONDITION", 4, 24, "false", "none" },
	{ "NOT_FOUND", 5, 4, "false", "none" },
	{ "CONFLICT", 6, 6, "false", "none" },
	{ "PERMISSION_DENIED", 7, 8, "false", "none" },
	{ "AUTH_REQUIRED", 8, 28, "false", "none" },
	{ "PAYMENT_REQUIRED", 9, 29, "false", "none" },
	{ "TIMEOUT", 10, 7, "true", "none" },
	{ "RATE_LIMITED", 11, 9, "true", "none" },
	{ "UNAVAILABLE", 12, 12, "true", "none" },
	{ "REDIRECTED", 13, 13, "false", "none" },
	{ "INCOMPLETE", 14, 14, "false", "partial" },
	{ "CANCELLED", 130, 130, "false", "partial" },
};

/* retryable, strategy NULL and wait -1: the exit entry's own default. */
static const struct {
	const char *name;
	const char *entry;
	const char *retryable;
	int retry_after_ms;
	const char *strategy;
	bool hint;
} expected_codes[] = {
	{ "GENERAL_ERROR", "GENERAL_ERROR", NULL, -1, NULL, false },
	{ "INTERNAL_ERROR", "GENERAL_ERROR", "maybe", -1, NULL, false },
	{ "COMMAND_CRASHED", "GENERAL_ERROR", "maybe", -1, NULL, false },
	{ "INVALID_RESULT", "GENERAL_ERROR", NULL, -1, NULL, true },
	{ "STREAMING_NOT_SUPPORTED", "ARG_ERROR", NULL, -1, NULL, true },
	{ "UNDECLARED_EXIT_CODE", "GENERAL_ERROR", NULL, -1, NULL, true },
	{ "OUTPUT_TOO_LARGE", "GENERAL_ERROR", NULL, -1, NULL, true },
	{ "OUTPUT_FAILED", "GENERAL_ERROR", NULL, -1, NULL, true },
	{ "JOB_LOST", "GENERAL_ERROR", NULL, -1, NULL, true },
	{ "SUBPROCESS_FAILED", "GENERAL_ERROR", NULL, -1, NULL, false },
	{ "SCHEMA_NOT_MET", "GENERAL_ERROR", "false", -1, NULL, true },
	{ "DELEGATED_EXIT", "GENERAL_ERROR", "false", -1, NULL, false },
	{ "TESTS_FAILED", "GENERAL_ERROR", "false", -1, NULL, true },
	{ "MCP_DRIFT", "GENERAL_ERROR", "false", -1, NULL, true },
	{ "CALLS_FAILED", "GENERAL_ERROR", "false", -1, NULL, true },
	{ "SHELL_STRING_PROHIBITED", "GENERAL_ERROR", "false", -1, NULL, true },
	{ "MEMORY_LIMIT", "GENERAL_ERROR", NULL, -1, NULL, true },
	{ "CPU_LIMIT", "GENERAL_ERROR", NULL, -1, NULL, true },
	{ "WARNINGS_AS_ERRORS", "GENERAL_ERROR", NULL, -1, NULL, true },
	{ "ARG_ERROR", "ARG_ERROR", NULL, -1, NULL, true },
	{ "VALIDATION_ERROR", "ARG_ERROR", NULL, -1, NULL, true },
	{ "INVALID_ARGUMENT", "ARG_ERROR", NULL, -1, NULL, true },
	{ "INVALID_CURSOR", "ARG_ERROR", NULL, -1, NULL, true },
	{ "INVALID_AGENT_INPUT", "ARG_ERROR", NULL, -1, NULL, true },
	{ "INVALID_JSON", "ARG_ERROR", NULL, -1, NULL, true },
	{ "DISPATCH_PARSE_ERROR", "ARG_ERROR", NULL, -1, NULL, true },
	{ "FIELD_TOO_LARGE", "ARG_ERROR", NULL, -1, NULL, true },
	{ "STDIN_TOO_LARGE", "ARG_ERROR", NULL, -1, NULL, true },
	{ "EMPTY_STDIN", "ARG_ERROR", NULL, -1, NULL, true },
	{ "MISSING_ARGUMENT", "ARG_ERROR", NULL, -1, NULL, true },
	{ "UNKNOWN_FLAG", "ARG_ERROR", NULL, -1, NULL, true },
	{ "SECRET_ON_COMMAND_LINE", "ARG_ERROR", NULL, -1, NULL, true },
	{ "CONFLICTING_VALUES", "ARG_ERROR", NULL, -1, NULL, true },
	{ "CONFIRMATION_REQUIRED", "ARG_ERROR", NULL, -1, NULL, true },
	{ "COMMAND_NOT_FOUND", "ARG_ERROR", NULL, -1, NULL, true },
	{ "PARTIAL_FAILURE", "PARTIAL_FAILURE", NULL, -1, NULL, false },
	{ "PRECONDITION", "PRECONDITION", NULL, -1, NULL, false },
	{ "COMMAND_INVALID", "PRECONDITION", NULL, -1, NULL, true },
	{ "LIBRARY_CHANGED", "PRECONDITION", NULL, -1, NULL, true },
	{ "LIBRARY_REFUSED", "PRECONDITION", NULL, -1, NULL, true },
	{ "INPUT_REQUIRED", "PRECONDITION", NULL, -1, NULL, true },
	{ "EDITOR_REQUIRED", "PRECONDITION", NULL, -1, NULL, true },
	{ "NO_TTY", "PRECONDITION", NULL, -1, NULL, true },
	{ "PERSON_REQUIRED", "PRECONDITION", NULL, -1, NULL, true },
	{ "ATTESTATION_MISMATCH", "PRECONDITION", NULL, -1, NULL, true },
	{ "STDIN_REQUIRED", "PRECONDITION", NULL, -1, NULL, true },
	{ "BUNDLE_DAMAGED", "PRECONDITION", NULL, -1, NULL, true },
	{ "POLICY_INVALID", "PRECONDITION", NULL, -1, NULL, true },
	{ "CONFINEMENT_UNAVAILABLE", "PRECONDITION", NULL, -1, NULL, true },
	{ "AUDIT_UNAVAILABLE", "PRECONDITION", NULL, -1, NULL, true },
	{ "AUDIT_DISABLED", "PRECONDITION", NULL, -1, NULL, true },
	{ "AUDIT_DAMAGED", "PRECONDITION", NULL, -1, NULL, true },
	{ "CONFORMANCE_FAILED", "PRECONDITION", NULL, -1, NULL, true },
	{ "DOCTOR_CHECKS_FAILED", "PRECONDITION", NULL, -1, NULL, true },
	{ "JOB_FAILED", "PRECONDITION", NULL, -1, NULL, true },
	{ "LOCK_HELD", "PRECONDITION", "true", 1000, "linear_backoff", false },
	{ "NOT_FOUND", "NOT_FOUND", NULL, -1, NULL, false },
	{ "CONFLICT", "CONFLICT", NULL, -1, NULL, false },
	{ "IN_DOUBT", "CONFLICT", NULL, -1, NULL, true },
	{ "ALREADY_EXISTS", "CONFLICT", NULL, -1, NULL, false },
	{ "PERMISSION_DENIED", "PERMISSION_DENIED", NULL, -1, NULL, false },
	{ "POLICY_DENIED", "PERMISSION_DENIED", NULL, -1, NULL, true },
	{ "APPROVAL_REJECTED", "PERMISSION_DENIED", "false", -1, NULL, true },
	{ "AUTH_REQUIRED", "AUTH_REQUIRED", NULL, -1, NULL, true },
	{ "TOKEN_EXPIRED", "AUTH_REQUIRED", NULL, -1, NULL, true },
	{ "TOKEN_INVALID", "AUTH_REQUIRED", NULL, -1, NULL, true },
	{ "TOKEN_MISSING", "AUTH_REQUIRED", NULL, -1, NULL, true },
	{ "PAYMENT_REQUIRED", "PAYMENT_REQUIRED", NULL, -1, NULL, false },
	{ "TIMEOUT", "TIMEOUT", NULL, 0, "immediate", false },
	{ "OPERATION_TIMEOUT", "TIMEOUT", NULL, 0, "immediate", false },
	{ "STALLED", "TIMEOUT", NULL, 0, "immediate", false },
	{ "RATE_LIMITED", "RATE_LIMITED", NULL, 60000, "exponential_backoff", false },
	{ "RATE_LIMIT_EXCEEDED", "RATE_LIMITED", NULL, 30000, "exponential_backoff", false },
	{ "UNAVAILABLE", "UNAVAILABLE", NULL, 1000, "exponential_backoff", false },
	{ "SERVICE_UNAVAILABLE", "UNAVAILABLE", NULL, 5000, "exponential_backoff", false },
	{ "NETWORK_ERROR", "UNAVAILABLE", NULL, 1000, "exponential_backoff", false },
	{ "RESOURCE_EXHAUSTED", "UNAVAILABLE", NULL, 1000, "exponential_backoff", false },
	{ "REDIRECTED", "REDIRECTED", NULL, -1, NULL, false },
	{ "INCOMPLETE", "INCOMPLETE", NULL, -1, NULL, false },
	{ "APPROVAL_PENDING", "INCOMPLETE", "false", -1, NULL, true },
	{ "CANCELLED", "CANCELLED", NULL, -1, NULL, false },
};

static void assert_same_name(const char *actual, const char *expected)
{
	if (expected == NULL)
		assert_null(actual);
	else {
		assert_non_null(actual);
		assert_string_equal(actual, expected);
	}
}

static void every_exit_entry_is_as_the_contract_says_in_both_columns(void **state UNUSED)
{
	assert_int_equal(EXIT_ENTRY_COUNT, ARRAY_LEN(expected_exits));
	for (size_t i = 0; i < ARRAY_LEN(expected_exits); i++) {
		const struct exit_row *row = exit_row((enum exit_entry)i);
		assert_string_equal(row->name, expected_exits[i].name);
		assert_int_equal(row->number[EXIT_TABLE_STANDARD], expected_exits[i].standard);
		assert_int_equal(row->number[EXIT_TABLE_CLASSIC], expected_exits[i].classic);
		assert_string_equal(name_of(NAMES_RETRYABLE, row->retryable), expected_exits[i].retryable);
		assert_string_equal(name_of(NAMES_SIDE_EFFECTS, row->side_effects), expected_exits[i].side_effects);
		assert_true(strlen(row->description) > 0);
	}
}

static void every_error_code_is_as_the_contract_says(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_LEN(expected_codes); i++) {
		const struct code_row *row = code_find(expected_codes[i].name);
		if (row == NULL)
			fail_msg("the registry has no %s", expected_codes[i].name);
		assert_string_equal(row->name, expected_codes[i].name);
		assert_string_equal(exit_row(row->entry)->name, expected_codes[i].entry);
		assert_same_name(name_of(NAMES_RETRYABLE, row->retryable), expected_codes[i].retryable);
		assert_int_equal(row->retry_after_ms, expected_codes[i].retry_after_ms);
		assert_same_name(name_of(NAMES_RETRY_STRATEGY, row->strategy), expected_codes[i].strategy);
		assert_int_equal(row->hint != NULL, expected_codes[i].hint);
	}
}

static void code_at_walks_exactly_the_expected_codes(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_LEN(expected_codes); i++) {
		assert_non_null(code_at(i));
		assert_ptr_equal(code_at(i), code_find(code_at(i)->name));
	}
	assert_null(code_at(ARRAY_LEN(expected_codes)));
	assert_null(code_at(SIZE_MAX));
}

static void numbers_are_unique_and_reserved_within_each_column(void **state UNUSED)
{
	for (int table = EXIT_TABLE_STANDARD; table <= EXIT_TABLE_CLASSIC; table++) {
		bool seen[256] = { false };
		for (int i = 0; i < EXIT_ENTRY_COUNT; i++) {
			int number = exit_row((enum exit_entry)i)->number[table];
			assert_false(seen[number]);
			assert_false(number >= 79 && number <= 125);
			seen[number] = true;
		}
	}
}

static void names_are_unique_and_well_formed(void **state UNUSED)
{
	for (size_t i = 0; code_at(i) != NULL; i++) {
		assert_true(code_well_formed(code_at(i)->name, strlen(code_at(i)->name)));
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(code_at(i)->name, code_at(k)->name);
	}
}

static void every_failing_entry_is_itself_an_error_code(void **state UNUSED)
{
	for (int i = EXIT_ENTRY_SUCCESS + 1; i < EXIT_ENTRY_COUNT; i++) {
		const struct code_row *row = code_find(exit_row((enum exit_entry)i)->name);
		assert_non_null(row);
		assert_int_equal(row->entry, i);
	}
	assert_null(code_find("SUCCESS"));
}

static void whatever_is_retryable_says_when_and_how(void **state UNUSED)
{
	for (size_t i = 0; code_at(i) != NULL; i++) {
		const struct code_row *row = code_at(i);
		enum retryable r = row->retryable;
		if (r == RETRYABLE_INHERIT)
			r = exit_row(row->entry)->retryable;
		assert_int_equal(r == RETRYABLE_TRUE, row->retry_after_ms >= 0);
		assert_int_equal(r == RETRYABLE_TRUE, row->strategy != RETRY_STRATEGY_NONE);
		if (row->entry == EXIT_ENTRY_RATE_LIMITED)
			assert_true(row->retry_after_ms > 0);
	}
}

static void unknown_names_are_not_found(void **state UNUSED)
{
	static const char *const names[] = { "", "timeout", "TIMEOUT ", "TIMEOU", "NOPE" };
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_null(code_find(names[i]));
}

static bool well_formed(const char *name)
{
	return code_well_formed(name, strlen(name));
}

static void error_codes_are_upper_case_words_of_2_to_64_bytes(void **state UNUSED)
{
	char longest[66];
	memset(longest, 'A', sizeof(longest));
	assert_true(code_well_formed(longest, 64));
	assert_false(code_well_formed(longest, 65));
	assert_true(well_formed("AB"));
	assert_true(well_formed("A_"));
	assert_true(well_formed("HTTP_404"));
	assert_false(well_formed(""));
	assert_false(well_formed("A"));
	assert_false(well_formed("_AB"));
	assert_false(well_formed("4XX"));
	assert_false(well_formed("Ab"));
	assert_false(well_formed("A-B"));
	assert_false(well_formed("A\n"));
	assert_false(code_well_formed("A\0B", 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_exit_entry_is_as_the_contract_says_in_both_columns),
		cmocka_unit_test(every_error_code_is_as_the_contract_says),
		cmocka_unit_test(code_at_walks_exactly_the_expected_codes),
		cmocka_unit_test(numbers_are_unique_and_reserved_within_each_column),
		cmocka_unit_test(names_are_unique_and_well_formed),
		cmocka_unit_test(every_failing_entry_is_itself_an_error_code),
		cmocka_unit_test(whatever_is_retryable_says_when_and_how),
		cmocka_unit_test(unknown_names_are_not_found),
		cmocka_unit_test(error_codes_are_upper_case_words_of_2_to_64_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
