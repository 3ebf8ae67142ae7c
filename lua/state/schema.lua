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
	-- Fewer pages for each step: attempts are in the index that finds them, and no index has
	-- the state of every step. A log where it belongs is '' (runner.core.paths). A run that 0.1
	-- is executing meanwhile sorts its attempts by rowid.
	[[
	DROP INDEX IF EXISTS steps_by_state;
	ALTER TABLE attempts RENAME TO attempts_by_rowid;
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
		rowid INTEGER GENERATED ALWAYS AS (number) VIRTUAL,
		PRIMARY KEY (run, key, number),
		FOREIGN KEY (run, key) REFERENCES steps (run, key) ON DELETE CASCADE
	) WITHOUT ROWID;
	INSERT INTO attempts SELECT run, key, number, round, nth, started_ms, ended_ms, status, signal, code, delay_ms, log,
		message FROM attempts_by_rowid;
	DROP TABLE attempts_by_rowid;
	]],
	-- What attempts of claude steps used. A table of their own: other attempts have nothing
	-- to say here. An attempt has cost its reservation until its cost is known.
	[[
	CREATE TABLE usage (
		run TEXT NOT NULL,
		key TEXT NOT NULL,
		number INTEGER NOT NULL,
		session_id TEXT,
		model TEXT,
		turns INTEGER,
		input_tokens INTEGER,
		output_tokens INTEGER,
		cache_read_tokens INTEGER,
		cache_write_tokens INTEGER,
		reserved_micros INTEGER,
		cost_micros INTEGER,
		PRIMARY KEY (run, key, number),
		FOREIGN KEY (run, key, number) REFERENCES attempts (run, key, number) ON DELETE CASCADE
	) WITHOUT ROWID;
	]],
	-- The budget of a run: what is in force, and what --max-cost set.
	[[
	ALTER TABLE runs ADD COLUMN max_cost_micros INTEGER;
	ALTER TABLE runs ADD COLUMN given_cost_micros INTEGER;
	]],
	-- What is not in the row of a step, as JSON: { output: V, data: V }, where V is { file,
	-- bytes } or, of an output that was cut, { cut, bytes }.
	[[
	ALTER TABLE steps ADD COLUMN held TEXT;
	]],
	-- Of the wait after an attempt: until a usage limit resets, which counts as no retry.
	[[
	ALTER TABLE attempts ADD COLUMN limit_ms INTEGER;
	]],
	-- Calls with an idempotency key: who runs one, or what it returned.
	[[
	CREATE TABLE keys (
		user INTEGER NOT NULL,
		project TEXT NOT NULL,
		command TEXT NOT NULL,
		key TEXT NOT NULL,
		state TEXT NOT NULL CHECK (state IN ('running', 'free', 'done')),
		created_ms INTEGER NOT NULL,
		owner TEXT NOT NULL,
		request_id TEXT NOT NULL,
		arguments TEXT NOT NULL,
		data TEXT,
		PRIMARY KEY (user, project, command, key)
	);
	]],
	-- Runs that are removed, and whose files may still be there: the next prune finishes that.
	[[
	CREATE TABLE removed (run TEXT NOT NULL PRIMARY KEY) WITHOUT ROWID;
	]],
	-- Which runner made or migrated the database, for the error of an older one that can't read it.
	[[
	CREATE TABLE about (
		schema INTEGER PRIMARY KEY,
		runner TEXT NOT NULL,
		since_ms INTEGER NOT NULL
	);
	]],
	-- The executor that --on named, for a resume.
	[[
	ALTER TABLE runs ADD COLUMN given_on TEXT;
	]],
	-- Steps that run on an executor: a unit for each, its submissions (placements), and the
	-- consecutive parts of its items (chunks), which are all that is written for each item here.
	[[
	CREATE TABLE units (
		run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
		key TEXT NOT NULL,
		number INTEGER NOT NULL,
		executor TEXT NOT NULL,
		kind TEXT NOT NULL,
		per_chunk INTEGER NOT NULL,
		directory TEXT,
		settings TEXT,
		PRIMARY KEY (run, key)
	) WITHOUT ROWID;
	CREATE TABLE placements (
		token TEXT NOT NULL PRIMARY KEY,
		run TEXT NOT NULL,
		key TEXT NOT NULL,
		number INTEGER NOT NULL,
		tasks INTEGER NOT NULL,
		memory INTEGER NOT NULL,
		state TEXT NOT NULL CHECK (state IN ('submitting', 'submitted', 'over')),
		job TEXT,
		why TEXT,
		submitted_ms INTEGER NOT NULL,
		ended_ms INTEGER,
		FOREIGN KEY (run, key) REFERENCES units (run, key) ON DELETE CASCADE
	) WITHOUT ROWID;
	CREATE INDEX placements_by_unit ON placements (run, key, number);
	CREATE TABLE chunks (
		run TEXT NOT NULL,
		key TEXT NOT NULL,
		chunk INTEGER NOT NULL,
		first INTEGER NOT NULL,
		count INTEGER NOT NULL,
		state TEXT NOT NULL CHECK (state IN ('planned', 'placed', 'running', 'completed', 'failed', 'doubt')),
		generation INTEGER NOT NULL DEFAULT 0,
		token TEXT,
		task INTEGER,
		memory INTEGER NOT NULL DEFAULT 1,
		failures INTEGER NOT NULL DEFAULT 0,
		again INTEGER NOT NULL DEFAULT 0,
		due_ms INTEGER,
		queued_ms INTEGER,
		started_ms INTEGER,
		ended_ms INTEGER,
		why TEXT,
		PRIMARY KEY (run, key, chunk),
		FOREIGN KEY (run, key) REFERENCES units (run, key) ON DELETE CASCADE
	) WITHOUT ROWID;
	ALTER TABLE removed ADD COLUMN folders TEXT;
	]],
	-- How far the journal of each chunk of a placed step has been imported.
	[[
	CREATE TABLE imports (
		run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
		key TEXT NOT NULL,
		chunk INTEGER NOT NULL,
		bytes INTEGER NOT NULL,
		generation INTEGER NOT NULL,
		PRIMARY KEY (run, key, chunk)
	) WITHOUT ROWID;
	]],
	-- The context that a run was started in, with its file of settings: a resume goes on in it.
	[[
	ALTER TABLE runs ADD COLUMN context TEXT;
	]],
	-- What a run read of the environment that it began in (runner.workflow.run.environment).
	[[
	ALTER TABLE runs ADD COLUMN surroundings TEXT;
	]],
	-- What the tokens of a model cost at most, in micro-dollars, as the results of a run showed it: what an
	-- attempt is charged by that was cut off before it said what it cost.
	[[
	CREATE TABLE prices (
		run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
		model TEXT NOT NULL,
		input REAL NOT NULL,
		output REAL NOT NULL,
		cache_read REAL NOT NULL,
		cache_write REAL NOT NULL,
		turn REAL NOT NULL,
		PRIMARY KEY (run, model)
	) WITHOUT ROWID;
	]],
	-- What the answers about a run warn of: of a step that is over, all the same.
	[[
	CREATE TABLE warnings (
		run TEXT NOT NULL,
		key TEXT NOT NULL,
		code TEXT NOT NULL,
		message TEXT NOT NULL,
		context TEXT,
		PRIMARY KEY (run, key),
		FOREIGN KEY (run, key) REFERENCES steps (run, key) ON DELETE CASCADE
	) WITHOUT ROWID;
	]],
	-- The project of the call that started a run (runner.core.scope); '': it had none. Of runs from before it is unknown.
	[[
	ALTER TABLE runs ADD COLUMN project TEXT;
	CREATE INDEX runs_by_project ON runs (project, created_ms);
	]],
	-- May `workflow recover` resume the run? Its file says so, and what ended it last doesn't forbid it.
	[[
	ALTER TABLE runs ADD COLUMN recover INTEGER;
	]],
	-- What waits for a person, and what became of it; and who has started a run (runner.core.person).
	[[
	CREATE TABLE approvals (
		id TEXT NOT NULL PRIMARY KEY,
		kind TEXT NOT NULL,
		project TEXT NOT NULL,
		run TEXT REFERENCES runs (id) ON DELETE CASCADE,
		key TEXT,
		round INTEGER,
		file TEXT,
		digest TEXT NOT NULL,
		state TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'rejected', 'replaced')),
		asked_ms INTEGER NOT NULL,
		deadline_ms INTEGER,
		fallback TEXT NOT NULL,
		notified INTEGER NOT NULL DEFAULT 0,
		decided_ms INTEGER,
		decided_by TEXT,
		why TEXT,
		asker TEXT NOT NULL,
		message TEXT NOT NULL,
		shown TEXT
	);
	CREATE INDEX approvals_by_run ON approvals (run, key);
	ALTER TABLE runs ADD COLUMN askers TEXT;
	]],
	-- Of runs with the same key one runs at a time; which one is next (runner.workflow.run.concurrency).
	[[
	ALTER TABLE runs ADD COLUMN concurrency TEXT;
	ALTER TABLE runs ADD COLUMN turn INTEGER;
	CREATE INDEX runs_by_concurrency ON runs (concurrency, turn) WHERE concurrency IS NOT NULL;
	]],
	-- Of a step inside a loop: its item, as people read it.
	[[
	ALTER TABLE steps ADD COLUMN item TEXT;
	]],
	-- Calls that wait for a person, in the table of approvals: whose, what is called, who runs it, and what came of it.
	[[
	ALTER TABLE approvals ADD COLUMN subject TEXT;
	ALTER TABLE approvals ADD COLUMN told INTEGER NOT NULL DEFAULT 0;
	ALTER TABLE approvals ADD COLUMN owner TEXT;
	ALTER TABLE approvals ADD COLUMN call TEXT;
	ALTER TABLE approvals ADD COLUMN outcome TEXT;
	CREATE INDEX approvals_by_key ON approvals (key) WHERE kind = 'call';
	]],
	-- Whose a run is: the subject of the policies of the call that started it; and who has started and resumed it.
	[[
	ALTER TABLE runs ADD COLUMN subject TEXT;
	ALTER TABLE runs ADD COLUMN actors TEXT;
	]],
}

M.VERSION = #M.MIGRATIONS

return M
