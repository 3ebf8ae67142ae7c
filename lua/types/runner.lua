---@meta runner
-- Written by 'runner types'; changes here are lost.
-- luacheck: ignore

---A duration: "500ms", "2s", "5m", "1h", or a number of seconds; 0 or "none" means no limit.
---@alias runner.Duration string|number

---The table that a command file returns.
---@class runner.Command
---@field description string one sentence for help
---@field danger_level "safe"|"mutating"|"destructive" safe: it changes nothing
---@field run fun(args: table<string, any>, ctx: runner.Context): any returns `data`; nil or false and a message is a failure; must survive being killed and started again
---@field args? runner.Arg[] the arguments, in order
---@field shell? string the script that it is in place of run: arguments are variables, the variadic one is "$@"
---@field interpreter? string|string[] what runs the script, "bash -e"; default "sh -e", or what its first line says ("#!…")
---@field program? string[] the program that it is in place of run: what run = { "stylua", "." } of a task becomes
---@field env? table<string, string|number|false> variables for its script or program; "$NAME" in a value stands for another; false removes one
---@field status? string a script that succeeds where there is nothing to do; with sources, both must say so
---@field confirm? string the question of a destructive command: "Really drop it?"
---@field parallel? (string|table)[] commands that are run at once, after those of needs, their lines with their names
---@field quiet? boolean the output of its script is shown only if it fails
---@field output? "data" what its script prints on stdout is the result: JSON, else a text
---@field task? boolean it is a task (docs/reference/tasks.md): its result names no effect
---@field timeout? runner.Duration limit for the whole run: all attempts and waits; default "30s"
---@field attempt_timeout? runner.Duration limit for one attempt; default none
---@field idle_timeout? runner.Duration limit for silence: no output and no progress; default none
---@field grace? runner.Duration time to clean up between TERM and KILL; default "2s"
---@field retry? runner.Retry which failures are retried, and how; default: none
---@field exit_codes? table<string, runner.ExitCode> overrides of the registry, and codes of your own from 79 to 125
---@field steps? string[] the names that ctx:step may report, in order
---@field validate? fun(args: table<string, any>): (string|runner.Problem)[]? problems between arguments; must have no side effects
---@field cleanup? fun(ctx: runner.Context) runs at the end of every attempt, within `grace`
---@field stdin? boolean|runner.Stdin true: give run the caller's stdin; a table: read it before run, into ctx.input; default false: it is empty
---@field requires? runner.Rule[] rules between arguments
---@field interactive? boolean it may prompt on the terminal (ctx:prompt, ctx:confirm)
---@field hidden? boolean don't list it among the commands
---@field columns? string[] the columns that a table has in any case, and first
---@field limits? runner.Limits resource limits of an attempt
---@field examples? runner.Example[] for help
---@field schema_version? string of `data`, "1.0"
---@field required_scopes? string[] permissions it needs, shown in help
---@field requires_person? boolean only a person at a terminal may run it, who types its name; needs interactive = true
---@field arguments? "passthrough" all that stands behind its name goes to another program, in args.argv (ctx:delegate)
---@field help_argv? string[] of such a command: the words that ask that program for help, for a lone --help
---@field stderr? "child_log" what its programs write to stderr goes to stderr as it comes (docs/reference/stderr.md)
---@field stdout? "protocol" it serves a protocol on stdin and stdout; needs protocol
---@field protocol? string the name of that protocol: "mcp-stdio", "lsp", "dap" or another
---@field streams? boolean|string it passes rows on while it runs (ctx:emit): adds --stream; or the boolean argument with which it does
---@field rows_may_repeat? boolean a retry may emit rows again; each then has a field `attempt`
---@field rows? string|boolean the member of the result that holds the rows of tsv, jsonl, plain, table and id; true: the result itself is that list. Else, without list and streams, the whole result is one row
---@field list? boolean it returns a list, or a table with `items`: adds --limit, --cursor and --sort, and meta.pagination
---@field truncates? boolean a JSON answer above --max-bytes (1 MiB) loses the ends of its longest texts and lists, and meta.truncated says so; else it may have 16 MiB
---@field default_limit? integer items of a list without --limit; default 20; 0: all
---@field preserve_locale? boolean what it starts keeps the caller's locale; default false: LC_ALL is C.UTF-8
---@field older_versions? table<string, fun(data: any): any> makes a result into its form of an older version: { ["1.0"] = … }; adds --schema-version
---@field primary_id_field? string the field of an item that identifies it; --format id prints these
---@field confine? {write?: string[], read?: string[], network?: false|{hosts?: string[], ports?: integer[], udp?: boolean}, capabilities?: string[], required?: boolean} what run and all that it starts may reach: only these paths may be written to, or read; network = false: no network, else only these ports, or these hosts by ctx:http; capabilities: those of root that it keeps; required = false: a kernel that can't hold it is a warning
---@field subprocess? {binary: string, user_controlled_args?: string[], hardcoded_args?: string[]} the program that it passes arguments to: those that user_controlled_args names are refused with shell characters or line breaks
---@field option_placement? "any"|"strict" strict: behind the first positional argument nothing is an option; default any
---@field output_schema? table JSON Schema (draft 07) of the result; a result that breaks it comes with a warning
---@field mcp? boolean|"prompt"|{resource: string, mime_type: string?} what it is to agents (runner mcp serve): false: nothing; "prompt": no tool but a prompt, whose text it returns; resource: no tool but what a URI names, in which {NAME} stands for an argument
---@field keywords? string[] what else a caller may call it, for searches: { "rollout", "go live" }
---@field introduced_in? string the version that brought it
---@field deprecated_in? string the version since which it should not be used: callers get a warning
---@field replacement? string the command to use instead; needs deprecated_in
---@field removed_in? string the version that will remove it; needs deprecated_in
---@field platform? string[] operating systems that it is made for, { "linux" }; elsewhere it warns
---@field required_tools? table<string, string> programs that it starts and their lowest versions, "*" for any: runner doctor checks them
---@field dry_run? boolean run handles dry runs: it is called with ctx.dry_run, and ctx notes changes instead of making them
---@field safe_default? boolean a destructive command does a dry run unless --live is given
---@field auth? boolean it signs in: adds --headless and --token-env-var; ctx.token has the token, and appears nowhere else
---@field headless_supported? boolean of a command that signs in: can it do so without a browser?
---@field token_env_vars? string[] variables that may hold the token of a command that signs in
---@field requires_editor? boolean it opens an editor (ctx:edit); needs interactive and non_interactive_alternatives
---@field non_interactive_alternatives? string[] arguments with which it needs no editor
---@field gui_operations? string[] what it opens with ctx:open_url and ctx:open_path, { "browser" }; needs headless_behavior
---@field headless_behavior? "emit_in_output"|"skip"|"error" what these do where no window can open: name it in data, warn, or fail
---@field config_write_scope? "local"|"global"|"session" where ctx:save_settings writes: the project; the user, with --global; the run
---@field filesystem_side_effects? runner.SideEffect[] files that it leaves; one of type "cache" adds --no-cache and --cache-ttl
---@field spawns_background_process? boolean it leaves a process behind; needs cleanup_command and max_lifetime_seconds
---@field cleanup_command? string the command line that ends the process it leaves
---@field max_lifetime_seconds? integer after which the process it leaves ends
---@field resumable? boolean it may begin at a later step: adds --resume-from; ctx:step returns false for those before it
---@field aliases? string[] other names for it, each a word: { "d", "ship" }
---@field needs? (string|table)[] commands that run before it, each once for the whole call: { "build", { "test", only = "unit" } }; { "test", only = { arg = "only" } } hands on an argument of its own
---@field cwd? "project"|"caller"|string where it works: in the project's folder, where its caller stands, or in a directory of the project; default "project" for tasks and with sources, else "caller"
---@field sources? string[] files that it is made from, as patterns: it does nothing while these, its arguments and what it generates are unchanged; adds --rebuild
---@field generates? string[] files that it makes, as patterns; needs sources
---@field breaker? runner.Breaker after so many failures within window ("1m") calls are UNAVAILABLE for pause ("30s"), in every process
---@field hosts? table<string, runner.HostLimits> what holds for hosts that its ctx:http asks, in every process: { ["api.example.org"] = { rate = "10/min" } }
---@field rate? string how often it may be called, in every process: "10/min", "100/30s"; a call too many is UNAVAILABLE
---@field rollback? fun(args: table<string, any>, ctx: runner.Context, error: runner.Error) undoes what a failed run did: adds --rollback-on-failure
---@field async? boolean every call goes on in the background, as with --detach
---@field interruption? { detach?: boolean, resume?: boolean, idle_timeout_ms?: integer, max_lifetime_ms?: integer } calls off a terminal answer within --budget; what isn't done by then goes on as a job (detach), or stops at a checkpoint (resume)
---@field has_network_io? boolean it talks to the network: adds --connect-timeout, --proxy and --no-proxy

---What a file of tasks returns: tasks.lua, or a command file that is a group of commands.
---@class runner.Tasks
---@field tasks? table<string, runner.Task|table<string, runner.Task>> those of tasks.lua by name; a table of tasks is a group
---@field commands? table<string, runner.Task|table<string, runner.Task>> the same of a group
---@field env? table<string, string|number|false> variables for all of them
---@field cwd? "project"|"caller"|string where they work
---@field interpreter? string|string[] what runs their scripts

---A task: every key of a command, and its description as the first text.
---@class runner.Task : runner.Command
---@field [1]? string its description
---@field run? string[]|fun(args: table<string, any>, ctx: runner.Context): any a program and its words, or a function

---One argument: { "target", "enum", values = { "prod", "dev" }, required = true }.
---@class runner.Arg
---@field [1]? string its name
---@field [2]? "string"|"path"|"enum"|"integer"|"number"|"boolean"|"duration"|"json"|"array" its type
---@field name? string instead of [1]: lower-case letters, digits, _ and -; the flag has - for _
---@field type? "string"|"path"|"enum"|"integer"|"number"|"boolean"|"duration"|"json"|"array" instead of [2]
---@field items? "string"|"path"|"enum"|"integer"|"number"|"boolean"|"duration"|"json" type of an array's items
---@field description? string for help
---@field required? boolean must be given
---@field default? any the value if it is not given, or function(config)
---@field values? string[]|fun(config: table): string[] of an enum
---@field min? number|string smallest number or duration
---@field max? number|string largest number or duration
---@field min_length? integer fewest characters, or items of an array
---@field max_length? integer most characters, or items of an array
---@field pattern? string an anchored regular expression, or uuid, semver, url, alphanumeric_id, filepath
---@field positional? boolean given by position, without a flag
---@field variadic? boolean positional, and takes all values that follow
---@field short? string one letter: -n
---@field env? string environment variable to read if it is not given
---@field env_fallbacks? string[] variables to read if that is not set either, in this order
---@field code? string error code for an invalid value, instead of INVALID_ARGUMENT
---@field suggestion? string shown for an invalid value
---@field max_bytes? integer|string most bytes of a text, "4KiB"; a longer one is FIELD_TOO_LARGE
---@field within? string directory that a path may not leave, relative to the working directory
---@field schema? table of a json argument: JSON Schema (draft 07) of its value
---@field pipe_compatible? boolean the value - stands for stdin: its one line, or each of its lines as an item of an array
---@field secret? boolean its value appears nowhere: *** replaces it in messages, data, logs, history and plans; --NAME-from-env and --NAME-from-file keep it off the command line

---A rule between arguments: if_flag, if_value and then_required; if_flag and prohibited; if_flag, target_flag and default;
---any_of; or one_of.
---@class runner.Rule
---@field if_flag? string the argument that the rule is about; a default or a false doesn't count as given
---@field if_value? any with then_required: the value that makes them necessary
---@field then_required? string[] arguments that must be given then
---@field prohibited? string[] arguments that may not be given beside if_flag
---@field target_flag? string the argument that gets `default` where if_flag is not given
---@field default? any the value of target_flag
---@field any_of? string[] at least one of them must be given
---@field one_of? string[] exactly one of them must be given

---What a command reads before it runs: from --input-file, or from stdin.
---@class runner.Stdin
---@field type? "text"|"bytes"|"json" what ctx.input is: UTF-8, any bytes, or the decoded value; default text
---@field max_bytes? integer|string of stdin; default "64KiB"; a file may be larger
---@field required? boolean without data the command ends with STDIN_REQUIRED; default true. false: only --input-file is read
---@field schema? table JSON Schema (draft 07) of the value

---When and how often a failure is retried.
---@class runner.Retry
---@field retries? integer retries, 0 to 1000; a bound is required: this, delays, or max_delay with a timeout
---@field delay? runner.Duration base delay; default "1s"
---@field strategy? "constant"|"linear"|"exponential"|"fibonacci"|"custom" default exponential
---@field max_delay? runner.Duration cap on one delay; default "30s"
---@field delays? runner.Duration[] the delays themselves
---@field jitter? number|"full"|"equal"|"decorrelated"|"none" 0.25: ±25 %, the default
---@field on? string[] error codes or exit names to retry on; default: every retryable one without side effects
---@field maybe? boolean also retry on retryable = "maybe"
---@field seed? integer seed of the jitter

---@class runner.RetryEvent
---@field attempt integer the attempt that failed
---@field max_attempts integer 0 if only time limits them
---@field code string
---@field message string
---@field delay_ms integer

---The policy of ctx:retry and ctx:http.
---@class runner.RetryLoop : runner.Retry
---@field on_retry? fun(event: runner.RetryEvent) called before each delay

---What an error code means for this command.
---@class runner.ExitCode
---@field code? integer 79 to 125, for a code of your own
---@field description? string for help
---@field retryable? boolean|"maybe" is it safe to repeat the identical call?
---@field side_effects? "none"|"partial"|"complete" how much may have been done
---@field retry_after_ms? integer how long to wait
---@field retry_strategy? "immediate"|"linear_backoff"|"exponential_backoff" how to wait

---@class runner.SideEffect
---@field path string the file or directory
---@field type "cache"|"log"|"temp"|"credential"|"config"|"output"
---@field ttl_seconds? integer after which it is stale
---@field clearable_with? string a command line that removes it

---@class runner.Limits
---@field memory? string|integer "256MiB", bytes, or "none"; default "1GiB", for the Lua state only
---@field cpu? string|number CPU time from the start of run: "10s", seconds, or "none"; default none
---@field processes? integer processes and threads at a time, besides the command's own; default none
---@field open_files? integer file descriptors per process, at least 16; default none

---@class runner.Example
---@field command string a command line
---@field description? string what it does

---A problem that validate found.
---@class runner.Problem
---@field field? string the argument
---@field message string what is wrong
---@field code? string default VALIDATION_ERROR
---@field value? any as given
---@field suggestion? string which values are valid
---@field fix_required? string what to correct

---@class runner.Breaker
---@field failures integer 1 to 1000
---@field window? runner.Duration default "1m"
---@field pause? runner.Duration default "30s"

---@class runner.HostLimits of a host that ctx:http asks; one of the two at least
---@field rate? string requests of every process: "10/min", "100/30s"; one too many is UNAVAILABLE and isn't sent
---@field breaker? runner.Breaker after so many failures requests are UNAVAILABLE for a while

---What runner.lua does around the commands of a group.
---@class runner.Hooks
---@field before? fun(ctx: runner.Context, call: runner.HookCall) called before each of them
---@field after? fun(ctx: runner.Context, call: runner.HookCall) called behind each of them

---@class runner.HookCall the call that a hook of runner.lua stands around
---@field command string "db.migrate"
---@field args table<string, any>
---@field attempt integer
---@field danger_level string
---@field ok? boolean in `after`: whether it succeeded
---@field data? any in `after`: what run returned
---@field error? runner.Error in `after`: its failure

---The table that runner.lua returns.
---@class runner.Project
---@field name? string what help, and a bundle or a link of that name, call the tool
---@field description? string what it is for, in a sentence: `runner` alone shows it
---@field version? string of the tool
---@field commands? string folder of the command files; default "commands"
---@field config? table any values; scripts read them as ctx.config
---@field audit? boolean|{path?: string, required?: boolean, sync?: boolean} write down every call: where (audit.jsonl in the state directory), whether nothing may run without, whether each row is on the disk before anything goes on
---@field changelog? string JSON file that runner changelog shows
---@field hosts? table<string, runner.HostLimits> how often a host may be asked by ctx:http, and after what failures not, in every process: { ["api.example.org"] = { rate = "10/min" } }
---@field aliases? table<string, string|string[]> other names for commands: { dp = "deploy --target prod" }; words are quoted as for a shell
---@field dotenv? boolean|string|string[] files of NAME=value lines that set variables; true: ".env"
---@field before? fun(ctx: runner.Context, call: runner.HookCall) called before each of its commands; what it raises is the call's failure
---@field after? fun(ctx: runner.Context, call: runner.HookCall) called behind each of its commands; a failure is a warning
---@field groups? table<string, runner.Hooks> the same for the commands of a group: { db = { before = … } }
---@field contexts? table<string, runner.Project> settings by name, for --context
---@field scopes? string[]|fun(config: table): string[]? what the caller's credential may do; nil: no user is signed in
---@field telemetry? boolean|runner.TelemetrySettings traces of its commands' calls and of its workflows' runs are exported (docs/workflows/telemetry.md)
---@field retention? runner.Retention how long the runs of its workflows are kept; default: for ever
---@field notify? string|string[] a program, or a text for a shell, that is called when a call begins to wait for a person: RUNNER_APPROVAL names it, and stdin has it as JSON (docs/leash.md)
---@field executors? table<string, runner.ExecutorSettings> where steps of its workflows may run, by name (docs/scale.md)
---@field dependencies? runner.Dependency[] programs that its commands need: in the manifest, checked by runner doctor
---@field exit_table? "standard"|"classic" which exit numbers to use
---@field timeout? runner.Duration default for every command
---@field attempt_timeout? runner.Duration default for every command
---@field idle_timeout? runner.Duration default for every command
---@field grace? runner.Duration default for every command
---@field retry? runner.Retry default for every command

---Whether and how a project exports traces (docs/workflows/telemetry.md).
---@class runner.TelemetrySettings
---@field content? boolean labels, messages and outputs of steps are exported too
---@field file? string a file that gets the spans, relative to the project; a collector is set in the environment
---@field service_name? string the default of OTEL_SERVICE_NAME

---Which runs of its workflows a project keeps (docs/workflows/storage.md).
---@class runner.Retention
---@field older_than? runner.Duration those that ended so long ago go
---@field max_size? integer|string "1GiB": oldest first, what exceeds this size of logs and outputs goes
---@field keep? integer the newest stay in any case; alone: all others go
---@field failed? boolean those that failed may go too
---@field interrupted? boolean those that were interrupted may go too, unless a step is in doubt

---A place where steps of workflows may run (docs/scale.md).
---@class runner.ExecutorSettings
---@field kind? "slurm"|"command"|"local" required, here or in the workflow file
---@field directory? string a folder that every node sees under the same path
---@field partition? string of Slurm, or whatever the programs make of it; so are account and qos
---@field account? string who pays
---@field qos? string quality of service
---@field cpus? integer of a task
---@field gpus? integer|string of a task: 2, "a100:2"
---@field memory? string|string[] of a task: "4G"; a list: the next one after it ran out of memory
---@field time? runner.Duration of a task
---@field at_once? integer tasks of one submission that run at the same time, at most
---@field poll? runner.Duration between two looks at the queue; default 5s
---@field submit_rate? number|string submissions per second, "10/m"; default 1
---@field options? string[] further words for the program that submits
---@field prologue? string shell text that runs on the node in front of runner
---@field environment? table<string, string> environment variables of the task
---@field via? string "ssh HOST": a machine of the cluster that this one reaches by ssh; directory and programs are there
---@field runner? string path of runner on the nodes; default: our own
---@field submit? string[] kind "command": the program that submits, and its first arguments; so are the next two
---@field states? string[] the one that tells what became of submissions
---@field cancel? string[] the one that ends them

---A program or service that the commands of a project need.
---@class runner.Dependency
---@field name string of the program
---@field min_version string the lowest that will do, "*" for any
---@field check_command? string prints its version; default: NAME --version. No shell reads it
---@field max_version? string the highest that is known to work: runner doctor warns above it
---@field fix_command? string a command line that installs it

---The details of a failure, besides its code.
---@class runner.Failure
---@field retryable? boolean|"maybe" is it safe to repeat the identical call?
---@field retry_after_ms? integer
---@field retry_strategy? "immediate"|"linear_backoff"|"exponential_backoff"
---@field side_effects? "none"|"partial"|"complete"
---@field suggestion? string
---@field fix_required? string what must change before a retry
---@field fix_command? string a command line that fixes it
---@field detail? string
---@field errors? table[] several problems, one row each
---@field context? table facts
---@field redirect? string|{command: string, permanent?: boolean, reason?: "renamed"|"restructured"|"deprecated"|"typo_corrected"} with REDIRECTED: the call to make instead
---@field data? any the results so far
---@field cause? string what made it fail, in one sentence
---@field docs_url? string where to read about it
---@field conflict_id? string with ALREADY_EXISTS: what is there
---@field expires_at? string when a credential expired, ISO 8601
---@field refresh_command? string a command line that renews it
---@field required_permission? string with PERMISSION_DENIED

---The error that a failed ctx method or ctx:fail raises.
---@class runner.Error : runner.Failure
---@field code string ^[A-Z][A-Z0-9_]+$
---@field message string
---@field phase? string
---@field retries_exhausted? integer

---ctx.fs: the functions of `require "fs"`; a failure raises: NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED,
---RESOURCE_EXHAUSTED, TIMEOUT or GENERAL_ERROR, with the errno in `context`.
---@class runner.Fs
local Fs = {}

---What a path leads to.
---@param path string
---@return fs.Stat stat
function Fs.stat(path) end

---What a path is: a symbolic link is not followed.
---@param path string
---@return fs.Stat stat
function Fs.lstat(path) end

---The names in a directory, sorted.
---@param path string
---@return string[] names
function Fs.list(path) end

---Make a directory.
---@param path string
---@param mode? integer
---@return true
function Fs.mkdir(path, mode) end

---Make a directory and what is missing above it; one that exists is fine.
---@param path string
---@param mode? integer
---@return true
function Fs.mkdirs(path, mode) end

---@param from string
---@param to string
---@return true
function Fs.rename(from, to) end

---@param target string
---@param link string
---@return true
function Fs.symlink(target, link) end

---@param path string
---@return string target
function Fs.readlink(path) end

---The absolute path without links, "." and "..".
---@param path string
---@return string path
function Fs.realpath(path) end

---Remove a file or a link.
---@param path string
---@return true
function Fs.unlink(path) end

---Remove an empty directory.
---@param path string
---@return true
function Fs.rmdir(path) end

---Remove a path and everything below it; neither links nor mounts are entered, and no way is gone that others could change.
---@param path string
---@return true
function Fs.remove_tree(path) end

---Can only you and root change where a path leads? A mode makes the folders that are missing on the way.
---@param path string
---@param mode? integer
---@return true
function Fs.check_way(path, mode) end

---Set a file's time to now; makes it when it is missing.
---@param path string
---@return true
function Fs.touch(path) end

---A whole file; EFBIG when it has more than `max` bytes (256 MiB).
---@param path string
---@param max? integer
---@return string text
function Fs.read(path, max) end

---Write a whole file: readers see the old one or the new one, also after a crash.
---@param path string
---@param text string
---@param mode? integer
---@param durable? boolean false: don't wait for the disk; a power loss may then empty or undo it
---@return true
function Fs.write(path, text, mode, durable) end

---Add a line to a regular file, which is made if it is missing: the whole line, or nothing.
---@param path string
---@param line string with its newline
---@param mode? integer of a new file
---@return integer offset of the line, in bytes
function Fs.append(path, line, mode) end

---Write a file whose name is free, else EEXIST: of those that try at once, one does.
---@param path string
---@param text string
---@return true
function Fs.create(path, text) end

---Wait until a file or directory is on the disk.
---@param path string
---@return true
function Fs.fsync(path) end

---The same for all below a path.
---@param path string
---@return true
function Fs.fsync_tree(path) end

---Put a finished file in the place of another, with its owner and, without a mode, its permissions.
---@param from string
---@param to string
---@param mode? integer
---@return true
function Fs.replace(from, to, mode) end

---Point a link elsewhere from one instant to the next.
---@param target string
---@param link string
---@return true
function Fs.swap_symlink(target, link) end

---Copy a path and all below it.
---@param from string
---@param to string
---@return true
function Fs.copy_tree(from, to) end

---Lock a file; LOCK_HELD when another process has it. ctx:lock does more.
---@param path string
---@param options? {shared?: boolean, wait_ms?: integer}
---@return fs.Lock lock
function Fs.lock(path, options) end

---Who holds the lock of a file for itself alone: {pid, since, age_ms}; nil when no process does. Nothing is made or written.
---@param path string
---@return table? holder
function Fs.locked(path) end

---Watch files and directories that are there, to sleep until one changes, is closed by a writer, moved or removed, or something comes or goes in a directory. What another machine does is not noticed.
---@param path string
---@param ... string
---@return fs.Watch watch
function Fs.watch(path, ...) end

---Change the permission bits of what a path leads to.
---@param path string
---@param mode integer 0x1ed is rwxr-xr-x; tonumber("755", 8) says so
---@return true
function Fs.chmod(path, mode) end

---The paths that match a pattern, sorted: * and ? in a name, [a-z], {one,two}, ** for any directories.
---Names with a dot in front match only where the pattern has one; ** enters no link.
---@param pattern string
---@param dir? string that a relative pattern starts at, and that the paths are relative to; default: the working directory
---@return string[] paths
function Fs.glob(pattern, dir) end

---Every path below a directory and its fs.Stat, in order of names: for path, stat in fs.walk(dir) do. No link is followed.
---@param dir string
---@return fun(): string?, fs.Stat?
function Fs.walk(dir) end

---Copy a file of any size with its permissions; one that is there is replaced at once, by the whole copy. Links are followed.
---@param from string
---@param to string
---@return true
function Fs.copy(from, to) end

---Make an empty file with a name of its own that only this user may read.
---@param dir? string default: ctx.tempdir, which is gone after the run
---@param suffix? string of its name: ".json"
---@return string path
function Fs.tempfile(dir, suffix) end

---The digest of a file's bytes, in hexadecimal.
---@param path string
---@param algorithm? "sha256"|"sha512"|"sha384"|"sha1"|"md5" default "sha256"
---@return string digest
function Fs.hash(path, algorithm) end

---Is there something at the path? A dangling link is something too.
---@param path string
---@return boolean
function Fs.exists(path) end

---The variables of the environment: ctx.env.HOME is a text or nil; a method gives a value of its type. Raises PRECONDITION
---where the variable is missing without a default, or wrong.
---@class runner.Env
---@field [string] string?
---@field string fun(self: runner.Env, name: string, default?: string): string
---@field integer fun(self: runner.Env, name: string, default?: integer): integer
---@field number fun(self: runner.Env, name: string, default?: number): number
---@field boolean fun(self: runner.Env, name: string, default?: boolean): boolean 1, true, yes, on; 0, false, no, off
---@field duration fun(self: runner.Env, name: string, default?: number): number seconds
---@field list fun(self: runner.Env, name: string, default?: string[]): string[] a,b

---What runner offers to a running command.
---@class runner.Context
---@field env runner.Env the variables of the environment, with types
---@field args table<string, any> the checked arguments
---@field attempt integer 1 for the first
---@field max_attempts? integer nil if only time limits them
---@field previous? {code: string, message: string, completed_steps: string[]?, progress: any} the previous attempt
---@field config table `config` of runner.lua
---@field root? string the project's directory, which paths in runner.lua are relative to
---@field tempdir string a temporary directory, removed after the run
---@field input any the data of a command that declares `stdin` as a table: a string, or the decoded JSON
---@field fs runner.Fs files, like `require "fs"`, but raising
---@field dry_run boolean nothing may change: this is a dry run
---@field request_id string the run's ID, the same in every attempt
---@field interactive boolean true if run has a terminal: the command declares interactive, and there is one
---@field token? string of a command that declares auth: what the caller signs in with
---@field headless boolean no person is at a terminal, or --headless was given
local Context = {}

---Fail with a code from the registry or exit_codes. Raises an ordinary error that pcall catches.
---@param code string
---@param message? string
---@param fields? runner.Failure
function Context:fail(code, message, fields) end

---Begin a step; the previous one is completed.
---@param name string one of the declared steps
---@return boolean wanted false: --resume-from names a later one, so that this is to be left out
function Context:step(name) end

---Skip a step.
---@param name string
function Context:skip(name) end

---Report progress; the envelope has it if a limit, a signal or a crash ends the run.
---@param progress number|table a fraction from 0 to 1, or data such as { done = 3, total = 10, unit = "files" }, whose `done` never falls
---@param suggestion? string how to continue from here: becomes `error.suggestion` of such an envelope, until the next one
function Context:progress(progress, suggestion) end

---Pass on a row at once, in a command that declares `streams`: a line of `--format jsonl` and of
---the table on a terminal. For any other format it becomes one of `data.items`. Waits while
---it is not read.
---@param row table named fields, at most 1 MiB as JSON
function Context:emit(row) end

---Mark data from outside (a file, a server, a program) as untrusted: `_source` and `_trusted` in it; in each item of a list.
---@param data any
---@return any
function Context:external(data) end

---The state that the same call saved last with ctx:checkpoint, whatever ended it; nil: begin at the beginning.
---@param fingerprint? string what the state depends on, such as a digest of the input: with another one the work starts over
---@return table? state
function Context:restore(fingerprint) end

---Save how far the work is, so that the same call can go on from here. Over the call's budget it raises INCOMPLETE, once
---the state is saved. The command declares interruption = { resume = true }.
---@param state table JSON of at most 1 MiB with a number `done`, and `total` and `unit` if they are known; no secrets
function Context:checkpoint(state) end

---Hand a file to the caller: it is moved to a directory that only the user can enter, mode 0600, and kept for five minutes.
---`cleanup` in the result says how to remove it sooner: { command, auto_cleanup_after_seconds }.
---@param path string a file, such as one in ctx.tempdir
---@return string path where it is now, to be returned in the result
function Context:hand_out(path) end

---Attach a file to the answer: an image, a sound, a report. It is kept for a day once the call has succeeded, mode 0600:
---`meta.attachments` names it, and a client of MCP gets it with the result. Attached again, the same name replaces it. At most
---16 files of 16 MiB in all.
---@param spec string|runner.AttachSpec a path, or what to attach
---@return {name: string, mime_type: string, bytes: integer}
function Context:attach(spec) end

---Write a log line to stderr.
---@param level "debug"|"info"|"warn"|"error"|string the level, or the message at level info
---@param message? string
function Context:log(level, message) end

---Add a warning to the envelope.
---@param code string such as SLOW_DISK
---@param message string
---@param context? table
function Context:warn(code, message, context) end

---Sleep; ends at once if the attempt is cancelled.
---@param duration runner.Duration
function Context:sleep(duration) end

---Seconds until the attempt's deadline; math.huge if there is none.
---@return number
function Context:remaining() end

---Call fn at the end of the attempt, before `cleanup`; last deferred, first called.
---@param fn fun()
function Context:defer(fn) end

---Run a program with our stdin, stdout and stderr, and end with its status. Only with arguments = "passthrough" or stdout = "protocol".
---@param spec runner.DelegateSpec
---@return {exit_code: integer}
function Context:delegate(spec) end

---Run a program and wait for it: ctx:run{ "git", "rev-parse", "HEAD" }. Never a shell. A failure raises, unless check = false.
---@param spec runner.RunSpec
---@return runner.Result
function Context:run(spec) end

---Run another command: returns its data, or raises the error it ended with. It inherits the deadline; its retries are made within those that the caller has left, and its warnings are in the answer.
---@param name string "deploy", or "db migrate"
---@param args? table<string, any>|string[] values by name, or words
---@return any data
function Context:call(name, args) end

---Start a program in the background. It ends with the attempt, unless detach = true.
---@param spec runner.SpawnSpec
---@return runner.Process
function Context:spawn(spec) end

---Run programs, each reading the stdout of the previous one. If any of them fails, that raises, unless check = false.
---@param spec runner.PipelineSpec
---@return runner.PipelineResult
function Context:pipeline(spec) end

---Send an HTTP request. A failure raises NETWORK_ERROR, RATE_LIMITED, UNAVAILABLE …, unless check = false.
---@param spec runner.HttpSpec
---@return runner.HttpResult
function Context:http(spec) end

---Call fn(n) until it returns, as often as the policy allows. Returns its values or raises its last error.
---@generic T
---@param fn fun(n: integer): T
---@param policy? runner.RetryLoop default 3 retries
---@return T
function Context:retry(fn, policy) end

---Take a lock between processes, or raise LOCK_HELD. Released at the end of the attempt.
---@param name string
---@param options? runner.LockOptions
---@return runner.Lock
function Context:lock(name, options) end

---Hand the terminal to a program that a person works with (psql, ssh, an editor), and wait for its end. Needs interactive = true and a person at a terminal; else INPUT_REQUIRED.
---@param spec runner.ExecSpec
---@return runner.Result
function Context:exec(spec) end

---Have the person choose one of a list, by its number or the beginning of its name; raises INPUT_REQUIRED if it can't prompt.
---@param question string
---@param choices string[]
---@param options? {default?: string, arg?: string} default: the answer to Enter alone; arg: the argument to suggest if it can't prompt
---@return string
function Context:select(question, choices, options) end

---Prompt for a line of text; raises INPUT_REQUIRED if it can't prompt.
---@param question string
---@param options? runner.PromptOptions
---@return string
function Context:prompt(question, options) end

---Prompt for yes or no; --yes answers yes.
---@param question string
---@param options? {default?: boolean}
---@return boolean
function Context:confirm(question, options) end

---Have a person at the terminal type a text exactly; raises PERSON_REQUIRED or ATTESTATION_MISMATCH.
---@param statement string what is confirmed
---@param expected string what must be typed
function Context:attest(statement, expected) end

---Call fn for each item, whatever becomes of the others: a row in `results` for each. Raises PARTIAL_FAILURE, with the
---same data, if any failed.
---@param items any[]
---@param fn fun(item: any, i: integer): any what it returns stands in the item's row
---@return {summary: {total: integer, succeeded: integer, failed: integer}, results: table[]}
function Context:each(items, fn) end

---Do several things at once, and wait for all: what they return comes back under the same keys. The first failure ends
---what still runs and is raised; with `collect` all go on, and each key has { ok, value } or { ok, error }.
---@param items table<any, (fun(ctx: runner.Context, key: any): any)|{run: runner.RunSpec}|{http: runner.HttpSpec}>
---@param options? {limit?: integer, collect?: boolean} limit: how many at once, 1 to 256, default 8
---@return table<any, any>
function Context:parallel(items, options) end

---Let the person edit a text: $VISUAL, $EDITOR, else vi. Raises EDITOR_REQUIRED where no person is at a terminal. A dry
---run opens nothing, and the text stays as it is.
---@param text? string what the editor shows first
---@param name? string of the file: its ending tells the editor what it holds
---@return string text as the editor left it
function Context:edit(text, name) end

---Open a URL in the browser. Where no window can open, `data.open_url` names it, unless headless_behavior says otherwise.
---@param url string http:// or https://
---@return boolean opened
function Context:open_url(url) end

---Open a file or directory, as open_url.
---@param path string
---@return boolean opened
function Context:open_path(path) end

---The value that an earlier run kept under this key, else what make() returns, which is kept. The command declares a cache.
---@generic T
---@param key string
---@param make fun(): T what it raises passes through, and nil is not kept
---@return T value as JSON would bring it, kept or not
function Context:cached(key, make) end

---The values that ctx:save_settings has saved, those of the project over those of the user.
---@return table<string, any>
function Context:settings() end

---Save values for later runs, beside those saved before; json.null removes one. The command declares config_write_scope.
---@param values table<string, any>
---@return string path of the file
function Context:save_settings(values) end

---What ctx:attach attaches: one of `path` and `data`.
---@class runner.AttachSpec
---@field path? string a regular file
---@field data? string the bytes themselves
---@field name? string by which the caller knows it; default: that of the file
---@field mime_type? string "image/png"; default: as the ending of the name says, else text/plain or application/octet-stream

---Options of every function that starts a program.
---@class runner.StageSpec
---@field [integer] string the program and its arguments
---@field cwd? string
---@field env? table<string, string|number|false> added to our environment; false unsets a variable
---@field ok_statuses? integer|integer[] exit statuses that are not failures; default 0
---@field stop_signal? string asks it to end, in place of TERM: "INT", "QUIT", "HUP", "USR1", "USR2", "WINCH"

---@class runner.CommonSpec : runner.StageSpec
---@field grace? runner.Duration time to end before KILL; default: the command's `grace`
---@field capture? boolean keep its output; default true
---@field cap? integer bytes to keep of each stream, head and tail; default 1 MiB
---@field foreground? boolean it may use the terminal
---@field reads? boolean it changes nothing, so a dry run runs it too
---@field check? boolean raise when it fails; default true. false: look at the result's ok

---@class runner.CheckedSpec : runner.CommonSpec
---@field stdin? string|file* the bytes it reads, or an open file; default: nothing
---@field timeout? runner.Duration
---@field on_line? fun(line: string, stream: "stdout"|"stderr") called for each line as it arrives; lines above 64 KiB come in pieces
---@field echo? boolean its lines go to stderr as they come, and are captured as well; --quiet silences them
---@field retry_on? runner.RetryOn which failures to raise as retryable

---@class runner.RunSpec : runner.CheckedSpec
---@field merge? boolean send stderr to stdout

---@class runner.ExecSpec
---@field [integer] string the program and its arguments
---@field cwd? string
---@field env? table<string, string|number|false> added to our environment; false unsets a variable
---@field timeout? runner.Duration
---@field grace? runner.Duration time to end before KILL; default: the command's `grace`
---@field stop_signal? string asks it to end, in place of TERM: "INT", "QUIT", "HUP", "USR1", "USR2", "WINCH"
---@field check? boolean raise when it fails; default true
---@field ok_statuses? integer[] exit statuses that are no failure; default { 0 }
---@field reads? boolean it changes nothing, so a dry run runs it too

---@class runner.DelegateSpec
---@field [integer] string the program and its arguments
---@field cwd? string
---@field env? table<string, string|number|false> added to our environment; false unsets a variable
---@field stdin? string|file* the bytes it reads, or an open file; default: the caller's stdin
---@field grace? runner.Duration time to end before KILL; default: the command's `grace`
---@field stop_signal? string asks it to end, in place of TERM: "INT", "QUIT", "HUP", "USR1", "USR2", "WINCH"
---@field timeout? runner.Duration
---@field foreground? boolean it may use the terminal
---@field reads? boolean it changes nothing, so a dry run runs it too

---@class runner.SpawnSpec : runner.CommonSpec
---@field stdin? string|file*|true the bytes it reads, an open file, or true for process:write
---@field merge? boolean send stderr to stdout
---@field detach? boolean let it outlive the run
---@field stdout? string a file for its stdout
---@field stderr? string a file for its stderr

---@class runner.PipelineSpec : runner.CheckedSpec
---@field [integer] runner.StageSpec the programs

---@class runner.RetryOn
---@field exit? integer|integer[] exit statuses
---@field stderr? string text to find in stderr
---@field pattern? string Lua pattern to find in stderr
---@field code? string the code to raise; default UNAVAILABLE
---@field retry_after_ms? integer

---@class runner.Result
---@field ok boolean it exited with status 0, or one of ok_statuses
---@field status? integer exit status; nil if it was killed or never started
---@field signal? string "SIGTERM" …
---@field stdout string
---@field stderr string
---@field stdout_dropped integer bytes dropped from the middle
---@field stderr_dropped integer
---@field duration_ms integer
---@field truncated boolean output was dropped
---@field incomplete boolean a background process still held the output
---@field timed_out boolean
---@field error? string why it could not be started
---@field output_lost? boolean reading its output failed, or there was no memory for it (truncated is true then)
---@field starved? boolean writing to its stdin failed on our side (ok is false then)
---@field errno? string "ENOENT" …
---@field suggestion? string

---@class runner.PipelineResult : runner.Result
---@field stages runner.Result[]
---@field failed_stage? integer

---A program in the background.
---@class runner.Process
---@field pid integer
local Process = {}

---Wait for it to end; nil if it is still running after `timeout`. A failure raises, unless spawn was given check = false.
---@param timeout? runner.Duration
---@return runner.Result?
function Process:wait(timeout) end

---Send a signal to it and its process group; false if it is gone.
---@param signal? string|integer default "SIGTERM"
---@return boolean
function Process:kill(signal) end

---Is it still running?
---@return boolean
function Process:alive() end

---Write to its stdin (stdin = true). When it reads no more, that raises; with check = false: nil and why.
---@param text string
---@return boolean? ok
---@return string? message
function Process:write(text) end

---Close its stdin.
function Process:close_stdin() end

---Iterate over its lines as they arrive, until it ends or `timeout` is over: for line, stream in process:lines() do
---@param timeout? runner.Duration
---@return fun(): string?, string?
function Process:lines(timeout) end

---End it: TERM, grace, KILL. A detached process keeps running.
function Process:close() end

---@class runner.HttpSpec
---@field url string http:// or https://
---@field method? string default GET, or POST with a body
---@field query? table<string, string|number|boolean|table> appended to the URL; a list repeats the name
---@field headers? table<string, string|number|string[]>
---@field body? string
---@field json? any encoded as the body, with its Content-Type
---@field from? string a file as the body, of any size
---@field to? string a file for the body of a success (2xx), of any size; it appears whole or not at all, and replaces one that is there
---@field auth? string[]|{user: string, password: string} Basic authentication
---@field bearer? string
---@field timeout? runner.Duration for the whole request, redirects included; default "30s"
---@field connect_timeout? runner.Duration default "10s"
---@field follow? boolean follow redirects; default true
---@field max_redirects? integer 0 to 10; default 10
---@field check? boolean raise on failure; default true
---@field retry? runner.HttpRetry retry failures that are certainly retryable

---@class runner.HttpRetry : runner.RetryLoop
---@field any_method? boolean retry POST and PATCH too

---@class runner.HttpResult
---@field ok boolean
---@field status? integer nil if there was no response
---@field headers table<string, string> lower-case names
---@field body string
---@field json any the decoded body; raises if it is not JSON
---@field json_error? string why a body that claims to be JSON isn't
---@field path? string with `to`: the file that was written; body is ""
---@field size? integer its bytes
---@field url string the final URL, after redirects
---@field duration_ms integer
---@field error? runner.Error the failure, with check = false

local HttpResult = {}

---The decoded body; nil and why when it is not JSON.
---@return any value
---@return string? why
function HttpResult:try_json() end

---@class runner.LockOptions
---@field wait? runner.Duration how long to wait for the lock; default "10s"
---@field shared? boolean a lock that readers can share
---@field path? string the lock file; default: named after the lock, under XDG_STATE_HOME
---@field code? string the code to raise instead of LOCK_HELD

---A held lock.
---@class runner.Lock
---@field path string
---@field shared boolean
local Lock = {}

---Release it; the end of the attempt does so too.
function Lock:release() end

---@class runner.PromptOptions
---@field default? string the answer if the user only presses Enter
---@field secret? boolean don't echo the input
---@field multiline? boolean|"editor" several lines, up to an empty one or Ctrl+D; "editor": in the person's editor, which shows the default
---@field validate? fun(answer: string): boolean?, string? returns true, or nil and what is wrong
---@field arg? string the argument to suggest if it can't prompt
