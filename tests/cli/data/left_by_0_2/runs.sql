-- The run database of runner 0.2.0
BEGIN TRANSACTION;
CREATE TABLE about (
		schema INTEGER PRIMARY KEY,
		runner TEXT NOT NULL,
		since_ms INTEGER NOT NULL
	);
INSERT INTO "about" VALUES(22,'0.2.0',1795953154301);
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
INSERT INTO "approvals" VALUES('apr_9068d9b939fdb','step','/home/ada/shop','run_01M8KJCP9V6YXDSY8P5E59PHDW','ok',1,'93aa166cd39a0b4eaf2b1e30d88dff1a1b5875181152755b02cdbac3802cfb00','97a180e8924694c5109c9df18c4fac3bfac0430eba6b10654cd0e64303cf9276','pending',1795953154375,NULL,'reject',0,NULL,NULL,NULL,'{"boot":"6d1f0c7e-52a4-4b7e-9a3c-0d5b8c1e2f40","booted_ms":1795804499130,"cgroup":"9:name=systemd:/\n8:pids:/\n7:blkio:/\n6:freezer:/\n5:devices:/\n4:memory:/user.slice\n3:cpuset:/\n2:cpuacct:/\n1:cpu:/\n0::/\n","namespaces":{"cgroup":"cgroup:[4026531835]","mnt":"mnt:[4026532177]","pid":"pid:[4026532178]","time":"time:[4026531834]","user":"user:[4026531837]"},"policies":{},"processes":{"54:6225523":true},"started":6225523,"uid":0}','Go on?',NULL);
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
		rowid INTEGER GENERATED ALWAYS AS (number) VIRTUAL, limit_ms INTEGER,
		PRIMARY KEY (run, key, number),
		FOREIGN KEY (run, key) REFERENCES steps (run, key) ON DELETE CASCADE
	) WITHOUT ROWID;
INSERT INTO "attempts" VALUES('run_01M8KJCP7JT7BZQQW4959SDS6N','gate',1,1,1,1795953154311,1795953154314,1,NULL,'SUBPROCESS_FAILED',NULL,'','Shell command exited with status 1',NULL);
INSERT INTO "attempts" VALUES('run_01M8KJCP7JT7BZQQW4959SDS6N','greet',1,1,1,1795953154306,1795953154311,0,NULL,NULL,NULL,'@0',NULL,NULL);
INSERT INTO "attempts" VALUES('run_01M8KJCP8HY1XMHEDDWVEEYEW0','4',1,1,1,1795953154348,1795953154350,0,NULL,NULL,NULL,'@2233',NULL,NULL);
INSERT INTO "attempts" VALUES('run_01M8KJCP8HY1XMHEDDWVEEYEW0','all[1].one',1,1,1,1795953154340,1795953154343,0,NULL,NULL,NULL,'@1231',NULL,NULL);
INSERT INTO "attempts" VALUES('run_01M8KJCP8HY1XMHEDDWVEEYEW0','all[2].one',1,1,1,1795953154343,1795953154346,0,NULL,NULL,NULL,'@1565',NULL,NULL);
INSERT INTO "attempts" VALUES('run_01M8KJCP8HY1XMHEDDWVEEYEW0','all[3].one',1,1,1,1795953154346,1795953154348,0,NULL,NULL,NULL,'@1899',NULL,NULL);
INSERT INTO "attempts" VALUES('run_01M8KJCP8HY1XMHEDDWVEEYEW0','gate',1,1,1,1795953154337,1795953154340,0,NULL,NULL,NULL,'@920',NULL,NULL);
INSERT INTO "attempts" VALUES('run_01M8KJCP8HY1XMHEDDWVEEYEW0','greet',1,1,1,1795953154330,1795953154337,0,NULL,NULL,NULL,'@0',NULL,NULL);
INSERT INTO "attempts" VALUES('run_01M8KJCP9V6YXDSY8P5E59PHDW','before',1,1,1,1795953154372,1795953154374,0,NULL,NULL,NULL,'@0',NULL,NULL);
INSERT INTO "attempts" VALUES('run_01M8KJCPAN52AG6M4RNMCD2CKK','first',1,1,1,1795953154418,1795953154432,0,NULL,NULL,NULL,'@0',NULL,NULL);
INSERT INTO "attempts" VALUES('run_01M8KJCPAN52AG6M4RNMCD2CKK','second',1,1,1,1795953154432,NULL,NULL,NULL,NULL,NULL,'',NULL,NULL);
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
CREATE TABLE imports (
		run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
		key TEXT NOT NULL,
		chunk INTEGER NOT NULL,
		bytes INTEGER NOT NULL,
		generation INTEGER NOT NULL,
		PRIMARY KEY (run, key, chunk)
	) WITHOUT ROWID;
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
INSERT INTO "keys" VALUES(0,'/home/ada/shop','mark','once','done',1795953155000,'78 6225640 6d1f0c7e-52a4-4b7e-9a3c-0d5b8c1e2f40 pid:[4026532178]','req_01M8KJCQEFAHGE8CW983CV1DPF','{}','{"marked":true}');
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
CREATE TABLE removed (run TEXT NOT NULL PRIMARY KEY, folders TEXT) WITHOUT ROWID;
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
	, errexit INTEGER NOT NULL DEFAULT 0, max_cost_micros INTEGER, given_cost_micros INTEGER, given_on TEXT, context TEXT, surroundings TEXT, project TEXT, recover INTEGER, askers TEXT, concurrency TEXT, turn INTEGER);
INSERT INTO "runs" VALUES('run_01M8KJCP7JT7BZQQW4959SDS6N','flow','failed','/home/ada/shop/flow.yaml','bf72e55d6816840f',1,'/home/ada/shop',8204764440286809276,0,'SUBPROCESS_FAILED','gate','req_01M8KJCP7JT7BZQQW4959SDS6N',26,0,1795953154303,1795953154314,1795953154314,'Shell command exited with status 1','[]','{"who":"ada"}',1,NULL,NULL,NULL,NULL,NULL,'/home/ada/shop',NULL,'{"boot":"6d1f0c7e-52a4-4b7e-9a3c-0d5b8c1e2f40","booted_ms":1795804499130,"cgroup":"9:name=systemd:/\n8:pids:/\n7:blkio:/\n6:freezer:/\n5:devices:/\n4:memory:/user.slice\n3:cpuset:/\n2:cpuacct:/\n1:cpu:/\n0::/\n","namespaces":{"cgroup":"cgroup:[4026531835]","mnt":"mnt:[4026532177]","pid":"pid:[4026532178]","time":"time:[4026531834]","user":"user:[4026531837]"},"policies":{},"processes":{"26:6225515":true},"started":6225515,"uid":0}',NULL,NULL);
INSERT INTO "runs" VALUES('run_01M8KJCP8HY1XMHEDDWVEEYEW0','flow','completed','/home/ada/shop/flow.yaml','bf72e55d6816840f',1,'/home/ada/shop',4757470267110569779,NULL,NULL,NULL,'req_01M8KJCP8HY1XMHEDDWVEEYEW0',36,0,1795953154327,1795953154350,1795953154350,NULL,'[]','{"who":"ada"}',1,NULL,NULL,NULL,NULL,NULL,'/home/ada/shop',NULL,'{"boot":"6d1f0c7e-52a4-4b7e-9a3c-0d5b8c1e2f40","booted_ms":1795804499130,"cgroup":"9:name=systemd:/\n8:pids:/\n7:blkio:/\n6:freezer:/\n5:devices:/\n4:memory:/user.slice\n3:cpuset:/\n2:cpuacct:/\n1:cpu:/\n0::/\n","namespaces":{"cgroup":"cgroup:[4026531835]","mnt":"mnt:[4026532177]","pid":"pid:[4026532178]","time":"time:[4026531834]","user":"user:[4026531837]"},"policies":{},"processes":{"36:6225518":true},"started":6225518,"uid":0}',NULL,NULL);
INSERT INTO "runs" VALUES('run_01M8KJCP9V6YXDSY8P5E59PHDW','ask','interrupted','/home/ada/shop/ask.yaml','e1d90407d43cf6a1',2,'/home/ada/shop',7715453774304110505,NULL,'APPROVAL_PENDING','ok','req_01M8KJCP9V6YXDSY8P5E59PHDW',54,0,1795953154371,1795953154377,1795953154377,'Step ok waits for a person: Go on?','[]','{}',1,NULL,NULL,NULL,NULL,NULL,'/home/ada/shop',NULL,'{"boot":"6d1f0c7e-52a4-4b7e-9a3c-0d5b8c1e2f40","booted_ms":1795804499130,"cgroup":"9:name=systemd:/\n8:pids:/\n7:blkio:/\n6:freezer:/\n5:devices:/\n4:memory:/user.slice\n3:cpuset:/\n2:cpuacct:/\n1:cpu:/\n0::/\n","namespaces":{"cgroup":"cgroup:[4026531835]","mnt":"mnt:[4026532177]","pid":"pid:[4026532178]","time":"time:[4026531834]","user":"user:[4026531837]"},"policies":{},"processes":{"54:6225523":true},"started":6225523,"uid":0}',NULL,NULL);
INSERT INTO "runs" VALUES('run_01M8KJCPAN52AG6M4RNMCD2CKK','killed','running','/home/ada/shop/killed.yaml','2b88bb7ca024dec6',3,'/home/ada/shop',5254020351874727854,NULL,NULL,NULL,'req_01M8KJCPAN52AG6M4RNMCD2CKK',60,0,1795953154410,1795953154410,NULL,NULL,'[]','{}',1,NULL,NULL,NULL,NULL,NULL,'/home/ada/shop',NULL,'{"boot":"6d1f0c7e-52a4-4b7e-9a3c-0d5b8c1e2f40","booted_ms":1795804499130,"cgroup":"9:name=systemd:/\n8:pids:/\n7:blkio:/\n6:freezer:/\n5:devices:/\n4:memory:/user.slice\n3:cpuset:/\n2:cpuacct:/\n1:cpu:/\n0::/\n","namespaces":{"cgroup":"cgroup:[4026531835]","mnt":"mnt:[4026532177]","pid":"pid:[4026532178]","time":"time:[4026531834]","user":"user:[4026531837]"},"policies":{},"processes":{"60:6225525":true},"started":6225525,"uid":0}',NULL,NULL);
CREATE TABLE sources (
		id INTEGER PRIMARY KEY,
		digest TEXT NOT NULL,
		source TEXT NOT NULL
	);
INSERT INTO "sources" VALUES(1,'bf72e55d6816840f','name: flow
vars: { who: ada }
commands:
  - id: greet
    runner: hello
    args: { name: "${who}" }
  - id: gate
    shell: test -e open
    idempotent: true
  - id: all
    foreach: [a, b, c]
    do:
      - id: one
        shell: echo ${item}
  - shell: echo ${steps.greet.data.hello} ${steps.all.total}
');
INSERT INTO "sources" VALUES(2,'e1d90407d43cf6a1','name: ask
commands:
  - id: before
    shell: echo ready
  - id: ok
    approve: Go on?
  - id: after
    shell: echo went
');
INSERT INTO "sources" VALUES(3,'2b88bb7ca024dec6','name: killed
commands:
  - id: first
    shell: echo first >>effects.txt
  - id: second
    shell: test -e open || sleep 60
    idempotent: true
  - id: third
    shell: echo third >>effects.txt
');
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
		output TEXT, held TEXT, item TEXT,
		PRIMARY KEY (run, key)
	);
INSERT INTO "steps" VALUES('run_01M8KJCP7JT7BZQQW4959SDS6N','greet',1,'completed','greet','runner',1,1,5,NULL,NULL,0,NULL,1795953154306,1795953154311,'hello',NULL,'{"hello":"ada"}','{"hello":"ada"}',NULL,NULL);
INSERT INTO "steps" VALUES('run_01M8KJCP7JT7BZQQW4959SDS6N','gate',2,'failed','gate','shell',1,1,3,NULL,NULL,1,'SUBPROCESS_FAILED',1795953154311,1795953154314,'test -e open','Shell command exited with status 1',NULL,'',NULL,NULL);
INSERT INTO "steps" VALUES('run_01M8KJCP8HY1XMHEDDWVEEYEW0','greet',1,'completed','greet','runner',1,1,7,NULL,NULL,0,NULL,1795953154330,1795953154337,'hello',NULL,'{"hello":"ada"}','{"hello":"ada"}',NULL,NULL);
INSERT INTO "steps" VALUES('run_01M8KJCP8HY1XMHEDDWVEEYEW0','gate',2,'completed','gate','shell',1,1,2,NULL,NULL,0,NULL,1795953154337,1795953154340,'test -e open',NULL,NULL,'',NULL,NULL);
INSERT INTO "steps" VALUES('run_01M8KJCP8HY1XMHEDDWVEEYEW0','all',3,'completed','all','foreach',1,0,0,NULL,NULL,NULL,NULL,1795953154340,1795953154348,'foreach over 3 items',NULL,'[{"item":"a","ok":true,"output":"a"},{"item":"b","ok":true,"output":"b"},{"item":"c","ok":true,"output":"c"}]','a
b
c',NULL,NULL);
INSERT INTO "steps" VALUES('run_01M8KJCP8HY1XMHEDDWVEEYEW0','all[1].one',4,'completed','one','shell',1,1,3,NULL,NULL,0,NULL,1795953154340,1795953154343,'echo ${item}',NULL,NULL,'a',NULL,'a');
INSERT INTO "steps" VALUES('run_01M8KJCP8HY1XMHEDDWVEEYEW0','all[2].one',5,'completed','one','shell',1,1,2,NULL,NULL,0,NULL,1795953154343,1795953154346,'echo ${item}',NULL,NULL,'b',NULL,'b');
INSERT INTO "steps" VALUES('run_01M8KJCP8HY1XMHEDDWVEEYEW0','all[3].one',6,'completed','one','shell',1,1,2,NULL,NULL,0,NULL,1795953154346,1795953154348,'echo ${item}',NULL,NULL,'c',NULL,'c');
INSERT INTO "steps" VALUES('run_01M8KJCP8HY1XMHEDDWVEEYEW0','4',7,'completed',NULL,'shell',1,1,1,NULL,NULL,0,NULL,1795953154348,1795953154350,'echo ${steps.greet.data.hello} ${steps.all.total}',NULL,NULL,'ada 3',NULL,NULL);
INSERT INTO "steps" VALUES('run_01M8KJCP9V6YXDSY8P5E59PHDW','before',1,'completed','before','shell',1,1,1,NULL,NULL,0,NULL,1795953154372,1795953154374,'echo ready',NULL,NULL,'ready',NULL,NULL);
INSERT INTO "steps" VALUES('run_01M8KJCP9V6YXDSY8P5E59PHDW','ok',2,'waiting','ok','approve',1,0,0,NULL,NULL,NULL,'APPROVAL_PENDING',1795953154375,NULL,'Go on?','Go on?',NULL,NULL,NULL,NULL);
INSERT INTO "steps" VALUES('run_01M8KJCPAN52AG6M4RNMCD2CKK','first',1,'completed','first','shell',1,1,13,NULL,NULL,0,NULL,1795953154418,1795953154432,'echo first >>effects.txt',NULL,NULL,'',NULL,NULL);
INSERT INTO "steps" VALUES('run_01M8KJCPAN52AG6M4RNMCD2CKK','second',2,'running','second','shell',1,1,0,NULL,NULL,NULL,NULL,1795953154432,NULL,'test -e open || sleep 60',NULL,NULL,NULL,NULL,NULL);
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
CREATE TABLE warnings (
		run TEXT NOT NULL,
		key TEXT NOT NULL,
		code TEXT NOT NULL,
		message TEXT NOT NULL,
		context TEXT,
		PRIMARY KEY (run, key),
		FOREIGN KEY (run, key) REFERENCES steps (run, key) ON DELETE CASCADE
	) WITHOUT ROWID;
CREATE INDEX sources_by_digest ON sources (digest);
CREATE INDEX runs_by_time ON runs (created_ms);
CREATE INDEX runs_by_state ON runs (state, created_ms);
CREATE INDEX runs_by_workflow ON runs (workflow, created_ms);
CREATE INDEX runs_by_source ON runs (source_id);
CREATE UNIQUE INDEX steps_by_position ON steps (run, position);
CREATE INDEX placements_by_unit ON placements (run, key, number);
CREATE INDEX runs_by_project ON runs (project, created_ms);
CREATE INDEX approvals_by_run ON approvals (run, key);
CREATE INDEX runs_by_concurrency ON runs (concurrency, turn) WHERE concurrency IS NOT NULL;
COMMIT;
PRAGMA user_version = 22;
PRAGMA application_id = 1920298610;
