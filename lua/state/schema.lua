-- schema: the tables of the run database, as a list of migrations: the schema
-- version (PRAGMA user_version) is the number applied. A released migration never
-- changes; new ones are appended.

local M = {}

---PRAGMA application_id: says whose file this is.
M.APPLICATION = 0x72756E72 -- "runr"

-- Large columns come last, since a row is read from its start. The text of a workflow
-- file is stored once for all its runs, and not in their rows, which every transition
-- rewrites.
M.MIGRATIONS = {
	[[
	CREATE TABLE sources (
		id INTEGER PRIMARY KEY,
		digest TEXT NOT NULL,
		source TEXT NOT NULL
	);
	CREATE INDEX sources_by_digest ON sources (digest);

	CREATE TABLE runs (
		id TEXT NOT NULL PRIMARY KEY,
		workflow TEXT NOT NULL,
		state TEXT NOT NULL CHECK (state IN ('running', 'completed', 'failed', 'interrupted', 'cancelled')),
		file TEXT,
		digest TEXT,
		source_id INTEGER REFERENCES sources (id),
		cwd TEXT,
		seed,
		retryable INTEGER,
		code TEXT,
		failed_step TEXT,
		request_id TEXT,
		owner INTEGER,
		resumes INTEGER NOT NULL DEFAULT 0,
		created_ms INTEGER NOT NULL,
		updated_ms INTEGER NOT NULL,
		ended_ms INTEGER,
		message TEXT,
		env_names TEXT,
		variables TEXT
	);
	CREATE INDEX runs_by_time ON runs (created_ms);
	CREATE INDEX runs_by_state ON runs (state, created_ms);
	CREATE INDEX runs_by_workflow ON runs (workflow, created_ms);
	CREATE INDEX runs_by_source ON runs (source_id);

	CREATE TABLE steps (
		run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
		key TEXT NOT NULL,
		position INTEGER NOT NULL,
		state TEXT NOT NULL
			CHECK (state IN ('running', 'waiting', 'completed', 'skipped', 'failed', 'interrupted')),
		id TEXT,
		kind TEXT,
		round INTEGER NOT NULL DEFAULT 1,
		attempts INTEGER NOT NULL DEFAULT 0,
		spent_ms INTEGER NOT NULL DEFAULT 0,
		wake_ms INTEGER,
		wait_ms INTEGER,
		status INTEGER,
		code TEXT,
		started_ms INTEGER,
		ended_ms INTEGER,
		label TEXT,
		message TEXT,
		data TEXT,
		output TEXT,
		PRIMARY KEY (run, key)
	);
	CREATE UNIQUE INDEX steps_by_position ON steps (run, position);
	CREATE INDEX steps_by_state ON steps (run, state);

	CREATE TABLE attempts (
		run TEXT NOT NULL,
		key TEXT NOT NULL,
		number INTEGER NOT NULL,
		round INTEGER NOT NULL,
		nth INTEGER NOT NULL,
		started_ms INTEGER NOT NULL,
		ended_ms INTEGER,
		status INTEGER,
		signal,
		code TEXT,
		delay_ms INTEGER,
		log TEXT,
		message TEXT,
		PRIMARY KEY (run, key, number),
		FOREIGN KEY (run, key) REFERENCES steps (run, key) ON DELETE CASCADE
	);
	]],
	-- Do shell steps stop at the first failing command where the file doesn't say? Runs of
	-- 0.1 went on, so that is the default: for rows that exist, and for those that a process
	-- of 0.1 adds to a database that we have just migrated.
	[[
	ALTER TABLE runs ADD COLUMN errexit INTEGER NOT NULL DEFAULT 0;
	]],
}

M.VERSION = #M.MIGRATIONS

return M
