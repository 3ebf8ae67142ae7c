#!/usr/bin/env bats
# Files that are hard to remove: hostile_files.py is the table.

export PROGRAM=hostile_files.py
load rows

@test "a temporary directory of 100,000 files holds the answer to a limit for less than 0.5 s" {
	row
}

@test "fs.remove_tree of 300,000 files heeds a limit within 0.5 s" {
	row
}

@test "a deploy that prunes a release of 100,000 files heeds a limit within 0.5 s, and the next one prunes it" {
	row
}

@test "a FUSE file system that never answers, in a run's directory, holds nobody up and stays" {
	row
}

@test "a FUSE file system that never answers, in an old release, stops neither deploys nor a rollback" {
	row
}

@test "after a deploy that failed at any of its calls, three deploys and a rollback succeed" {
	row
}

@test "every row of the table has its test here" {
	every_row_has_its_test
}
