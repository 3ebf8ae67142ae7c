---@meta test
-- Written by 'runner types'; changes here are lost.
-- luacheck: ignore

---What a call answered.
---@class runner.Test.Result
---@field ok boolean
---@field exit_code integer
---@field signal? integer what ended the call, if it answered nothing
---@field data any of the envelope; nil for null
---@field error? { code: string, message: string, retryable: boolean|"maybe", side_effects: string } of the envelope
---@field warnings { code: string, message: string }[]
---@field meta table
---@field envelope? table nil: the command leaves stdout to others
---@field stdout string
---@field stderr string
---@field terminal? string what was shown on the terminal
---@field waited_ms integer how long the call would have waited
---@field command string

---@class runner.Test.Options
---@field env? table<string, string|false> false: unset
---@field cwd? string default: the root of the project
---@field stdin? string
---@field real_time? boolean waits take their time
---@field terminal? string[][] a person is at a terminal: a text to wait for there, and what they type then

---An answer of a stand-in for a program.
---@class runner.Test.Answer
---@field args? string[] for calls whose arguments begin with these words; the longest list that fits wins
---@field stdout? string
---@field stderr? string
---@field status? integer default: 0
---@field signal? string the signal that kills it, "KILL"
---@field script? string shell commands, with the arguments as "$@"

---A stand-in for a program.
---@class runner.Test.Program
local Program = {}

---How it was called so far, in order.
---@return { args: string[], cwd: string, stdin: string }[]
function Program:calls() end

---@class runner.Test.Request
---@field method string
---@field path string
---@field query string
---@field headers table<string, string> by lower-case name
---@field body string

---@class runner.Test.HttpAnswer
---@field status? integer default: 200
---@field headers? table<string, string>
---@field body? string
---@field json? any in the place of body
---@field drop? boolean close the connection without an answer

---A stand-in for an HTTP server, on 127.0.0.1.
---@class runner.Test.Server
---@field url string "http://127.0.0.1:PORT"
---@field requests runner.Test.Request[] those that came, in order

---@class runner.Test.Fake
local Fake = {}

---A program of PATH that answers as given: a text, an answer, or a list of these, whose last one
---is given from then on. Calling it again adds answers for other arguments.
---@param name string without a folder
---@param answer? string|runner.Test.Answer|(string|runner.Test.Answer)[]
---@return runner.Test.Program
function Fake.run(name, answer) end

---A server that gives these answers in this order, or those of "GET /path", or what a function returns.
---@param answers string|runner.Test.HttpAnswer|(string|runner.Test.HttpAnswer)[]|table<string, any>|fun(request: runner.Test.Request): string|runner.Test.HttpAnswer|nil
---@return runner.Test.Server
function Fake.http(answers) end

---From now on, PATH of the calls has nothing but stand-ins.
function Fake.only() end

---What a test holds.
---@class runner.Test
---@field dir string a directory of its own, removed at its end
---@field root string of the project
---@field fake runner.Test.Fake
local Test = {}

---Call a command and wait for its answer.
---@param command string|string[] "db migrate", or the words of a command line
---@param args? table values by name, or a list of words
---@param options? runner.Test.Options
---@return runner.Test.Result
function Test:call(command, args, options) end

---Write files below the test's directory: path → text.
---@param files table<string, string>
---@return string dir
function Test:files(files) end

---The text of a file below the test's directory; nil where there is none.
---@param name string
---@return string?
function Test:read(name) end

---Both have the same in them.
---@param got any
---@param wanted any
---@param note? string for the message
function Test:equal(got, wanted, note) end

---A text has another one in it, or a list an item.
---@param got string|table
---@param wanted any
---@param note? string
function Test:contains(got, wanted, note) end

---The value is neither nil nor false.
---@generic T
---@param value T
---@param note? string
---@return T
function Test:check(value, note) end

---The call has succeeded.
---@param result runner.Test.Result
---@return any data
function Test:succeeds(result) end

---The call has failed, with this code.
---@param result runner.Test.Result
---@param code? string
---@return table error
function Test:fails(result, code) end

---A text, a value or an answer is what the snapshot of that name holds (runner test --update writes it).
---@param value any
---@param name? string default: the name of the test
function Test:snapshot(value, name) end

---Declare a test of `runner test`, in tests/NAME_test.lua.
---@param name string
---@param fn fun(t: runner.Test)
local function test(name, fn) end

return test
