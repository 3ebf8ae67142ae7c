---@meta runner
-- Written by 'runner types'; changes here are lost.
-- luacheck: ignore

---A duration: "500ms", "2s", "5m", "1h", or a number of seconds; 0 or "none" is no limit.
---@alias runner.Duration string|number

---What a command file returns.
---@class runner.Command
---@field description string one sentence for help
---@field danger_level "safe"|"mutating"|"destructive" safe: it changes nothing
---@field run fun(args: table<string, any>, ctx: runner.Context): any gives `data`; it must bear being killed and started again
---@field args? runner.Arg[] the arguments, in order
---@field timeout? runner.Duration bounds everything: all attempts and waits; default "30s"
---@field attempt_timeout? runner.Duration bounds one attempt; default none
---@field idle_timeout? runner.Duration bounds silence; default none
---@field grace? runner.Duration time to clean up, from TERM to KILL; default "2s"
---@field retry? runner.Retry which failures are repeated, and how; default: none
---@field exit_codes? table<string, runner.ExitCode> overrides of the registry, and codes of your own from 79 to 125
---@field steps? string[] the names that ctx:step may report, in order
---@field validate? fun(args: table<string, any>): (string|runner.Problem)[]? problems of the arguments together; it touches nothing
---@field cleanup? fun(ctx: runner.Context) runs at the end of every attempt, within `grace`
---@field stdin? boolean give run the caller's stdin; default false: it is empty
---@field interactive? boolean it may ask on the terminal (ctx:prompt, ctx:confirm)
---@field hidden? boolean leave it out of the list of commands
---@field columns? string[] columns of a table that come first
---@field limits? runner.Limits what an attempt may use
---@field examples? runner.Example[] for help
---@field schema_version? string of `data`, "1.0"
---@field required_scopes? string[] permissions that it needs, for help

---One argument: { "target", "enum", values = { "prod", "dev" }, required = true }.
---@class runner.Arg
---@field [1]? string its name
---@field [2]? "string"|"path"|"enum"|"integer"|"number"|"boolean"|"duration"|"array" its type
---@field name? string in place of [1]: lower-case letters, digits, _ and -; the flag has - for _
---@field type? "string"|"path"|"enum"|"integer"|"number"|"boolean"|"duration"|"array" in place of [2]
---@field items? "string"|"path"|"enum"|"integer"|"number"|"boolean"|"duration" type of an array's items
---@field description? string for help
---@field required? boolean it must be given
---@field default? any its value when it is not given, or function(config)
---@field values? string[]|fun(config: table): string[] of an enum
---@field min? number|string least number, or duration
---@field max? number|string greatest number, or duration
---@field min_length? integer least number of characters, or of an array's items
---@field max_length? integer greatest number of characters, or of an array's items
---@field pattern? string an anchored regular expression, or uuid, semver, url, alphanumeric_id, filepath
---@field positional? boolean given by its place, without a flag
---@field variadic? boolean positional, and takes all that follow
---@field short? string one letter: -n
---@field env? string variable that stands in when it is not given
---@field code? string error code of a wrong value, in place of INVALID_ARGUMENT
---@field suggestion? string for a wrong value

---When and how often a failure is repeated.
---@class runner.Retry
---@field retries? integer repetitions, 0 to 1000; a bound is needed: this, delays, or max_delay with a timeout
---@field delay? runner.Duration base wait; default "1s"
---@field strategy? "constant"|"linear"|"exponential"|"fibonacci"|"custom" default exponential
---@field max_delay? runner.Duration cap of one wait; default "30s"
---@field delays? runner.Duration[] the waits themselves
---@field jitter? number|"full"|"equal"|"decorrelated"|"none" 0.25: ±25 %, the default
---@field on? string[] error codes or exit names to repeat on; default: every retryable one without side effects
---@field maybe? boolean repeat on retryable = "maybe" as well
---@field seed? integer of the jitter

---@class runner.RetryEvent
---@field attempt integer the one that failed
---@field max_attempts integer 0 when only time bounds them
---@field code string
---@field message string
---@field delay_ms integer

---In ctx:retry and ctx:http also a function.
---@class runner.RetryLoop : runner.Retry
---@field on_retry? fun(event: runner.RetryEvent) called before each wait

---What an error code means for this command.
---@class runner.ExitCode
---@field code? integer 79 to 125, for a code of your own
---@field description? string for help
---@field retryable? boolean|"maybe" may the identical call be made again safely?
---@field side_effects? "none"|"partial"|"complete" what may have been done
---@field retry_after_ms? integer how long to wait
---@field retry_strategy? "immediate"|"linear_backoff"|"exponential_backoff" how to wait

---@class runner.Limits
---@field memory? string|integer "256MiB", bytes, or "none"; default "1GiB", for the Lua state only
---@field cpu? string|number processor time from the start of run: "10s", seconds, or "none"; default none
---@field processes? integer processes and threads at once besides the command's own; default none
---@field open_files? integer descriptors of each process, at least 16; default none

---@class runner.Example
---@field command string a command line
---@field description? string what it does

---A problem that validate found.
---@class runner.Problem
---@field field? string the argument
---@field message string what is wrong
---@field code? string default VALIDATION_ERROR
---@field value? any as given
---@field suggestion? string what would do
---@field fix_required? string what to correct

---What runner.lua returns.
---@class runner.Project
---@field name? string
---@field version? string
---@field commands? string folder of the command files; default "commands"
---@field config? table free-form; scripts read it as ctx.config
---@field exit_table? "standard"|"classic" column of exit numbers
---@field timeout? runner.Duration default of every command
---@field attempt_timeout? runner.Duration default of every command
---@field idle_timeout? runner.Duration default of every command
---@field grace? runner.Duration default of every command
---@field retry? runner.Retry default of every command

---What a failure may say beyond its code.
---@class runner.Failure
---@field retryable? boolean|"maybe" may the identical call be made again safely?
---@field retry_after_ms? integer
---@field retry_strategy? "immediate"|"linear_backoff"|"exponential_backoff"
---@field side_effects? "none"|"partial"|"complete"
---@field suggestion? string
---@field fix_required? string what must change before another try
---@field fix_command? string a command line that mends it
---@field detail? string
---@field errors? table[] several problems, a row each
---@field context? table facts
---@field data? any what was achieved nevertheless

---What is caught from a failed ctx method, or made by ctx:fail.
---@class runner.Error : runner.Failure
---@field code string ^[A-Z][A-Z0-9_]+$
---@field message string
---@field phase? string
---@field retries_exhausted? integer

---What a running command may ask of runner.
---@class runner.Context
---@field args table<string, any> the checked arguments
---@field attempt integer 1 for the first
---@field max_attempts? integer nil when only time bounds them
---@field previous? {code: string, message: string, completed_steps: string[]?, progress: any} the attempt before
---@field config table `config` of runner.lua
---@field root? string the project's directory: what paths in runner.lua are relative to
---@field tempdir string a directory that is gone after the run
---@field request_id string the run's id: the same in every attempt
---@field interactive boolean run has the terminal: the command declares it and there is one
local Context = {}

---Fail with a code of the registry or of exit_codes. An ordinary, catchable error.
---@param code string
---@param message? string
---@param fields? runner.Failure
function Context:fail(code, message, fields) end

---A step begins; the one before is completed.
---@param name string one of the declared steps
function Context:step(name) end

---A step is left out.
---@param name string
function Context:skip(name) end

---Report how far the work is; the answer carries it if the run is cut off by a limit, a signal or a crash.
---@param progress number|table a fraction 0 to 1, or data
---@param suggestion? string how to go on from here: `error.suggestion` of such an answer, until another is given
function Context:progress(progress, suggestion) end

---A log line on stderr.
---@param level "debug"|"info"|"warn"|"error"|string the level, or the message at level info
---@param message? string
function Context:log(level, message) end

---A warning in the envelope.
---@param code string such as SLOW_DISK
---@param message string
---@param context? table
function Context:warn(code, message, context) end

---Wait; ends at once when the attempt is cancelled.
---@param duration runner.Duration
function Context:sleep(duration) end

---Seconds until the attempt's deadline; math.huge without a limit.
---@return number
function Context:remaining() end

---Call fn at the end of the attempt, last deferred first, before `cleanup`.
---@param fn fun()
function Context:defer(fn) end

---Run a program to its end: ctx:run{ "git", "rev-parse", "HEAD", check = true }. Never a shell.
---@param spec runner.RunSpec
---@return runner.Result
function Context:run(spec) end

---Start a program and go on. It ends with the attempt, unless detach = true.
---@param spec runner.SpawnSpec
---@return runner.Process
function Context:spawn(spec) end

---Run programs, each reading the stdout of the one before. It fails when any fails.
---@param spec runner.PipelineSpec
---@return runner.PipelineResult
function Context:pipeline(spec) end

---Send a request. A failure raises NETWORK_ERROR, RATE_LIMITED, UNAVAILABLE …, unless check = false.
---@param spec runner.HttpSpec
---@return runner.HttpResult
function Context:http(spec) end

---Call fn(n) until it returns, as the policy allows: its values, or its last error.
---@generic T
---@param fn fun(n: integer): T
---@param policy? runner.RetryLoop default 3 retries
---@return T
function Context:retry(fn, policy) end

---Take a lock between processes, or raise LOCK_HELD. It ends with the attempt.
---@param name string
---@param options? runner.LockOptions
---@return runner.Lock
function Context:lock(name, options) end

---Ask for a line of text; INPUT_REQUIRED when there is nobody to ask.
---@param question string
---@param options? runner.PromptOptions
---@return string
function Context:prompt(question, options) end

---Ask for yes or no; --yes answers with yes.
---@param question string
---@param options? {default?: boolean}
---@return boolean
function Context:confirm(question, options) end

---What every way to start a program takes.
---@class runner.StageSpec
---@field [integer] string the program and its arguments
---@field cwd? string
---@field env? table<string, string|number|false> on top of ours; false unsets one

---@class runner.CommonSpec : runner.StageSpec
---@field grace? runner.Duration from TERM to KILL; default "2s"
---@field capture? boolean keep its output; default true
---@field cap? integer bytes kept of each stream, head and tail; default 1 MiB
---@field foreground? boolean it may use the terminal

---@class runner.CheckedSpec : runner.CommonSpec
---@field stdin? string|file* the bytes it reads, or an open file; default: nothing
---@field timeout? runner.Duration
---@field check? boolean raise SUBPROCESS_FAILED when it fails
---@field on_line? fun(line: string, stream: "stdout"|"stderr") each line as it comes; one above 64 KiB in pieces
---@field retry_on? runner.RetryOn which failures are raised as retryable

---@class runner.RunSpec : runner.CheckedSpec
---@field merge? boolean stderr into stdout

---@class runner.SpawnSpec : runner.CommonSpec
---@field stdin? string|file*|true the bytes it reads, an open file, or true for process:write
---@field merge? boolean stderr into stdout
---@field detach? boolean it outlives the run
---@field stdout? string a file for its stdout
---@field stderr? string a file for its stderr

---@class runner.PipelineSpec : runner.CheckedSpec
---@field [integer] runner.StageSpec the programs

---@class runner.RetryOn
---@field exit? integer|integer[] statuses
---@field stderr? string a text in stderr
---@field pattern? string a Lua pattern in stderr
---@field code? string the code to raise; default UNAVAILABLE
---@field retry_after_ms? integer

---@class runner.Result
---@field ok boolean it ended by itself with status 0
---@field status? integer nil when it was killed or never started
---@field signal? string "SIGTERM" …
---@field stdout string
---@field stderr string
---@field stdout_dropped integer bytes left out of the middle
---@field stderr_dropped integer
---@field duration_ms integer
---@field truncated boolean something was left out
---@field incomplete boolean a background process still held the output
---@field timed_out boolean
---@field error? string why it could not start
---@field starved? boolean writing to its stdin failed on our side (then ok is false)
---@field errno? string "ENOENT" …
---@field suggestion? string

---@class runner.PipelineResult : runner.Result
---@field stages runner.Result[]
---@field failed_stage? integer

---A program in the background.
---@class runner.Process
---@field pid integer
local Process = {}

---Wait for its end; nil when it still runs after `timeout`.
---@param timeout? runner.Duration
---@return runner.Result?
function Process:wait(timeout) end

---Send a signal to it and its process group; false when it is gone.
---@param signal? string|integer default "SIGTERM"
---@return boolean
function Process:kill(signal) end

---Does it still run?
---@return boolean
function Process:alive() end

---Write to its stdin (stdin = true).
---@param text string
---@return boolean? ok
---@return string? message
function Process:write(text) end

---Let it read end of file.
function Process:close_stdin() end

---Its lines as they come: for line, stream in process:lines() do
---@return fun(): string?, string?
function Process:lines() end

---End it: TERM, its grace, KILL. A detached process is left alone.
function Process:close() end

---@class runner.HttpSpec
---@field url string http:// or https://
---@field method? string default GET, or POST with a body
---@field query? table<string, string|number|boolean|table> appended to the url; a list repeats its name
---@field headers? table<string, string|number|string[]>
---@field body? string
---@field json? any encoded as the body, with its Content-Type
---@field auth? string[]|{user: string, password: string} Basic authentication
---@field bearer? string
---@field timeout? runner.Duration the whole request with its redirects; default "30s"
---@field connect_timeout? runner.Duration default "10s"
---@field follow? boolean follow redirects; default true
---@field max_redirects? integer 0 to 10; default 10
---@field check? boolean raise on failure; default true
---@field retry? runner.HttpRetry repeat failures that are surely retryable

---@class runner.HttpRetry : runner.RetryLoop
---@field any_method? boolean also POST and PATCH

---@class runner.HttpResult
---@field ok boolean
---@field status? integer nil when no answer came
---@field headers table<string, string> lower-case names
---@field body string
---@field json? any the decoded body, when its Content-Type says JSON
---@field json_error? string why it could not be decoded
---@field url string the last one, after redirects
---@field duration_ms integer
---@field error? runner.Error with check = false

---@class runner.LockOptions
---@field wait? runner.Duration how long to wait for it; default "10s"
---@field shared? boolean readers share it
---@field path? string the lock file; default: one by name, under XDG_STATE_HOME
---@field code? string raised in place of LOCK_HELD

---A lock that is held.
---@class runner.Lock
---@field path string
---@field shared boolean
local Lock = {}

---Give it back; the end of the attempt does it as well.
function Lock:release() end

---@class runner.PromptOptions
---@field default? string what Enter alone gives
---@field secret? boolean what is typed stays invisible
---@field validate? fun(answer: string): boolean?, string? true, or nil and what is wrong
---@field arg? string the argument to suggest when nobody can be asked
