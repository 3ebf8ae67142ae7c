-- reliability: stored mutants of the promises of docs/reliability.md (catalogue.lua says what one is). Those of what a
-- model can't do have the test that the page names.

return {
	-- the promises
	{ "One answer", [[	onto(ch->out[1], 1);
]], [[	onto(dup(launch.stdout_fd), 1);
]], tests = { "tests/cli/process.bats: REQ-F-060 text on stdout never reaches stdout; it goes to stderr and becomes a warning" } },
	{ "One answer", [[	             error ? strerror(error) : "cancelled while waiting for the reader");
	return exit_code == 0 ? 1 : exit_code;]], [[	             error ? strerror(error) : "cancelled while waiting for the reader");
	return exit_code;]],
		tests = { "tests/cli/caller.bats: a full stdout turns a success into 1 and leaves a failure its number" } },
	{ "One answer", [[		no_worker(&a, "fork");]], [[		_exit(12);]], tests = { "tests/fault/soak.bats: with no process left for the user: RESOURCE_EXHAUSTED, not a hang" } },
	{ "The true status", [[	member_int(w, "exit_code", exit_code);]], [[	member_int(w, "exit_code", exit_code ? run->verdict.hints.exit_code : 0);]],
		tests = { "tests/cli/caller.bats: INT, TERM, HUP and QUIT cancel: one envelope, 130 or 143" } },
	{ "The true status", [[	return tap_dropped(&p->out[0].tap) > 0 || tap_dropped(&p->out[1].tap) > 0;]], [[	return tap_dropped(&p->out[0].tap) > 0 && tap_dropped(&p->out[1].tap) > 0;]],
		tests = { "tests/lua/ctx/process_spec.lua: keeps head and tail of a flood and counts the middle" } },
	{ "The true status", [[		p->starved = errno != EPIPE; /* EPIPE]], [[		p->starved = errno != EPIPE && errno != EIO; /* EPIPE]],
		tests = { "tests/cli/truth.bats: a program that did not get all of its input has not succeeded" } },
	{ "The true status", [[		p->incomplete = true;
]], "", tests = { "tests/lua/ctx/process_time_spec.lua: waits at most a moment for a background process that holds the output" } },
	{ "On time", [[	a->kill_at = mono_add_ms(now, a->run->plan.grace_ms);
	if (a->gone)]], [[	a->kill_at = mono_add_ms(now, a->run->plan.grace_ms + 1000);
	if (a->gone)]], tests = { "tests/fault/punctual.bats: a worker that ignores TERM is killed when the grace is over" } },
	{ "On time", [[	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (mono_t)ts]], [[	clock_gettime(CLOCK_REALTIME, &ts);
	return (mono_t)ts]], tests = { "tests/fault/soak.bats: a wall clock that jumps an hour either way moves no limit, wait or lock" } },
	{ "Nothing left behind", [[		[EV_GONE] = end_the_rest,     [EV_EMPTY] = over,         [EV_SIGNAL] = term_worker,]],
		[[		[EV_GONE] = over,             [EV_EMPTY] = over,         [EV_SIGNAL] = term_worker,]],
		tests = { "tests/cli/process.bats: a background process after success is ended and named by a warning" } },
	{ "Nothing left behind", [[	if (!run->session_dir_made && r->ok)]], [[	if (!run->session_dir_made || late)]],
		tests = { "tests/cli/process_attempts.bats: the session directory is there for the run and gone after it, also when killed or at a limit" } },
	{ "Nothing left behind", [[	if (status < 0)
		warn_about_session_dir(run, &removal);
]], "", tests = { "tests/fault/bystanders.bats: what is mounted in the run's directory survives its removal" } },
	{ "Nothing left behind", [[		if (is_named(entry->d_name, TEMPDIR_PREFIX) || is_named(entry->d_name, HANDED_OUT_PREFIX))]],
		[[		if (is_named(entry->d_name, HANDED_OUT_PREFIX))]],
		tests = { "tests/fault/bystanders.bats: a later run that makes a directory itself removes those of killed runs, and no other run's" } },
	{ "Nothing left behind", [[	return prctl(PR_SET_PDEATHSIG, sig, 0, 0, 0);]], [[	return 0 * sig;]],
		tests = { "tests/cli/process.bats: a supervisor that is killed takes everything with it" } },
	{ "Nothing left behind", [[	end_tree(run->launch.mark, session);
]], [[	(void)session;
	(void)end_tree;
]], tests = { "tests/fault/guard.bats: at once with its worker" } },
	{ "Nothing left behind", [[		orphaned = insisted = 1;]], [[		insisted = 1;]],
		tests = { "tests/fault/hostile_signals.bats: SIGKILL of the process in front ends the tree at once, and nothing is written" } },
	{ "Nothing left behind", [[	a->r->survivors = true;
]], "", tests = { "tests/fault/soak.bats: without /proc: runs work, limits hold, survivors are named" } },
	{ "Any signal", [[	remove_rows(set, true);
	sigdelset(set, SIGCONT);]], [[	remove_rows(set, true);
	sigdelset(set, SIGVTALRM);
	sigdelset(set, SIGCONT);]], tests = { "tests/fault/hostile_signals.bats: every signal that would end the supervisor cancels the run" } },
	{ "Any signal", [[	{ SIGHUP, on_cancel, true },
]], [[	{ SIGHUP, on_stop, true },
]], tests = { "tests/fault/hostile_signals.bats: every signal that would end the supervisor cancels the run",
		"tests/cli/caller.bats: INT, TERM, HUP and QUIT cancel: one envelope, 130 or 143" } },
	{ "Whether it is safe to try again", [[	else if (h->side_effects > v->worst_effects)
		v->worst_effects = h->side_effects;]], [[	else
		v->worst_effects = h->side_effects;]], tests = { "tests/cli/retries.bats: side effects of a run are the worst of its attempts" } },
	{ "On the disk when it is said", [[(!sync || fdatasync(fd) == 0)]], [[(!sync || fd >= 0)]],
		tests = { "tests/fault/power_cut.bats: power cuts in the audit ledger with sync: the rows of each call are there, and it goes on" } },
	{ "On the disk when it is said", [[(off_t)answer->len) < 0 || fsync(fd) < 0 ? -1 : 0;]], [[(off_t)answer->len) < 0 ? -1 : 0;]],
		tests = { "tests/fault/power_cut.bats: power cuts in a job: one that was told is known, and no answer is one that wasn't given" } },
	{ "On the disk when it is said", [[	return xsync_folder(part.text) < 0 && errno != EINVAL ? -1 : 0;]], [[	return 0;]],
		tests = { "tests/fault/power_cut.bats: power cuts in a job: one that was told is known, and no answer is one that wasn't given" } },
	{ "On the disk when it is said", [[		fs.fsync(path_of(key):match "^(.*)/") -- or]], [[		-- or]],
		tests = { "tests/fault/power_cut.bats: power cuts between checkpoints: what they cover isn't done twice, and after a success the call begins anew" } },
	{ "On the disk when it is said", [[	must(dir, fs.fsync_tree(dir))
]], "", tests = { "tests/fault/power_cut.bats: power cuts while a library is added: runner.lock names what is there and runs" } },
	{ "On the disk when it is said", [[	status = write_bytes(fd, bytes, n) < 0 ? -1 : fsync(fd);]], [[	status = write_bytes(fd, bytes, n);]],
		tests = { "tests/fault/power_cut.bats: power cuts between calls of runner.fs: what it says is on the disk is there, whole" } },
	{ "On the disk when it is said", [[	fs.mkdirs(request.spill:match "^(.*)/", 448, true)]], [[	fs.mkdirs(request.spill:match "^(.*)/", 448)]],
		tests = { "tests/fault/power_cut.bats: power cuts while an output too long for memory is kept: what a completed step wrote is whole" } },
	{ "On the disk when it is said", [[	status = set_mode(fd, to, mode) < 0 ? -1 : fsync(fd);]], [[	status = set_mode(fd, to, mode);]],
		tests = { "tests/fault/power_cut.bats: power cuts while an output too long for memory is kept: what a completed step wrote is whole" } },
	{ "On the disk when it is said", [[	if (status < 0 || rename(from, to) < 0)
		return -1;
	return xsync_folder(to);]], [[	return status < 0 || rename(from, to) < 0 ? -1 : 0;]],
		tests = { "tests/fault/power_cut.bats: power cuts while an output too long for memory is kept: what a completed step wrote is whole" } },
	{ "On the disk when it is said", [[fs.mkdirs(root, 448, true)]], [[fs.mkdirs(root, 448)]],
		tests = { "tests/fault/power_cut.bats: power cuts in a job that goes on where its caller's budget ends: the same" } },
	{ "On the disk when it is said", [[put(path, "", mode, mode == nil)]], [[put(path, "", mode, false)]],
		tests = { "tests/fault/power_cut.bats: power cuts while an output too long for memory is kept: what a completed step wrote is whole" } },
	{ "On the disk when it is said", [[PRAGMA synchronous = FULL; PRAGMA foreign_keys]], [[PRAGMA synchronous = OFF; PRAGMA foreign_keys]],
		tests = { "tests/fault/power_cut.bats: power cuts in a workflow: what began was committed, what is completed stays so, and resume goes on" } },
	{ "No bystander is hurt", [[	return way_open_entry(dir, name, flags, false);]], [[	return way_open_entry(dir, name, flags, true);]],
		tests = { "tests/fault/bystanders.bats: fs.remove_tree leaves what is mounted, names it, and removes the rest" } },
	{ "No bystander is hurt", [[			*fd = xopen(r->path, O_RDWR | O_CREAT | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW, 0600);]],
		[[			*fd = xopen(r->path, O_RDWR | O_CREAT | O_NONBLOCK | O_NOCTTY, 0600);]],
		tests = { "tests/fault/bystanders.bats: a lock that leads elsewhere is refused, and what it leads to is not written" } },
	{ "No bystander is hurt", [[		cut_to_parent(where);
		why = refuse_folder(where);]], [[		cut_to_parent(where);
		why = NULL;]], tests = { "tests/cli/trust.bats: lib/ itself, folders in it, and the folder that holds commands/ are looked at" } },
	{ "No bystander is hurt", [[	why = owner_refuse(st, path);]], [[	why = NULL;]],
		tests = { "tests/cli/trust.bats: a module in lib/ of another owner, or that everybody may write, is refused" } },
	{ "No bystander is hurt", [[	return st->st_uid == 0 || st->st_uid == geteuid() || is_admitted(st->st_uid, path);]],
		[[	return st->st_uid == 0 || st->st_uid == geteuid() || getenv("RUNNER_TRUST") || is_admitted(st->st_uid, path);]],
		tests = { "tests/cli/trust.bats: RUNNER_TRUST admits the checkout of one other owner, and nothing else" } },

	-- what a model can't do
	{ "arguments that look like a confirmation", [[
	elseif call.row.danger_level ~= "destructive" or call.dry_run then
		return run(server, r, call)
	end
	return (r.caller.modern]], [[
	elseif call.row.danger_level ~= "destructive" or call.dry_run then
		return run(server, r, call)
	elseif call.arguments.yes then
		call.arguments.yes = nil
		return run(server, r, call, true)
	end
	return (r.caller.modern]] },
	{ "flags of a request, in any spelling", [[M.open_flags[name] and take_flag]], [[(M.open_flags[name] or CONFIRM[name]) and take_flag]] },
	{ "an answer to a question that nobody asked", [[
			return question.what == what
		end
	end
	return false]], [[
			return question.what == what
		end
	end
	return true]] },
	{ "a yes to something else", [[return question.what == what]], [[return true]] },
	{ "a yes used twice", [[
			self:remove(i)
			return question.what == what]], [[
			return question.what == what]] },
	{ "a yes that comes too late", [[local TTL_MS = 10 * 60 * 1000]], [[local TTL_MS = 24 * 60 * 60 * 1000]] },
	{ "a yes to what another server asked", [[local state = self.random()]], [[local state = ("%064d"):format(#self.list)]] },
	{ "a yes to a file that was another one then", [[{ call.row.command, call.row.stamp or "", call.arguments, call.own }]],
		[[{ call.row.command, call.arguments, call.own }]] },
	{ "a yes under the id of another message", [=[local question = self.asked[message.id]]=], [[local question = self.asked[message.id] or select(2, next(self.asked))]] },
	{ "a yes that can't be read", [[return M.unread(text, M.fault(M.PARSE_ERROR, "Parse error: " .. why))]],
		[[v = json.decode((text:gsub("\\u0000", ""))) or json.array {}
		return v.result and response_of(v) or M.unread(text, M.fault(M.PARSE_ERROR, "Parse error: " .. why))]] },
	{ "a client that can't ask", [[
	if not rpc.is_object(elicitation) then
		return false
	end
	return elicitation.form ~= nil or elicitation.url == nil]], [[
	if not rpc.is_object(elicitation) then
		return false
	end
	return true]] },
	{ "a task in place of a call", [[
	elseif call.row.danger_level ~= "destructive" or call.dry_run then
		return run(server, r, call)
	end
	return (r.caller.modern]], [[
	elseif call.row.danger_level ~= "destructive" or call.dry_run then
		return run(server, r, call)
	elseif tasks.wanted(r, call) then
		return run(server, r, call, true)
	end
	return (r.caller.modern]] },
	{ "a file that became destructive since it was listed", [[confirmed = confirmed == true and "asked" or confirmed or nil,]], [[confirmed = "asked",]] },
	{ "what a confirmed command calls itself", [[hand_over(args, text, more.confirmed)]], [[hand_over(args, text, more.confirmed or "agreed")]] },
	{ "a command that is for a person", [[return NEVER, "it declares mcp = false"]], [[return ALLOW, "it declares mcp = false"]] },
	{ "a command that is for a person", [[return NEVER, "only a person may run it"]], [[return ALLOW, "only a person may run it"]] },
	{ "a built-in command that runs files, or writes", [[	elseif name and not OPEN[name] and not allowed then]], [[	elseif name and not OPEN[name] and not allowed and not name:find "^workflow%." then]] },
	{ "another project, settings or form of the answer", [[	attempt_timeout idle_timeout grace retries retry_delay connect_timeout budget
]], [[	attempt_timeout idle_timeout grace retries retry_delay connect_timeout budget cwd
]] },
	{ "a command that prints an answer of its own", [[	if attempt.call.is_call then
		parsed.problems]], [[	if attempt.call.is_call and command.raw ~= "protocol" then
		parsed.problems]] },
	{ "a tool that is not listed", [[	local rows, fault = self:rows(false)
	local row = named(rows, name)]], [[	local rows, fault = self.outside.rows(false)
	local row = named(rows, name)]] },
	{ "jobs and tasks of others", [[	local about = text and json.decode(text)
	return type(about) == "table" and type(about.command) == "string" and about or nil]], [[	local about = text and json.decode(text) or { command = "build", cwd = host.getcwd() }
	return type(about) == "table" and type(about.command) == "string" and about or nil]] },
	{ "a policy: what `--allow` names", [[
		local rule_text, why = M.refusal(policy, name, path, level)
		if rule_text then]], [[
		local rule_text, why = M.refusal(policy, name, path, level)
		if rule_text and not attempt.call.vouched then]] },
	{ "a policy: children, and their environment", [[		if (!is_kept(entry))
			envp[n++] = entry;]], [[		envp[n++] = entry;]] },
	{ "a policy: jobs and tasks", [[	if policy.max_timeout_ms then
		narrow_timeout]], [[	if policy.max_timeout_ms and not a.framework.detach and not a.launch.job then
		narrow_timeout]] },
	{ "a policy: another file in its place", [[	if expected and expected ~= digest then]], [[	if expected and expected ~= digest and text == "" then]] },
	{ "a policy: commands from elsewhere", [[	path = fs.realpath(path) or path
	for _, dir in ipairs(folders) do]], [[	for _, dir in ipairs(folders) do]] },
	{ "a policy: commands from elsewhere", [[
			if policy.relocate == false then]], [[
			if policy.relocate == false and flag ~= "config" then]] },
	{ "a policy: more retries or time", [[	if settled.timeout_ms == 0 or settled.timeout_ms > most then]], [[	if settled.timeout_ms > most then]] },
	{ "confinement: files, by any program", [[	 FS_MAKE_FIFO | FS_MAKE_SYM)]], [[	 FS_MAKE_FIFO)]] },
	{ "confinement: clean-up and deferred code", [[		return within(run, given, ctx)]], [[		return run(given, ctx)]] },
	{ "confinement: the network", [[	elseif not network then
		return "local"]], [[	elseif not network then
		return "all"]] },
	{ "confinement: processes outside", [[		m.scoped = SCOPE_SIGNAL | (what]], [[		m.scoped = (what]] },
	{ "confinement: another attempt, a job", [[		if not entered then]], [[		if not entered and a.ctx.attempt == 1 then]] },
	{ "confinement: a path that was exchanged", [[		out[#out + 1] = not inner and path or nil]], [[		out[#out + 1] = path]] },
	{ "confinement: sockets, signals, other processes, capabilities (110 ways)", [[	{ SYS_setpriority, EPERM, { { 0 } } },
]], "" },
	{ "confinement: sockets, signals, other processes, capabilities (110 ways)", [[	{ SYS_socket, 0, { EQUAL(0, AF_NETLINK), EQUAL(2, NETLINK_FOR_ROUTES) } },
	{ SYS_socket, EACCES, { { 0 } } },
	{ SYS_socketpair, EACCES, { OTHER(0, AF_UNIX) } },
};

/* The first]], [[	{ SYS_socket, 0, { EQUAL(0, AF_NETLINK) } },
	{ SYS_socket, EACCES, { { 0 } } },
	{ SYS_socketpair, EACCES, { OTHER(0, AF_UNIX) } },
};

/* The first]] },
	{ "confinement: the same as root", [[	if (capabilities_keep(b->capabilities) < 0)
		return -1;
]], "" },
	{ "confinement: an older kernel", [[		say("truncate", abi >= TRUNCATE)]], [[		say("truncate", abi >= FILES)]] },
	{ "confinement: the channel of the worker", [[ || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)]], [[)]] },
	{ "confinement: the supervisor's limits", [[	{ SYS_prlimit64, EPERM, { { 0 } } },
]], "" },
	{ "confinement: the terminal", [[	{ SYS_ioctl, EPERM, { EQUAL(1, TIOCSTI) } },
]], "" },
	{ "confinement: a kernel without it", [[	local problem = missing and confine.required and bounds.unavailable(about)]], [[	local problem = missing and confine.required and about.landlock == 0 and bounds.unavailable(about)]] },

	-- what a workflow promises
	{ "a worktree: commits on no branch keep it", [[	return M.joined(said(found.commits, "commit", "commits", " on no branch"),]], [[	return M.joined(nil,]] },
	{ "a worktree: what isn't committed is neither merged nor removed", [[	elseif left ~= "" then
		git.refuse(run, ("The worktree of branch]], [[	elseif not left then
		git.refuse(run, ("The worktree of branch]] },
	{ "a merge: changes of the user refuse it", [[	if not result.ok or result.stdout ~= "" then
		git.refuse(run, ("The branch %s can't be merged: %s has changes]], [[	if not result.ok then
		git.refuse(run, ("The branch %s can't be merged: %s has changes]] },
	{ "a merge: a file that git doesn't know stays", [[		if stat and stat.type ~= "directory" then -- git looks into that]], [[		if stat and stat.type == "fifo" then]] },
	{ "a merge: what a killed one has left is taken back", [[	else
		take_back(run, tree, old, new)
	end]], [[	end]] },
	{ "an approval: who asks opens no terminal for it", [[			return "its terminal was opened below the one of who asked"
]], [[			return nil
]] },
	{ "an approval: nothing that descends from what asks gives it", [[		elseif asker.processes[p.name] then]], [[		elseif hosted and asker.processes[p.name] then]] },
	{ "an approval: nobody gives it under the policy of the run", [[		if asker.policies[digest] then]], [[		if asker.policies[digest] and digest == "" then]] },
	{ "an approval: it is of what was shown", [[	if not gate or gate.round ~= round or gate.digest ~= what.digest then]], [[	if not gate or gate.round ~= round then]] },
	{ "concurrency: one run at a time of those with a key", [[		if db:owner(row.id) and not db:wait(row.id, SURE_MS) then]], [[		if false then]] },
	{ "concurrency: a run that is refused stores and changes nothing", [[		elseif row and run.concurrency.when_taken == "refuse" then]], [[		elseif row and run.concurrency.when_taken == "queue" then]] },
	{ "a variable with a type: refused before anything runs", [[	if why then
		return nil, refused(row, text, why, from, mask)]], [[	if why == "length" then
		return nil, refused(row, text, why, from, mask)]] },
	{ "last steps: they run after a failure", [[	local problem = M.perform(run, last, place, n + 1, e and {]], [[	local problem = not e and M.perform(run, last, place, n + 1, e and {]] },
	{ "a file inside: changed, it is not gone on with", [[not (workflow and workflow.digest == row.digest)]], [[not (workflow and (workflow.children[1] or workflow.digest == row.digest))]] },
	{ "a task: no value can become code", [[		env[tasks.variable(row.name)] = tasks.text(row, value) or false]], [[		env[tasks.variable(row.name)] = (tasks.text(row, value) or ""):gsub("%$(%b())", function(code) return io.popen(code):read "a" end)]] },
	{ "a task: no argument is a variable that programs obey", [[	return type(name) == "string" and OBEYED[M.variable(name)] or false]], [[	return false]] },
	{ "a task: what it wants confirmed isn't run unasked", [[out.confirm and "destructive" or "mutating"
]], [["mutating"
]] },
}
