-- compliance: a stored mutant for each row of docs/compliance.md that is done (catalogue.lua says what one is).

return {
	{ "REQ-F-004", [[
	json_key(w, "warnings");
	json_begin_array(w);
	if (run->warnings.rows.len > 0)
		json_raw(w, run->warnings.rows.data, run->warnings.rows.len);
	json_end_array(w);
]], [[
	if (run->warnings.rows.len > 0) {
		json_key(w, "warnings");
		json_begin_array(w);
		json_raw(w, run->warnings.rows.data, run->warnings.rows.len);
		json_end_array(w);
	}
]] },
	{ "REQ-F-039", [[	member_int(w, "duration_ms", run_duration_ms(run));]], [[	member_int(w, "duration_ms", 0);]] },
	{ "REQ-F-080", [[	wait(job, a.job.budget_ms)]], [[	wait(job, 10 * a.job.budget_ms)]] },
	{ "REQ-F-010", [[CHILD_ENV(ALWAYS,    "GIT_PAGER",       "cat",         "as PAGER")]], [[]] },
	{ "REQ-F-022", [[
	member_cstr(w, "schema_version", run->plan.schema_version);]], [[
	member_cstr(w, "schema_version", RUNNER_VERSION);]] },
	{ "REQ-F-006", [[	local at = detail and detail:find("stack traceback:", 1, true)]], [[	local at = nil]] },
	{ "REQ-F-007", [[	return c == '\r' || c == '\x1b';]], [[	return c == '\x1b';]] },
	{ "REQ-F-016", [[#define REPLACEMENT "\xef\xbf\xbd"]], [[#define REPLACEMENT "?"]] },
	{ "REQ-F-017", [[
value = require("runner.core.encoding").base64(bytes), size_bytes = #bytes,]], [[
value = require("runner.core.encoding").base64(bytes), size_bytes = #require("runner.core.encoding").base64(bytes),]] },
	{ "REQ-F-021", [[below.format == "date-time" and VOLATILE[name] then]], [[below.format == "date-time" and name == "now" then]] },
	{ "REQ-F-023", [[
		member_cstr(w, "tool_version", RUNNER_VERSION);]], [[
		member_cstr(w, "tool_version", run->plan.schema_version);]] },
	{ "REQ-F-024", [[		member_cstr(w, "trace_id", run->launch.trace_id);]], [[		member_cstr(w, "trace_id", run->request_id);]] },
	{ "REQ-F-024", [[		member_cstr(w, "request_id", run->request_id);]], [[		(void)when;]] },
	{ "REQ-F-027", [[		member_cstr(w, "cwd", run->cwd);]], [[		member_cstr(w, "cwd", ".");]] },
	{ "REQ-F-060", [[	if (run->stdout_tap.total == 0)
		return;]], [[	if (run->stdout_tap.total < 64)
		return;]] },
	{ "REQ-F-072", [[	if (s[0] == '\r') { /* a line overwritten: REQ-F-007 */
		*unit = UNIT_DROP;]], [[	if (s[0] == '\r') {
		*unit = UNIT_CLEAN;]] },
	{ "REQ-F-074", [[	if next(value) == nil and takes(schema, "array") and]], [[	if false and takes(schema, "array") and]] },
	{ "REQ-F-001", [[EXIT(REDIRECTED,        13, 13, FALSE, NONE,]], [[EXIT(REDIRECTED,         3, 13, FALSE, NONE,]] },
	{ "REQ-F-001", [[	member_raw(w, "redirect", &r->redirect);]], [[]] },
	{ "REQ-F-002", [[	if (v->hints.entry == EXIT_ENTRY_ARG_ERROR && r->entered_run)
		return 1;]], [[]] },
	{ "REQ-C-001", [[	if (!v->hints.known && !v->report.exit_code) {]], [[	if (false) {]] },
	{ "REQ-C-013", [[	json_str(w, buf_cstr(&r->message), r->message.len);]], [[	json_str(w, "", 0);]] },
	{ "REQ-C-014", [[	if (shown == RETRYABLE_TRUE || h->rate_limited)
		member_int(w, "retry_after_ms",]], [[	if (h->rate_limited)
		member_int(w, "retry_after_ms",]] },
	{ "REQ-C-028", [[		text = e.place, data = encoded("data", attempt.wrap(e.data)),]], [[		text = e.place,]] },
	{ "REQ-O-025", [[
!run->plan.warnings_as_errors || count == 0)]], [[
!run->plan.warnings_as_errors || count <= 1)]] },
	{ "REQ-F-011", [[
		[EV_LIMIT] = reach_limit,     [EV_SIGNAL] = cancel,      [EV_INSIST] = cancel,]], [[
		[EV_SIGNAL] = cancel,      [EV_INSIST] = cancel,]] },
	{ "REQ-F-012", [[
		if (r->verdict == VERDICT_LIMIT || (r->entered_run && r->steps.count > 0 && !block_is_wanted(run)))]], [[
		if (r->entered_run && r->steps.count > 0 && !block_is_wanted(run))]] },
	{ "REQ-F-012", [[	context_str(r, "limit", names[r->limit]);
	partial_data(r, false);]], [[	context_str(r, "limit", names[r->limit]);]] },
	{ "REQ-F-013", [[		return r->signal == SIGINT ? 130 : 143;]], [[		return 130;]] },
	{ "REQ-F-069", [[		return r->signal == SIGINT ? 130 : 143;]], [[		return 143;]] },
	{ "REQ-F-069", [[	if (signals_insisted())]], [[	if (false)]] },
	{ "REQ-F-014", [[
	return error == EPIPE && run->verdict.report.ok && run->plan.safe &&]], [[
	return error == EPIPE && run->verdict.report.ok && !run->plan.safe &&]] },
	{ "REQ-F-030", [[	if (a->gone)
		return term_all(a);
	a->ended = true;]], [[	return kill_all(a);
	a->ended = true;]] },
	{ "REQ-F-031", [[	if (a->gone)
		return term_all(a);
	a->ended = true;]], [[	return kill_all(a);
	a->ended = true;]] },
	{ "REQ-F-049", [[
		[EV_GONE] = end_the_rest,     [EV_EMPTY] = over,         [EV_SIGNAL] = term_worker,]], [[
		[EV_GONE] = over,             [EV_EMPTY] = over,         [EV_SIGNAL] = term_worker,]] },
	{ "REQ-F-078", [[
	enum retryable shown = run->verdict.exhausted ? RETRYABLE_FALSE : h->retryable;]], [[
	enum retryable shown = h->retryable;]] },
	{ "REQ-C-017", [[if attempt.ctx then
	clean_up(attempt)]], [[if attempt.ctx and not answer.error then
	clean_up(attempt)]] },
	{ "REQ-F-003", [[
launch->format = launch->stdout_is_tty && !launch->ci ? FORMAT_TEXT : FORMAT_JSON;]], [[
launch->format = launch->stdout_is_tty || !launch->ci ? FORMAT_TEXT : FORMAT_JSON;]] },
	{ "REQ-F-003", [[
launch->format = launch->stdout_is_tty && !launch->ci ? FORMAT_TEXT : FORMAT_JSON;]], [[
launch->format = launch->stdout_is_tty ? FORMAT_TEXT : FORMAT_JSON;]] },
	{ "REQ-F-015", [[	if s.count <= MAX_PROBLEMS then]], [[	if s.count <= 1 then]] },
	{ "REQ-C-006", [[
	return rules.list(returned, 0, math.huge, problem)]], [[
	return rules.list({ returned[1] }, 0, math.huge, problem)]] },
	{ "REQ-F-045", [[(?!(?:.*/)?\.\.(?:/|$))]], [[(?!\.\.(?:/|$))]] },
	{ "REQ-F-059", [[	elseif w.out[#w.out] == "," then
		w.out[#w.out] = nil]], [[	elseif w.out[#w.out] == "," then
		return false]] },
	{ "REQ-F-067", [[			options = options and not (strict and s.slot >= strict)]], [[			options = false]] },
	{ "REQ-F-067", [[	elseif into[name] ~= value and s.texts[row] and s.texts[row] ~= text then]], [[	elseif false then]] },
	{ "REQ-F-067", [[		elseif token == "--" then
			options = false]], [[		elseif token == "--" then
			options = true]] },
	{ "REQ-C-020", [[local IDS = { ["^id$"] = true, ["[_-]id$"] = true,]], [[local IDS = { ["^id$"] = true,]] },
	{ "REQ-C-026", [[	if is_present(s, rule.if_flag) then
		for _, row]], [[	if false then
		for _, row]] },
	{ "REQ-C-026", [[			add(s, "needed", row_of(s, flag), row, rule.if_value)]], [[]] },
	{ "REQ-C-027", [[			options = options and not (strict and s.slot >= strict)]], [[]] },
	{ "REQ-O-009", [[	if only and not e then]], [[	if false then]] },
	{ "REQ-O-032", [=[		if ON_LINE[s.given[row.name]] then]=], [[		if false then]] },
	{ "REQ-C-003", [[	if not EFFECTS[effect] then]], [[	if effect and not EFFECTS[effect] then]] },
	{ "REQ-C-004", [[wrapper = a.command.dry_run and "runner.ctx.dry_run" or false ]], [[]] },
	{ "REQ-C-005", [[	if attempt.framework.yes then
		return true
	end]], [[]] },
	{ "REQ-C-005", [[	elseif flags.non_interactive then
		return "--non-interactive was given"
	elseif launch.ci then]], [[	elseif launch.ci then]] },
	{ "REQ-C-007", [[	elseif row.state == "done" then
		return row]], [[	elseif row.state == "done" then
		return own(db, id, call)]] },
	{ "REQ-C-036", [[	elseif answer ~= expected then]], [[	elseif answer == "" then]] },
	{ "REQ-O-021", [[
	if framework.confirm_destructive or by_live or launch.confirmed or vouched or launch.job and a.policy and a.policy.asked then]], [[
	if framework.confirm_destructive or by_live or launch.confirmed or vouched or framework.yes then]] },
	{ "REQ-O-021", [[
		context = { would_affect = require("runner.json").array(would_affect), danger_level]], [[
		context = { danger_level]] },
	{ "REQ-O-048", [[		or a.command.safe_default and not framework.live or false]], [[		or false]] },
	{ "REQ-C-008", [[		if (!r->ok && r->entered_run)
			merge_data(r);]], [[]] },
	{ "REQ-C-010", [[ipairs(n.spawns_background_process and BACKGROUND or {})]], [[ipairs({})]] },
	{ "REQ-C-022", [[status_command = command(project, "status", job.id),]], [[status_command = command(project, "logs", job.id),]] },
	{ "REQ-C-033", [[				if n.interruption.resume and n.stdin == true then]], [[				if false then]] },
	{ "REQ-C-034", [[	if math.type(done) and most and done < most and not fell then]], [[	if false then]] },
	{ "REQ-C-035", [[	local saved = key and checkpoints.read(key)]], [[	local saved = nil]] },
	{ "REQ-F-081", [[
	host.send("RUN", { timeout_ms = settled.serve_ms, idle_timeout_ms = settled.stall_ms })]], [[
	host.send("RUN", { timeout_ms = settled.serve_ms })]] },
	{ "REQ-F-082", [[	data.continue_command = data.wait_command ..]], [[	data.continue_command = data.status_command ..]] },
	{ "REQ-F-082", [[	local again = same_call()]], [[	local again = "runner " .. attempt.name]] },
	{ "REQ-O-010", [[	if from and comes_before(name, from) then]], [[	if false then]] },
	{ "REQ-O-011", [[	if a.framework.rollback_on_failure then]], [[	if false then]] },
	{ "REQ-O-001", [[	if framework.output and FORMATS[framework.output] then]], [[	if false then]] },
	{ "REQ-O-042", [[values = formats(), env = "RUNNER_FORMAT",]], [[values = formats(),]] },
	{ "REQ-O-002", [[			out[i] = picked(item, names)]], [[			out[i] = item]] },
	{ "REQ-F-018", [[report(a, { total = display.get "goes_on" and json.null or #all, returned = returned,]],
		[[report(a, { total = display.get "goes_on" and json.null or #all, returned = #all,]] },
	{ "REQ-F-019", [[M.DEFAULT_LIMIT = 20]], [[M.DEFAULT_LIMIT = 30]] },
	{ "REQ-O-003", [[	if cursor and cursor ~= M.cursor(offset, digest) then]], [[	if false then]] },
	{ "REQ-F-020", [[	if schema.ordered == false and json.is_array(value) then]], [[	if false then]] },
	{ "REQ-F-040", [[	return schema.format == "path" and absolute(text) or text]], [[	return text]] },
	{ "REQ-F-052", [[	if not room or not items[1] or M.size(items) + M.size(around) <= room then]], [[	if true then]] },
	{ "REQ-F-064", [[	add_cuts(out, cuts, warnings[1] != ']');]], [[	(void)warnings;]] },
	{ "REQ-O-005", [[	return run->plan.format == FORMAT_ID && !r->ok &&]], [[	return false && !r->ok &&]] },
	{ "REQ-O-007", [[	"duration_ms", "request_id", "timestamp", "retry_history",]], [[	"duration_ms", "request_id", "retry_history",]] },
	{ "REQ-O-014", [[current = current, shape = older.shape }]], [[current = current, shape = function(data) return data end }]] },
	{ "REQ-O-049", [[		last = used + mark <= room and i or last]], [[		last = used <= room and i or last]] },
	{ "REQ-O-004", [[	elseif a.format == "jsonl" then
		return lines]], [[	elseif a.format == "jsonl" then
		return kept]] },
	{ "REQ-F-053", [[CHILD_ENV(ALWAYS,    "PYTHONUNBUFFERED", "1",          "Python's output arrives as it is written")]], [[]] },
	{ "REQ-F-053", [[
		return problem
	end
	return { add = add, written = true, as_they_are = not (changes or a.mask), finish = function(facts) return facts end }]], [[
		return problem
	end
	return { add = function(row) a[#a + 1] = row end, written = true, finish = function(facts)
		for _, row in ipairs(a) do
			add(row)
		end
		return facts
	end }]] },
	{ "REQ-O-012", [[	if interval and not framework.quiet then]], [[	if false then]] },
	{ "REQ-O-038", [[
	return a.framework.heartbeat_ms or a.format == "jsonl" and written and HEARTBEAT_MS or 0]], [[
	return a.format == "jsonl" and written and HEARTBEAT_MS or 0]] },
	{ "REQ-F-057", [[
	elseif not attempt.launch.headless and not ctx.dry_run and started(ctx, target) then]], [[
	elseif not ctx.dry_run and started(ctx, target) then]] },
	{ "REQ-C-024", [[
	WITHOUT[attempt.command.headless_behavior or "emit_in_output"](what, target)]], [[
	WITHOUT.emit_in_output(what, target)]] },
	{ "REQ-F-055", [[CHILD_ENV(NO_PERSON, "GIT_EDITOR",      "true",        "as EDITOR")]], [[]] },
	{ "REQ-F-046", [[CHILD_ENV(ALWAYS,    "LESS",            "-F -X -R",]], [[CHILD_ENV(ALWAYS,    "LESS",            "-X -R",]] },
	{ "REQ-F-008", [[CHILD_ENV(NO_COLOR,  "NO_COLOR",        "1",           "no colours")]], [[]] },
	{ "REQ-F-050", [[CHILD_ENV(UNSEEN,    "PIP_DISABLE_PIP_VERSION_CHECK", "1", "pip looks for no update")]], [[]] },
	{ "REQ-F-066", [[CHILD_ENV(LOCALE,    "LC_ALL",          "C.UTF-8",     "messages and numbers are the same everywhere")]], [[]] },
	{ "REQ-O-008", [[	if framework.quiet and framework.verbose then]], [[	if false then]] },
	{ "REQ-F-035", [[		if type(context[name]) == "string" and context[name] ~= "" then
			return require]], [[		if false then
			return require]] },
	{ "REQ-O-023", [[	return a.framework.yes == nil and not launch.person and {]], [[	return false and {]] },
	{ "REQ-F-058", [[	if not M.framework.unmask and host.may_hold_secrets(text) then]], [[	if false then]] },
	{ "REQ-O-037", [[	if not M.framework.unmask and host.may_hold_secrets(text) then]], [[	if host.may_hold_secrets(text) then]] },
	{ "REQ-F-063", [[expires_at = text, refresh_command = text,]], [[refresh_command = text,]] },
	{ "REQ-O-013", [[
	return document(a, (require("runner.core.portable_schema").of(a.command.output_schema or {})))]], [[
	return document(a, {})]] },
	{ "REQ-C-015", [[	if ok and problems[1] then]], [[	if false then]] },
	{ "REQ-C-019", [[local METACHARACTERS = "[;|&$()<>`\\\n\r]"]], [[local METACHARACTERS = "[|&()<>`\\\n\r]"]] },
	{ "REQ-C-012", [[
milliseconds(spec, "connect_timeout", attempt.framework.connect_timeout or "10s")]], [[
milliseconds(spec, "connect_timeout", "10s")]] },
	{ "REQ-C-030", [[			or name == "fix_command" and has_placeholder(v) then]], [[			then]] },
	{ "REQ-C-009", [[	if failed > 0 then
		data.partial = true]], [[	if failed == #results then
		data.partial = true]] },
	{ "REQ-C-023", [[	for _, row in ipairs(alternatives(command)) do
		if given[row.name] then]], [[	for _, row in ipairs({}) do
		if given[row.name] then]] },
	{ "REQ-F-054", [[	elseif length > most then]], [[	elseif length > most and row then]] },
	{ "REQ-O-039", [[	return nil, parse_again(a, { payload = text })]], [[	return nil, parse_again(a, {})]] },
	{ "REQ-O-006", [[	if #lines == 0 then
		return wrong(row, "EMPTY_STDIN",]], [[	if false then
		return wrong(row, "EMPTY_STDIN",]] },
	{ "REQ-O-022", [[	local text, why = SOURCES[row.source](name)]], [[	local text, why = name, nil]] },
	{ "REQ-C-016", [[				parsed.problems[#parsed.problems + 1] = { field = row.name, code = "SECRET_ON_COMMAND_LINE", message = message,
					suggestion = fix, fix_required = fix }]], [[				attempt.warn("SECRET_ON_COMMAND_LINE", message)]] },
	{ "REQ-C-021", [[	if attempt.token or not needs_token(command, framework) then]], [[	if true then]] },
	{ "REQ-C-021", [[		#names == 1 and names[1] .. " is" or table.concat(names, ", ") .. " are"),
		("Set %s to a token"):format(table.concat(names, " or ")), { auth_methods = methods })]], [[
		#names == 1 and names[1] .. " is" or table.concat(names, ", ") .. " are"),
		("Set %s to a token"):format(table.concat(names, " or ")), {})]] },
	{ "REQ-O-033", [[
	return framework.token_env_var and { framework.token_env_var } or command.token_env_vars or {}]], [[
	return command.token_env_vars or {}]] },
	{ "REQ-O-033", [[	return attempt.framework.headless or not attempt.launch.person]], [[	return not attempt.launch.person]] },
	{ "REQ-F-033", [[
		{ context = { lock_file = lock.path, holder_pid = holder.pid, holder_age_ms = holder.age_ms } })]], [[
		{ context = { lock_file = lock.path } })]] },
	{ "REQ-O-018", [[	return age >= 0 and not (ttl and age >= ttl) and entry.value or nil]], [[	return age >= 0 and entry.value or nil]] },
	{ "REQ-O-018", [[
	local ttl = given.no_cache and 0 or given.cache_ttl or cache.ttl_seconds]], [[
	local ttl = given.cache_ttl or cache.ttl_seconds]] },
	{ "REQ-C-025", [[	elseif not attempt.framework.global then
		return of_project(ctx)
	end]], [[	end]] },
	{ "REQ-C-025", [[	local lock <close> = ctx:lock("settings:" .. path) -- luacheck: ignore]], [[]] },
	{ "REQ-F-032", [[	host.setenv("RUNNER_TEMPDIR", path)]], [[]] },
	{ "REQ-F-032", [[		status = remover_remove(&removal, run->session_dir);]], [[		status = 0;]] },
	{ "REQ-F-043", [[	move(path, to)]], [[	ctx.fs.copy(path, to)]] },
	{ "REQ-F-034", [[	if (!secret_name(c->s + name, length))]], [[	if (length > 8 || !secret_name(c->s + name, length))]] },
	{ "REQ-F-051", [[	if (take_separator(c, name, length, quote)) {]], [[	if (!quote && take_separator(c, name, length, quote)) {]] },
	{ "REQ-F-079", [[		if contract.belongs(row, command) then
			by_name[row.flag] = M.flag(row, config)]], [[		if true then
			by_name[row.flag] = M.flag(row, config)]] },
	{ "REQ-C-029", [[		required_scopes = json.array(command.required_scopes or {}),
		flags = by_name,]], [[		required_scopes = command.required_scopes and json.array(command.required_scopes),
		flags = by_name,]] },
	{ "REQ-O-041", [[builtin = not command.path or nil,]], [[]] },
	{ "REQ-O-041", [[
	out.etag = "fnv1a64:" .. host.digest((assert(json.encode(out))))]], [[
	out.etag = "fnv1a64:" .. host.digest((assert(json.encode(out))) .. attempt.launch.request_id)]] },
	{ "REQ-O-026", [[		if problem and not catalog.is_gone(entry) then
			local name]], [[		if false then
			local name]] },
	{ "REQ-O-031", [[
	elseif least ~= "*" and versions.is_lower(version, least) then]], [[
	elseif least ~= "*" and version < least then]] },
	{ "REQ-C-018", [[	return versions.is_lower(version, least) and failed(check,]], [[	return least == version and failed(check,]] },
	{ "REQ-O-027", [[
	local why = is_too_much(row.path) and "the project or your home directory is in it" or refusal(ctx, row.path)]], [[
	local why = refusal(ctx, row.path)]] },
	{ "REQ-O-027", [[
	cleaned[#cleaned + 1] = { path = row.path, type = row.type, bytes_freed = row.size_bytes }]], [[
	cleaned[#cleaned + 1] = { path = row.path, type = row.type, bytes_freed = 0 }]] },
	{ "REQ-O-028", [[
			side_effects = (all or args.show_side_effects) and declared_files.declared(project) or nil,]], [[
			side_effects = all and declared_files.declared(project) or nil,]] },
	{ "REQ-C-011", [[
			side_effects = (all or args.show_side_effects) and declared_files.declared(project) or nil,]], [[
			side_effects = all and json.array {} or nil,]] },
	{ "REQ-O-029", [[
			entries[#entries + 1] = (not args.since or versions.is_lower(args.since, entry.version)) and entry or nil]], [[
			entries[#entries + 1] = (not args.since or not versions.is_lower(entry.version, args.since)) and entry or nil]] },
	{ "REQ-O-034", [[	rest[#rest + 1] = not shows and DRY_RUN or nil]], [[]] },
	{ "REQ-O-034", [[M.INDEX_MAX = 1500]], [[M.INDEX_MAX = 3000]] },
	{ "REQ-O-047", [[
	return { missing = missing, extra = extra, over_privileged = required[1] ~= nil and extra[1] ~= nil }]], [[
	return { missing = json.array {}, extra = extra, over_privileged = required[1] ~= nil and extra[1] ~= nil }]] },
	{ "REQ-O-047", [[
	return { missing = missing, extra = extra, over_privileged = required[1] ~= nil and extra[1] ~= nil }]], [[
	return { missing = missing, extra = extra, over_privileged = false }]] },
	{ "REQ-C-031", [[	if command.help_argv and #argv == 1 and (argv[1] == "--help" or argv[1] == "-h") then]], [[	if false then]] },
	{ "REQ-C-032", [[	if not BY_CALLER[settled.sources.timeout] then
		settled.serve_ms = 0
	end]], [[]] },
	{ "REQ-O-035", [[			table.insert(drift.missing_from_mcp, row.tool.name)]], [[]] },
	{ "REQ-O-050", [[	local members = { ('"_line":%d'):format(number) }]], [[	local members = { ('"_line":%d'):format(number - 1) }]] },
	{ "REQ-F-075", [[	attempt.warn("DEPRECATED", message_of(command), about)]], [[]] },
	{ "REQ-O-017", [[ cwd = front.cwd and host.getcwd() or nil,]], [[]] },
	{ "REQ-O-016", [[	local settings = { none = front.no_config, config = config,]], [[	local settings = { config = config,]] },
	{ "REQ-O-024", [[	local settings = { none = front.no_config, config = config,]], [[	local settings = { none = front.no_config,]] },
	{ "REQ-O-024", [[	require("runner.core.tables").add(project, chosen)]], [[	for key, v in next, chosen do
		project[key] = project[key] or v
	end]] },
	{ "REQ-O-036", [[	host.setenv("RUNNER_INSTANCE_ID", id)]], [[]] },
	{ "REQ-O-019", [[		host.setenv(name, proxy)]], [[		host.setenv(name, proxy or os.getenv(name))]] },
	{ "REQ-F-005", [[
	if (wants(run, "timestamp"))
		member_cstr(w, "timestamp", rfc3339_format(&run->wall_started, when));]], [[
	char *getenv(const char *);
	const char *locale = getenv("LC_ALL");
	rfc3339_format(&run->wall_started, when);
	if (locale && strncmp(locale, "de", 2) == 0)
		when[10] = ' ';
	if (wants(run, "timestamp"))
		member_cstr(w, "timestamp", when);]] },
	{ "REQ-C-002", [[
	for _, key in ipairs({ "description", "danger_level", "run" }) do]], [[
	for _, key in ipairs({ "description", "run" }) do]] },
	{ "REQ-F-036", [[
	return from_env(url.scheme .. "_proxy", upper, "all_proxy", "ALL_PROXY"),]], [[
	return from_env(url.scheme .. "_proxy", "all_proxy", "ALL_PROXY"),]] },
	{ "REQ-F-037", [[
status_code = details.status or null, proxy_used = proxy or null,]], [[
status_code = details.status or null, proxy_used = null,]] },
	{ "REQ-F-041", [[	if (spec->cwd != NULL && chdir(spec->cwd) < 0)]], [[	if (false)]] },
	{ "REQ-F-044", [[		fail(method, 'no program given: write { "git", "status", … }')
	end
	return argv]], [[		fail(method, 'no program given: write { "git", "status", … }')
	end
	return { "sh", "-c", table.concat(argv, " ") }]] },
	{ "REQ-F-062", [=[		argv[i] = s
	end
	if not argv[1]]=], [=[		for word in s:gmatch "%S+" do
			argv[#argv + 1] = word
		end
	end
	if not argv[1]]=] },
	{ "REQ-F-065", [[		elseif not result.ok then
			return i]], [[		elseif not result.ok and i == #results then
			return i]] },
	{ "REQ-F-071", [[
	int from = lowest;

	for (size_t i = 0; i < keep_count; i++) {]], [[
	int from = lowest += 5;

	for (size_t i = 0; i < keep_count; i++) {]] },
	{ "REQ-F-070", [[	if (is_special(path))
		return write_through(path, bytes, n);
	if (fs_temporary]], [[	if (access(path, F_OK) == 0)
		return write_through(path, bytes, n);
	if (fs_temporary]] },
	{ "REQ-F-009", [[	local many = check_multiline(opts)
	local fields, why = suggestion_for(opts.arg), reason()
	if why then
		raise_required(question, "can't be asked", why, fields)
	end]], [[	local many = check_multiline(opts)
	local fields, why = suggestion_for(opts.arg), reason()
	if why then
		return opts.default or ""
	end]] },
	{ "REQ-F-047", [[	local many = check_multiline(opts)
	local fields, why = suggestion_for(opts.arg), reason()
	if why then]], [[	local many = check_multiline(opts)
	local fields, why = suggestion_for(opts.arg), reason()
	if why then
		for _ = 1, MAX_TRIES do
			_:sleep(0.5)
		end]] },
	{ "REQ-F-038", [[	return strcmp(level, "debug") != 0 && (watched || strcmp(level, "info") != 0);]], [[	(void)watched;
	return strcmp(level, "debug") != 0;]] },
	{ "REQ-F-028", [[
encode(host.digest(text .. context_of(path))) }, true)]], [[
encode(host.digest(path .. context_of(path))) }, true)]] },
	{ "REQ-O-015", [[
		return add(name, host.secret_name(name:match "[^.]*$") and "[REDACTED]" or plain, source)]], [[
		return add(name, plain, source)]] },
	{ "REQ-F-073", [[	if not text or text == "" then
		text = row.env_fallbacks and]], [[	if row.env_fallbacks or not text or text == "" then
		text = row.env_fallbacks and]] },
	{ "REQ-F-073", [[
	{ name = "debug", type = "boolean", env = "RUNNER_DEBUG",]], [[
	{ name = "debug", type = "boolean", env = "DEBUG",]] },
	{ "REQ-F-076", [[	unlink(last.path); /* it says something else */]], [[	(void)!write(2, "Welcome to runner\n", 18);
	unlink(last.path);]] },
	{ "REQ-F-077", [[		make_folders(last.path, last.creatable);
		fd = create(last.path);]], [[		make_folders(last.path, last.creatable);
		fd = create(last.path);
		strcat(last.path, ".id");
		close(create(last.path));]] },
	{ "REQ-F-048", [=[	return DATA[attempt.format]]=], [=[	return false]=] },
	{ "REQ-F-068", [[ or name == locate.SELF or wants_help(a)) then]], [[ or name == locate.SELF) then]] },
	{ "REQ-O-043", [[## CI Validation]], [[## Checks]] },
	{ "REQ-O-044", [[.ci/make deps </dev/null &&]], [[.ci/make deps &&]] },
	{ "REQ-O-045", [[<!-- cli-version: 0.3.0 -->]], [[<!-- cli-version: 0.1.0 -->]] },
	{ "REQ-O-046", [[| `--retries` | retries allowed;]], [[| `--retry` | retries allowed;]] },
	{ "REQ-O-030", [[		args = arguments, args_sha256 = ledger.digest(text) })]], [[		args_sha256 = ledger.digest(text) })]] },
	{ "REQ-F-025", [[		(void)child_env_set("TOOL_TRACE_ID", caller->trace_id);]], [[]] },
	{ "REQ-F-025", [[	if (run->launch.trace_id)
		json_key(&l->w, "trace_id"), json_cstr(&l->w, run->launch.trace_id);]], [[]] },
	{ "REQ-F-029", [[	run.launch.started = mono_now();
	run.prepare = prepare;]], [[	run.launch.started = mono_now();
	run.prepare = prepare;
	int socket(int, int, int), connect(int, const void *, unsigned);
	connect(socket(2, 1, 0), (const char[16]){ 2, 0, 0, 9, 127, 0, 0, 1 }, 16);]] },
	{ "REQ-F-011", [[
	return host.default(name .. "_ms"), "default"]], [[
	return name == "timeout" and 0 or host.default(name .. "_ms"), "default"]] },
	{ "REQ-F-056", [[		return given == 0 and UNLIMITED or math.max(given, LEAST)]], [[		return nil]] },
	{ "REQ-F-013", [[if attempt.ctx then
	clean_up(attempt)]], [[if attempt.ctx and not answer.sent then
	clean_up(attempt)]] },
	{ "REQ-F-043", [[	session_dir.protect(to)]], [[]] },
	{ "REQ-F-033", [[		wait_ms = wait_ms_of(opts.wait), code]], [[		wait_ms = WAIT_DEFAULT_MS, code]] },
	{ "REQ-F-036", [[	return from_env("CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR")]], [[	return nil]] },
	{ "REQ-F-079", [[
	return row and not row.yields or spelling:find("^runner%-") ~= nil]], [[
	return spelling:find("^runner%-") ~= nil]] },
	{ "REQ-O-001", [[	{ name = "format", type = "enum", values = formats(),]], [[	{ name = "format", type = "string",]] },
	{ "REQ-F-050", [[CHILD_ENV(UNSEEN,    "HOMEBREW_NO_AUTO_UPDATE", "1",   "Homebrew looks for no update")]], [[]] },
	{ "REQ-F-046", [[CHILD_ENV(ALWAYS,    "MORE",            "",            "no options of the caller's")]], [[]] },
	{ "REQ-F-055", [[CHILD_ENV(NO_PERSON, "VISUAL",          "true",        "as EDITOR")]], [[]] },
	{ "REQ-F-010", [[CHILD_ENV(ALWAYS,    "PAGER",           "cat",         "no pager waits for a key")]], [[]] },
	{ "REQ-F-008", [[
v.values[AT_NO_COLOR] || launch->ci || is_dumb(v.values[AT_TERM])]], [[
v.values[AT_NO_COLOR] || is_dumb(v.values[AT_TERM])]] },
	{ "REQ-F-008", [[v.values[AT_NO_COLOR] || launch->ci || is_dumb(v.values[AT_TERM])]], [[v.values[AT_NO_COLOR] || launch->ci]] },
	{ "REQ-F-009", [[	elseif launch.ci then
		return automated() or "this runs in a CI system"
	end]], [[	end]] },
	{ "REQ-F-082", [[EXIT(INCOMPLETE,        14, 14,]], [[EXIT(INCOMPLETE,         3, 14,]] },
	{ "REQ-C-001", [[			table.insert(first.error_codes, row.name)]], [[]] },
	{ "REQ-F-015", [[	local undo = command.path and guarded()]], [[	local undo = nil]] },
	{ "REQ-F-045", [[	return why or row.within and not M.is_within(value, row.within) and "outside" or nil]], [[	return why]] },
	{ "REQ-C-018", [[	if command.platform and not M.runs_here(command.platform) then
		attempt.warn(]], [[	if false then
		attempt.warn(]] },
	{ "REQ-C-022", [[cancel_command = command(project, "cancel", job.id),]], [[cancel_command = command(project, "status", job.id),]] },
	{ "REQ-F-035", [[		return { value = data, _source = "external", _trusted = false }
	end
	return require("runner.core.tables").add({ _source = "external", _trusted = false }]], [[		return { value = data, _source = "external", _trusted = false }
	end
	return require("runner.core.tables").add({ _source = "external", _trusted = true }]] },
}
