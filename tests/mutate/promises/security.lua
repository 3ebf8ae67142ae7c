-- security: stored mutants of the promises of docs/security.md (catalogue.lua says what one is). The ID of an entry is
-- the first cell of its row; the tests are shown there, below "Tests".

local CONFINE, WAYS = "tests/cli/confine.bats: ", "tests/cli/ways_out.bats: "
local ALL_WAYS = { WAYS .. "a confined command of nobody finds none of the ways out that all others find",
	WAYS .. "a confined command of root finds none of the ways out that all others find" }
local OLDER = { WAYS .. "on an older kernel the ways out are those that meta says, for nobody",
	WAYS .. "on an older kernel the ways out are those that meta says, for root" }
local NEIGHBOUR = { "tests/fault/neighbour.bats: no remover and no writer follows what another user may have put in the way, at any part of it" }

return {
	-- confined commands
	{ "With `write` or `read`, files elsewhere are not changed, or not read, by whatever means",
		[[(abi >= CONFINE_ABI_TRUNCATE ? FS_TRUNCATE : 0)]], [[0]], tests = ALL_WAYS },
	{ "With `write` or `read`, files elsewhere are not changed, or not read, by whatever means",
		[[#define READ_RIGHTS (FS_EXECUTE | FS_READ_FILE | FS_READ_DIR)]], [[#define READ_RIGHTS (FS_EXECUTE | FS_READ_FILE)]],
		tests = { CONFINE .. "what may not be read is out of reach, while programs and modules still load" } },
	{ "With `network = false` no socket can be made but a Unix one: no TCP, MPTCP, Fast Open, listening without a bind, UDP, raw or other one",
		[[
	{ NR_IO_URING_SETUP, EPERM, { { 0 } } },
]], "", tests = ALL_WAYS },
	{ "With `network = false` no socket can be made but a Unix one: no TCP, MPTCP, Fast Open, listening without a bind, UDP, raw or other one",
		[[	{ SYS_socketpair, EACCES, { OTHER(0, AF_UNIX) } },
};

/* The first rows]], [[};

/* The first rows]], tests = ALL_WAYS },
	{ "… nor one with an abstract name reached, nor a TCP socket that was open before connected or bound",
		[[(what->network ? SCOPE_ABSTRACT_UNIX_SOCKET : 0)]], [[0]],
		tests = { CONFINE .. "a socket with an abstract name is out of reach without a network" } },
	{ "… nor one with an abstract name reached, nor a TCP socket that was open before connected or bound",
		[[		m.handled_net = NET_BIND_TCP | NET_CONNECT_TCP;]], [[		m.handled_net = NET_BIND_TCP;]],
		tests = { CONFINE .. "a TCP socket that a process outside hands over is neither connected nor bound without a network" } },
	{ "Nothing is typed into a terminal for the shell that reads it next", [[
	{ SYS_ioctl, EPERM, { EQUAL(1, TIOCLINUX) } },
]], "", tests = { "tests/cli/confined_programs.bats: nothing is typed into the terminal for the shell that reads it next" } },
	{ "No process outside gets a signal", [[		m.scoped = SCOPE_SIGNAL | (what]], [[		m.scoped = (what]], tests = ALL_WAYS },
	{ "No process outside is traced, its memory, descriptors or environment read, or its limits, priority, scheduling, processors and I/O class changed",
		[[
	{ SYS_ioprio_set, EPERM, { { 0 } } },
]], "", tests = ALL_WAYS },
	{ "No process outside is traced, its memory, descriptors or environment read, or its limits, priority, scheduling, processors and I/O class changed",
		[[
	{ SYS_sched_setaffinity, EPERM, { OTHER(0, 0) } },
]], "", tests = ALL_WAYS },
	{ "System V objects, POSIX message queues and keys of other processes are not reached", [[
	{ SYS_mq_open, EPERM, { { 0 } } },
]], "", tests = { WAYS .. "a command that is confined by its network alone reaches no other process, and no object of one" } },
	{ "System V objects, POSIX message queues and keys of other processes are not reached", [[
	{ SYS_shmget, EPERM, { { 0 } } },
	{ SYS_shmat, EPERM, { { 0 } } },
]], "", tests = ALL_WAYS },
	{ "No process has a capability that `capabilities` doesn't name, not even as root, nor gains one by a program that it starts or by a namespace",
		[[
	{ SYS_unshare, EPERM, { BITS(0, CLONE_NEWUSER) } },
]], "", tests = ALL_WAYS },
	{ "No process has a capability that `capabilities` doesn't name, not even as root, nor gains one by a program that it starts or by a namespace",
		[[	bound(kept);
]], "", tests = { "tests/cli/confined_programs.bats: root has the capabilities that are named and no others, nor has what it starts" } },
	{ "The filter is not passed by", [[#define NO_POINTER(arg) { IS, arg, false, ALL, 0 }, { IS, arg, true, ALL, 0 }]],
		[[#define NO_POINTER(arg) { IS, arg, false, ALL, 0 }]], tests = ALL_WAYS },
	{ "The filter is not passed by", [[
	{ NR_CLONE3, ENOSYS, { { 0 } } },
]], "", tests = ALL_WAYS },
	{ "The tree ends with the run, and with a supervisor that is killed", [[	return prctl(PR_SET_PDEATHSIG, sig, 0, 0, 0);]], [[	return 0 * sig;]],
		tests = { CONFINE .. "a confined command ends with its tree when its supervisor is killed",
			"tests/cli/confined_programs.bats: a confined tree ends with its supervisor, whoever the user is, and one whose processes have another user ends too" } },
	{ "`meta.confined` says what holds, and a kernel without Landlock or seccomp refuses the call", [[say("processes", filters and abi >= FILES, true)]],
		[[say("processes", filters and abi >= FILES)]], tests = { CONFINE .. "where the kernel can't confine, a command is refused, or warns if it says so" } },
	{ "`meta.confined` says what holds, and a kernel without Landlock or seccomp refuses the call", [[	say("signals", abi >= SCOPES)]],
		[[	say("signals", abi >= TCP)]], tests = OLDER },
	{ "With `write`, two never hold one lock: no lock file of another is removed, renamed, replaced or linked elsewhere",
		[[#define LOCK_RIGHTS (FS_WRITE_FILE | FS_MAKE_REG | FS_TRUNCATE)]], [[#define LOCK_RIGHTS (FS_WRITE_FILE | FS_MAKE_REG | FS_TRUNCATE | FS_REMOVE_FILE)]],
		tests = { "tests/cli/confine_state.bats: the lock that another holds can't be removed, renamed, replaced or linked, and two never hold it" } },
	{ "With `write`, checkpoints, counts of calls and what `sources` keep of other commands stay as they are",
		[[		out[#out + 1] = checkpoints.folder(checkpoints.key(a))]], [[		out[#out + 1] = checkpoints.folder(checkpoints.key(a)):match "^(.*)/"]],
		tests = { "tests/cli/confine_state.bats: another's checkpoint can't be forged, removed or joined, and that one goes on from its own" } },
	{ "With `write`, checkpoints, counts of calls and what `sources` keep of other commands stay as they are",
		[[	return state and ("%s/%s/%s"):format(state, kind, id(a, a.name))]], [[	return state and ("%s/%s/%s"):format(state, kind, kind == "throttle" and id(a, "") or id(a, a.name))]],
		tests = { "tests/cli/confine_state.bats: another's breaker and counts can't be forged, and hold" } },
	{ "With `network = { ports }`, TCP connects to no other port, and there is no other socket but a Unix one (with `udp`: UDP)",
		[[
	{ SYS_sendto, EACCES, { BITS(3, FASTOPEN) } },
]], "", tests = { "tests/cli/confine_network.bats: ports: what isn't among them is connected to by nobody, in no way" } },
	{ "With `network = { ports }`, TCP connects to no other port, and there is no other socket but a Unix one (with `udp`: UDP)",
		[[	const size_t passed_over = sockets == SOCKETS_TCP ? UDP_ROWS : 0;]], [[	const size_t passed_over = 0;]],
		tests = { "tests/cli/confine_network.bats: ports: what isn't among them is connected to by nobody, in no way" } },
	{ "With `network = { hosts }`, `ctx:http` reaches these hosts only, by no other name or number and no redirect, and programs make no connection",
		[[strcmp(rules->hosts[i].name, name) == 0 && (rules->hosts[i].port == 0 || rules->hosts[i].port == port)]], [[(rules->hosts[i].port == 0 || rules->hosts[i].port == port)]],
		tests = { "tests/cli/confine_network.bats: hosts: ctx:http reaches them, no program reaches anything, and no other name or number is a way",
			"tests/cli/confine_network.bats: hosts: a redirect to another one is not followed, and says what was sent" } },
	{ "`confine` of a workflow, or of a claude or shell step, holds for its program and hooks, on an executor and after a resume too",
		[[	options.bounds = made]], [[	options.bounds = options.hook == nil and step.kind == "claude" and made or nil]],
		tests = { "tests/cli/workflow_confine.bats: a shell step, a claude step and their hooks write only where the workflow says" } },
	{ "`confine` of a workflow, or of a claude or shell step, holds for its program and hooks, on an executor and after a resume too",
		[[errexit = hook.errexit, confine = hook.confine,]], [[errexit = hook.errexit,]],
		tests = { "tests/cli/workflow_confine.bats: a shell step, a claude step and their hooks write only where the workflow says" } },

	-- the channel between a command and its supervisor
	{ "A program that a command starts makes no success of a failed command", [[	if (n > 0 && sender != ch->worker && sender >= 0)]],
		[[	if (n > 0 && sender == 0)]], tests = { "tests/cli/channel.bats: a program that writes a result into the command's channel makes a crash of it, not a success",
			"tests/cli/channel.bats: whatever frame a program sends, nothing of it counts" } },
	{ "A program that a command starts makes no success of a failed command", [[	if (t->frame->kind == FRAME_RESULT && t->f->answered)]],
		[[	if (t->frame->kind == FRAME_RESULT && t->f->answered && !t->r->ok)]], tests = { "tests/cli/channel.bats: of two answers neither is believed" } },
	{ "No program of a confined command takes the channel, or another descriptor or the memory of the worker (`pidfd_getfd`, `ptrace`, `/proc/PID/fd`, `/proc/PID/mem`)",
		[[ || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)]], [[)]],
		tests = { "tests/cli/confined_programs.bats: no program takes its worker's channel, descriptors or memory" } },
	{ "No program of a confined command takes the channel, or another descriptor or the memory of the worker (`pidfd_getfd`, `ptrace`, `/proc/PID/fd`, `/proc/PID/mem`)",
		[[	bound(kept);
]], [[	bound(kept |= 1 << 19 | 1 << 21);
]], tests = { "tests/cli/confined_programs.bats: no program takes its worker's channel, descriptors or memory" } },
	{ "… nor those of the supervisor", [[	b->ruleset = confine_open(abi, &masks);]], [[	b->ruleset = what.write || what.read ? confine_open(abi, &masks) : (errno = ENOMSG, -1);]],
		tests = { "tests/cli/confined_programs.bats: no program takes its worker's channel, descriptors or memory" } },
	{ "No program of a confined command takes away the limits of the supervisor: the answer is written", [[
	{ SYS_prlimit64, EPERM, { { 0 } } },
]], "", tests = { "tests/cli/confined_programs.bats: no program takes the supervisor's limits away, and the answer is there" } },
	{ "What comes through the channel is data: no effect outside that was not fixed before `run`", [[[FRAME_AUDIT] = { take_audit, BEFORE_RUN }]],
		[[[FRAME_AUDIT] = { take_audit, WHILE_OPEN }]], tests = { "tests/cli/channel.bats: a command that names a ledger from within run has nothing written to it" } },

	-- files
	{ "another user who may write to a folder on the way can't lead it elsewhere", [[
	if (why && strcmp(why, OWNER_WORLD_WRITABLE) != 0)
		return refuse_foreign(k, &st);
	return why]], [[
	if (why && strcmp(why, OWNER_WORLD_WRITABLE) != 0)
		why = NULL;
	return why]], tests = NEIGHBOUR },
	{ "another user who may write to a folder on the way can't lead it elsewhere", [[
	return why ? refuse(k, why, "others could put]], [[
	return why && k->make ? refuse(k, why, "others could put]], tests = NEIGHBOUR },
	{ "no link of another user is followed on the way", [[	if (k->shared || !owner_is_trusted(&st, k->at))]], [[	if (k->shared && st.st_uid == geteuid())]], tests = NEIGHBOUR },
	{ "no mount is passed where another user could have made it", [[	int fd = way_open_entry(k->way->dir, name, FOLDER, !k->shared);
]], [[	int fd = way_open_entry(k->way->dir, name, FOLDER, true);
]], tests = NEIGHBOUR },
	{ "another user's entry in a folder for all stays, also as root", [[	return owner_is_trusted(&st, k->at) ? 0 : refuse_foreign(k, &st);]], [[	return 0;]],
		tests = { "tests/fault/neighbour.bats: what is another user's own in a folder for all stays, also as root" } },
	{ "what goes is only what is below the directory that was opened", [[	return way_open_entry(dir, name, flags, false);]], [[	return way_open_entry(dir, name, flags, true);]],
		tests = { "tests/fault/bystanders.bats: what is mounted in the run's directory survives its removal",
			"tests/fault/bystanders.bats: fs.remove_tree leaves what is mounted, names it, and removes the rest" } },

	{ "`--output` follows no link that another user put in the place of the file", [[			if not safe then
				return nil, why]], [[			if not safe and #why == 0 then
				return nil, why]],
		tests = { "tests/fault/two_users.bats: --output follows no link of a third user in a folder for all, and writes there what is asked for" } },
	{ "an `output_file` goes into no file of another user", [[	local ok, why, errno = fs.check_way(path)
]], [[	local ok, why, errno = true, nil, nil
]], tests = NEIGHBOUR },

	-- secrets
	{ "A declared secret is `***` in all that leaves a run: stderr, logs, progress, steps, errors, data, rows, jobs, MCP, ledger, traces, pages",
		[[		return f->has & (texts | BIT(F_name));]], [[		return f->has & texts;]],
		tests = { "tests/cli/secret_streams.bats: no way of writing a secret shows it: the answer, stderr, the ledger and the trace",
			"tests/cli/secrets.bats: the value of a secret argument appears nowhere" } },
	{ "A declared secret is `***` in all that leaves a run: stderr, logs, progress, steps, errors, data, rows, jobs, MCP, ledger, traces, pages",
		[[static const uint64_t fragments = BIT(F_data) | BIT(F_context) |]], [[static const uint64_t fragments = BIT(F_data) |]],
		tests = { "tests/cli/secret_streams.bats: no way of writing a secret shows it: the answer, stderr, the ledger and the trace",
			"tests/cli/secrets.bats: the value of a secret argument appears nowhere" } },
	{ "It doesn't matter how it is written: in pieces, byte by byte, in a long line, twice, on the line of another",
		[[		if (hit.begun && !whole)
			return at;]], [[		if (hit.begun && !whole && at > 0)
			return at;]],
		tests = { "tests/cli/secret_streams.bats: no way of writing a secret shows it: the answer, stderr, the ledger and the trace" } },
	{ "A command doesn't begin before its secrets are hidden", [[	return answer == '+' ? 0 : -1;]], [[	return 0;]],
		tests = { "tests/cli/secrets.bats: a command does not begin where its supervisor can't hide its secrets" } },
	{ "A secret stands on no command line, and in the environment of no program that isn't given it",
		[[		local shown = from == "flag" or from == "positional" or from == "payload" and parsed.framework.raw_payload]],
		[[		local shown = from == "flag" or from == "payload" and parsed.framework.raw_payload]],
		tests = { "tests/cli/secrets.bats: a secret argument that is wrong is not repeated, and no child of ours gets it" } },

	-- who may, and who did
	{ "A server of MCP shows nothing of another project: no job, run, task, log, row of the ledger, nor that it is there",
		[[	return not M.is_closed() or project == M.own()]], [[	return fence() == nil or project == M.own()]],
		tests = { "tests/cli/scope.bats: a server of MCP has nothing of another project by any method, tool or resource, as if it were not there" } },
	{ "A server of MCP shows nothing of another project: no job, run, task, log, row of the ledger, nor that it is there",
		[[	return (record.project or own) == own and]], [[	return]],
		tests = { "tests/cli/scope.bats: a server of MCP has nothing of another project by any method, tool or resource, as if it were not there" } },
	{ "Under a policy with `folders` so does every call, and a project that no folder covers shows nothing",
		[[	return os.getenv(SERVED) ~= nil or fence() ~= nil]], [[	return os.getenv(SERVED) ~= nil]],
		tests = { "tests/cli/scope.bats: a whole ID works from anywhere on the command line, and --all names the project of each" } },
	{ "Under a policy with `folders` so does every call, and a project that no folder covers shows nothing",
		[[		if policy.folders and not covers(policy.folders, root) then]], [[		if policy.folders and not policy.folders[1] then]],
		tests = { "tests/cli/scope.bats: a whole ID works from anywhere on the command line, and --all names the project of each" } },
	{ "Calls that only wait leave a server of MCP room for others, and are bounded",
		[[self[waits and "waits" or "slots"]:take(r)]], [[self.slots:take(r)]],
		tests = { "tests/cli/mcp_waits.bats: four calls of each kind that wait, and 40 of them, leave room for a call that answers" } },
	{ "Calls that only wait leave a server of MCP room for others, and are bounded",
		[[	if waits and self.waits:is_full() then]], [[	if waits and self.waits:is_full() and not r.caller then]],
		tests = { "tests/cli/mcp_waits.bats: four calls of each kind that wait, and 40 of them, leave room for a call that answers" } },
	{ "A name in a [policy](reference/policy.md#names) means the commands that `policy check` lists, or every call is refused",
		[[		pattern = "^" .. name:gsub("[-._]", "[-._]"):gsub]], [[		pattern = "^" .. name:gsub("[._]", "[._]"):gsub("%-", "%%-"):gsub]],
		tests = { "tests/cli/policy_names.bats: each of 18 spellings, allowed or denied, means the command or is refused at each of six doors" } },
	{ "A name in a [policy](reference/policy.md#names) means the commands that `policy check` lists, or every call is refused",
		[[	elseif not rule.optional then
		local other = near(rule, entries)]], [[	elseif not rule.optional and near(rule, entries) then
		local other = near(rule, entries)]],
		tests = { "tests/cli/policy_names.bats: a rule that may mean nothing says so, and a typo is told what it may have meant" } },
	{ "A person who confirms a call sees every argument of it", [[	local most = math.max(LEAST, math.min(MOST, ALL // math.max(#rows, 1)))
]], [[	local most = math.max(LEAST, math.min(MOST, ALL // math.max(#rows, 1)))
	table.move({}, 1, #rows, 1, #rows > 200 and rows or {})
]], tests = { "tests/lua/core/visible_spec.lua: are all there where there are many" } },
	{ "A person who confirms a call sees every argument of it", [[		return a.size < b.size or a.size == b.size and a.name < b.name]], [[		return a.name < b.name]],
		tests = { "tests/lua/core/visible_spec.lua: are each shown, cut by themselves, the largest last" } },
	{ "No text that a client of MCP is sent hides or reorders characters", [[
	local clean = M.value(message)
	clean.id = message.id]], [[
	local clean = message.error and message or M.value(message)
	clean.id = message.id]],
		tests = { "tests/cli/mcp.bats: nothing that a client is sent hides or turns around what a person or a model reads, and no page has a second name" } },
	{ "A server's pages are files of the project's `docs/`", [[about.type == "file" and about.nlink == 1 and]], [[about.type == "file" and]],
		tests = { "tests/cli/mcp.bats: nothing that a client is sent hides or turns around what a person or a model reads, and no page has a second name" } },
	{ "A server's pages are files of the project's `docs/`", [[	local about = #out < COUNT_MAX and fs.lstat(path)]], [[	local about = #out < COUNT_MAX and fs.stat(path)]],
		tests = { "tests/cli/mcp.bats: pages, tools and runs are resources, and nothing else can be read" } },
	{ "The [audit ledger](reference/audit.md) says who confirmed, declined or refused a call, and which user it was",
		[[	server:record(r, declined and "declined" or "refused", {]], [[	server:record(r, "refused", {]],
		tests = { "tests/cli/audit_decisions.bats: what a client of MCP confirms, declines and is refused names the client and its transport" } },
	{ "A policy that allows `mcp serve` and one command serves this command alone",
		[[ipairs(builtin and not denies and callers_of((name:gsub(SELF, ""))) or {})]],
		[[ipairs(not denies and (builtin and callers_of((name:gsub(SELF, ""))) or not builtin and { "mcp.serve" }) or {})]],
		tests = { "tests/cli/policy_names.bats: a policy that allows a server and one command makes a server of this command, and nothing more" } },
}
