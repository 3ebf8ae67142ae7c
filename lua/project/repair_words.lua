-- repair_words: what a repair knows of the words of calls: those that say no, names of flags that stand for one another, what kind of value
-- an argument takes by its name, and habits of other tools. Data; loaded for a call that was wrong (lua/project/repair.lua).

local opposites = require "runner.core.opposites"
local search_words = require "runner.core.search_words"
local suggest = require "runner.core.suggest"
local tables = require "runner.core.tables"

local M = {}

-- --- words that turn a meaning round --------------------------------------------------------------

local RESTRICTING = tables.set [[older newer than by max min check explain just what if simulate only before after until from to all none
	least most above below over under old current previous source origin]]

-- Words of a question, which name nothing.
M.FILLING = tables.set "the a an of records please for my our me thanks"

---Does a name restrict in a way that another doesn't?
---@param name string
---@param other string
---@return boolean
function M.restricts(name, other)
	for part in name:gmatch "%a+" do
		if RESTRICTING[part] and not ("-" .. other .. "-"):find("-" .. part .. "-", 1, true) then
			return true
		end
	end
	return false
end

---Does a word, or a part of it, say the opposite of the rest, or less?
---@param word string
---@param strict? boolean less, too
---@return boolean
function M.negates(word, strict)
	for part in word:lower():gmatch "%a+" do
		if opposites.is_no(part) or strict and RESTRICTING[part] then
			return true
		end
	end
	return false
end

-- --- words that are alike ---------------------------------------------------------------------------

local function is_plural(many, one)
	return #one > 2 and (many == one .. "s" or many == one .. "es" or one:find "y$" and many == one:sub(1, -2) .. "ies")
end

---Is it the same word, or one its plural?
---@param a string
---@param b string
---@return boolean
function M.is_same(a, b)
	return a == b or is_plural(a, b) or is_plural(b, a)
end

---@param many string
---@param one string
---@return boolean
M.is_plural = is_plural

---Misspelt, from the second letter on.
---@param typed string
---@param word string
---@return boolean
function M.is_near(typed, word)
	return typed:sub(1, 1) == word:sub(1, 1) and suggest.nearest(typed, { word }, 1)[1] ~= nil
end

---One letter behind the first is wrong, missing, too many or exchanged with the next; and no digit.
---@param typed string
---@param word string
---@return boolean
function M.is_misspelt(typed, word)
	return #typed > 3 and #word > 3 and typed:sub(1, 1) == word:sub(1, 1) and typed:gsub("%D", "") == word:gsub("%D", "")
		and suggest.distance(typed, word) == 1
end

---"svc" → service
---@param typed string
---@param word string
---@return boolean
function M.abbreviates(typed, word)
	return #typed > 1 and word:find("^" .. typed:gsub("%W", "%%%0"):gsub("%w", "%0.*")) ~= nil
end

---Are two words used for one another?
---@param a string
---@param b string
---@return boolean
function M.is_used_for(a, b)
	return search_words.is_same(search_words.stem(a), search_words.stem(b))
end

-- Each verb says the opposite of its neighbour, besides those of core/opposites: of those that are only sometimes used for one another,
-- some are.
local OPPOSITE = {}
for a, b in ([[grow shrink; enlarge reduce; launch halt; run stop; activate deactivate; block unblock; block allow; pause resume;
	suspend resume; begin end; suspend reactivate; raise lower; load dump; create delete; new delete; publish hide;
	connect disconnect; join leave; login logout; approve reject; send receive; backup restore; archive restore;
	assign unassign; boot shutdown; mute unmute; silence unsilence; install uninstall; set unset; put get;
	subscribe unsubscribe]]):gmatch "(%l+) (%l+)" do
	OPPOSITE[a .. " " .. b], OPPOSITE[b .. " " .. a] = true, true
end
local RELATIVE = tables.set "grow shrink increase decrease reduce expand extend enlarge raise lower bump more less"

---Are they sometimes used for one another, and neither says by how much, nor the opposite?
---@param a string
---@param b string
---@return boolean
function M.is_loosely_used_for(a, b)
	local says_more = OPPOSITE[a .. " " .. b] or opposites.is_pair(a, b) or RELATIVE[a] or RELATIVE[b] or a == "re" .. b or b == "re" .. a
	return not says_more and (search_words.same[search_words.stem(a)] or {})[search_words.stem(b)] ~= nil
end

---Is the word, in any of its forms, one of a text's?
---@param word string
---@param text? string
---@return boolean
function M.is_in(word, text)
	local stem = search_words.stem(word)
	for other in (text or ""):lower():gmatch "[%w]+" do
		if search_words.stem(other) == stem then
			return true
		end
	end
	return false
end

-- Verbs that the words of a search have not, or not as surely.
local VERBS = {}
for _, line in ipairs { "cp copy", "mv move rename", "rm delete remove destroy del erase drop", "purge prune clean cleanup",
	"mk new create add make generate insert register", "set update change edit modify", "ack acknowledge",
	"show get view describe inspect info display read", "list ls enumerate", "start launch", "stop halt", "save store", "put set",
	"find search query grep lookup" } do
	for verb in line:gmatch "%l+" do
		VERBS[verb] = VERBS[verb] or {}
		for other in line:gmatch "%l+" do
			VERBS[verb][other] = true
		end
	end
end

-- Families of verbs, of which a group has mostly one each: what one may mean in a group that has no command of its name. In front the most
-- that one of them does (1: it reads, 2: it changes, 3: it destroys); behind a colon what says more, and is meant by the rest; behind a
-- bar what sometimes means the same.
local FAMILIES = [[
2 create new make mk generate: add register provision define take place open invite issue book draft compose declare submit request
  reserve allocate enroll onboard file init | setup build insert start run trigger launch schedule spawn subscribe put upload push raise
3 delete remove rm destroy del erase: unregister deregister uninstall decommission retire terminate teardown revoke withdraw drop
  discard trash | wipe purge prune clear clean cancel void archive release expire evict kick close forget end
3 purge prune clean cleanup: clear flush empty sweep expunge | wipe truncate vacuum gc drop reset expire
3 revoke withdraw invalidate rescind | cancel disable reclaim unassign release
2 disable suspend deactivate | block lock freeze pause hold ban quarantine archive stop mute off
2 enable activate reactivate | unsuspend reinstate unblock unlock unfreeze resume start on restore
2 pause suspend hold freeze | stop disable halt off
2 resume unpause unsuspend continue unfreeze | start restart enable
2 start run trigger execute exec launch: begin invoke boot | resume create schedule new send submit apply perform
2 stop halt: interrupt end | cancel abort kill terminate pause shutdown close suspend
2 cancel abort | stop halt kill interrupt end withdraw void
2 update edit change modify alter: set patch configure adjust tune | rename resize scale move replace label tag assign
2 set configure | update edit change adjust patch modify
1 show get view describe inspect display info read details detail print cat | status check stat peek look explain list logs history
1 status health state | ping show check get describe inspect track
1 track trace locate where | status show find
1 sample head peek | show print tail preview list
1 list ls enumerate index all | search find query browse show overview report
1 search find query lookup grep locate | list
1 logs log tail output stdout console | events history show
1 history events timeline audit changes | log logs list
1 check verify validate test lint audit diagnose probe | inspect scan status show
1 hash checksum digest sum fingerprint sha sha256 md5 | verify
1 preview render plan diff compare | show check test simulate
1 estimate quote calculate compute price forecast | show preview
1 stats statistics metrics usage | show status report
1 export download dump fetch extract | backup save get
2 import load ingest | upload restore create
2 move mv relocate transfer | migrate rename reassign shift
2 rename relabel | move mv update
2 copy cp clone duplicate replicate fork | mirror create
2 send deliver dispatch email mail | post notify push publish broadcast start
2 ship dispatch fulfil fulfill | send deliver release
2 publish announce | push send deploy release post
2 restore recover | rollback revert undo import reinstate
2 restart reboot bounce | recycle reload reset
2 retry rerun redo repeat | replay restart resume
2 deploy release rollout ship publish | promote push apply launch
2 backup snapshot dump | save create run take start export
2 acknowledge ack | accept confirm claim take
2 resolve close complete finish solve | end fix
2 receive accept | register book confirm
2 assign allocate grant give | delegate add attach link invite reassign
3 unassign unallocate reclaim: release free | revoke withdraw remove take
2 attach connect mount: bind associate link join | add register assign enable
3 detach disconnect unmount unbind: dissociate unlink | remove deregister release
2 allow permit | open enable add grant accept
3 deny block | refuse reject drop close disable ban
2 subscribe join enroll optin | add
3 unsubscribe leave optout | remove
2 refund reimburse | return repay
2 rotate reissue regenerate | renew refresh roll replace reset extend update
2 renew extend prolong | refresh rotate increase update
2 resize scale | set update change adjust
2 drain evacuate | disable
]]
local family = {} ---@type table<string, table<integer, "core"|"near"|"loose">>
local most = {} ---@type integer[] by the number of the line
for level, core, near, loose in FAMILIES:gsub("\n  ", " "):gmatch "(%d)([%w ]+):?([%w ]*)|?([%w ]*)\n" do
	most[#most + 1] = tonumber(level)
	for how, list in next, { core = core, near = near, loose = loose } do
		for verb in list:gmatch "%S+" do
			family[verb] = family[verb] or {}
			family[verb][#most] = how
		end
	end
end

---@param word string
---@return boolean
function M.has_family(word)
	return family[word] ~= nil
end

---The most that a verb says: 1 it reads, 2 it changes, 3 it destroys; nil: nobody knows.
---@param word string
---@return integer?
function M.level(word)
	local out
	for line, how in pairs(family[word] or {}) do
		out = how ~= "loose" and math.max(out or 0, most[line]) or out
	end
	return out
end

---Are two verbs of one family? "near": in a group that has no other of it, the other one is meant; "loose": it may be.
---@param typed string
---@param verb string
---@return "near"|"loose"|nil
---@return integer level the most that what was typed says: 1 it reads, 2 it changes, 3 it destroys
function M.kinship(typed, verb)
	local found, level = nil, 0
	for line, how in pairs(family[typed] or {}) do
		local other = (family[verb] or {})[line]
		if other and (how ~= "loose" or other ~= "loose") then
			level = math.max(level, how == "loose" and math.min(most[line], 2) or most[line])
			found = how == "core" and other ~= "loose" and "near" or found or "loose"
		end
	end
	return found, level
end

-- What is said for a verb where there is no other: what it may mean.
local ALSO = { search = "list", find = "list", query = "list", email = "send", mail = "send", cancel = "void", on = "enable",
	off = "disable" }

---@param typed string
---@param word string
---@return boolean
function M.may_mean(typed, word)
	return ALSO[typed] == word
end

---@param word string
---@return boolean
function M.is_verb(word)
	return VERBS[word] ~= nil
end

---Are two verbs the same in every tool?
---@param a string
---@param b string
---@return boolean
function M.is_one_verb(a, b)
	return (VERBS[a] or {})[b] or false
end

---Are two verbs used for one another? "unmute" is for "unsilence" what "mute" is for "silence".
---@param a string
---@param b string
---@return boolean
function M.is_same_verb(a, b)
	local x, y = a:match "^un(%l%l%l+)$", b:match "^un(%l%l%l+)$"
	return x and y and M.is_same_verb(x, y) or M.is_one_verb(a, b) or M.is_used_for(a, b)
end

-- What is put into one that there is, mostly, or sent elsewhere.
local HALF = {}
for one in ("add create, add new, add make, add mk, add generate, push publish"):gmatch "%l+ %l+" do
	HALF[one], HALF[one:gsub("(%l+) (%l+)", "%2 %1")] = true, true
end

---Are two verbs that are used for one another another act as often?
---@param a string
---@param b string
---@return boolean
function M.is_half(a, b)
	return HALF[a .. " " .. b] or false
end

-- --- names of flags -----------------------------------------------------------------------------------

-- One line: names that mean the same. A name may stand in several lines.
local FLAGS = [[
id identifier uid uuid number no num ref reference key
name label title tag slug
reason comment note message msg description desc text why cause annotation memo remark notes details m
body text content message msg
severity level priority sev prio importance
since last from after newer-than start begin within lookback
until before end till through
duration for period length ttl lasts window time
timeout wait max-wait deadline
limit count max top head tail first last max-results max-items page-size per-page num n
schedule cron crontab cron-expression interval expression when
channel to via
target to destination dest into onto
database db dbname schema
environment env stage
path file output out o dest destination to filename output-file output-path outfile dir directory save-to
query search q filter pattern grep expression text term match
expression expr condition query rule when
user username login account owner author who by member person
owner assignee assigned assigned-to user to
person assignee user member reviewer to who
status state
amount sum value price total money
percent percentage pct discount rate off
instances replicas count size number scale to
customer client tenant account user
version release tag ver rev revision
branch ref git-ref
region zone location to
email mail e-mail address recipient to notify
notify email alert contact
type kind
format fmt output-format
expires expiry expires-at expires-on expiration until valid-until end ttl
start starts from begin begins start-date since
end ends until finish end-date to
service svc app application component project
project service app repo
host server machine node hostname instance
namespace ns
repository repo
group team
team group squad
tag label labels tags
role permission access level
month period date when
year period
date when on at day
method via with using type strategy mode how
size type plan
plan tier type to
subject title
key name
value val data content set-to to
source src from input
keep retain retention keep-last
port p
dry-run preview
quantity qty count amount number
category type group
language lang locale
parent group folder
per-minute rpm rate
per-second rps rate
expires-in expires expiry ttl lasts validity valid-for lifetime length duration
seats quantity count number amount licences licenses
holder assignee user owner member
sku item product article
warehouse site location depot store
carrier shipper courier
recipient audience list segment to
protocol proto scheme
cidr source range ip source-ip src network address subnet
action verdict effect
backend target upstream pool server host origin
weight share proportion percent
send-at at when schedule scheduled-at time start
table dataset relation
column field
rows limit
compression codec compress
algorithm algo
interval every frequency period
parallelism parallel concurrency workers threads jobs
sender from reply-to
vendor supplier manufacturer
job task
threshold limit
schema dataset]]

local same = {} ---@type table<string, table<string, true>>
for line in FLAGS:gmatch "[^\n]+" do
	for a in line:gmatch "%S+" do
		same[a] = same[a] or {}
		for b in line:gmatch "%S+" do
			same[a][b] = true
		end
	end
end

---Do two names of flags stand for one another?
---@param a string
---@param b string
---@return boolean
function M.is_same_flag(a, b)
	return a ~= b and (same[a] or {})[b] or false
end

-- Units, and what else they are called.
local UNITS = { rpm = "minutes", rps = "seconds" }
for line in ([[cents cent; euro euros eur; dollars dollar usd; pounds gbp; bytes byte; kb kib; mb mib megabytes; gb gib gigabytes;
	tb tib terabytes; ms milliseconds millis; seconds second secs sec; minutes minute mins; hours hour hrs; days; weeks; months;
	years]]):gmatch "[^;]+" do
	for unit in line:gmatch "%l+" do
		UNITS[unit] = line:match "%l+"
	end
end

local function unit_of(name)
	for part in name:gmatch "%l+" do
		if UNITS[part] then
			return UNITS[part]
		end
	end
end

---Does a name, or else its value, say another unit than an argument, or one of them none? A duration says its own.
---@param name string
---@param row table
---@param value? string
---@return boolean
function M.is_other_unit(name, row, value)
	local typed, own = unit_of(name) or unit_of((value or ""):lower():match "^[%d.]+%s?(%l+)$" or ""), unit_of(row.flag)
	return typed ~= own and row.type ~= "duration" and (own ~= nil or unit_of((row.description or ""):lower()) ~= typed)
end

-- Which side of a value is meant.
local SIDES = tables.set "older newer min max minimum maximum above below over under least most larger smaller longer shorter fewer"
local LIMITS = tables.set "max most" -- which also say how many
local SAID_SIDES = tables.set "since last from after before until within lookback timeout wait deadline"

---Has one of two names a side that the other doesn't say? What other words say a side is only known of names that mean the same.
---@param name string
---@param other string of an argument
---@return boolean
function M.is_other_side(name, other)
	local said = M.is_same_flag(name, other) and SAID_SIDES
	local function has_alone(from, to, but)
		for part in from:gmatch "%l+" do
			local is_other = SIDES[part] and not but[part]
			for word in to:gmatch "%l+" do
				is_other = is_other and word ~= part and not (said and (SIDES[word] or said[word]))
			end
			if is_other then
				return true
			end
		end
		return false
	end
	return has_alone(other, name, {}) or has_alone(name, other, LIMITS)
end

-- Words in the name of a flag that say nothing about which one it is.
M.EMPTY = tables.set "id ids identifier name value to the number no num ref at on in of for is my with as count"

-- --- kinds of values ------------------------------------------------------------------------------------

local KINDS = {}
for kind, names in pairs {
	duration = "duration for since ttl period timeout interval window age than last grace delay wait every lifetime lookback",
	number = [[amount percent percentage count limit size days hours minutes seconds port replicas instances max min price quantity qty weight
		total factor width height depth retries parallel concurrency threshold discount steps lines rate euro]],
	date = "date day month year expires expiry until deadline",
	email = "email mail recipient cc bcc",
	cron = "cron crontab schedule",
	text = "reason note notes message comment description text body summary why subject details query sql expression label title content",
	path = "path file dir directory folder output filename",
	url = "url uri endpoint webhook link callback",
	id = "id uuid uid identifier number sku",
	version = "version release ver", domain = "domain zone host hostname",
} do
	for name in names:gmatch "%S+" do
		KINDS[name] = kind
	end
end

-- What the description of an argument says of its kind.
local SAYS = { { "how long", "duration" }, { "how far back", "duration" }, { "an age", "duration" }, { "how many", "number" },
	{ "how much", "number" }, { "in euro", "number" }, { "in percent", "number" }, { "e%-?mail", "email" }, { "an address", "email" },
	{ "crontab", "cron" }, { "%f[%w]json%f[%W]", "document" },
	{ "%f[%w]its id%f[%W]", "id" }, { "%f[%w]the id%f[%W]", "id" }, { "%f[%w]id of", "id" } }

---What an argument takes: "duration", "number", "date", "email", "cron", "text", "path", "url", "id"; nil: anything.
---@param row table
---@return string?
function M.kind(row)
	local kind = row.items or row.type
	if kind == "integer" then
		return "number"
	elseif kind ~= "string" then
		return kind
	elseif KINDS[row.flag] then
		return KINDS[row.flag]
	end
	local said = (row.description or ""):lower()
	for _, one in ipairs(SAYS) do
		if said:find(one[1]) then
			return one[2]
		end
	end
	return KINDS[row.flag:match "[^-]+$"] or row.flag:find "%-" and KINDS[row.flag:match "^[^-]+"] or nil
end

local SHAPES = {
	{ "number", "^[+-]?%d[%d,_]*%.?%d*%%?$" }, { "ip", "^%d+%.%d+%.%d+%.%d+[/%d]*$" },
	{ "version", "^v?%d+%.%d+%.%d[%w.-]*$" }, { "version", "^v%d[%d.]*$" }, { "date", "^%d%d%d%d%-%d%d$" },
	{ "date", "^%d%d%d%d%-%d%d%-%d%d" },
	{ "duration", "^%d+%s?[smhdw]$" }, { "duration", "^%d+%s?ms$" }, { "duration", "^%d+%s?%l+s?$" }, { "email", "^[^%s@]+@[^%s@]+%.%w+$" },
	{ "url", "^%l[%w+.-]*://" }, { "cron", "^@%l+$" }, { "cron", "^[%d*/,-]+ [%d*/,-]+ [%d*/,-]+ [%w*/,-]+ [%w*/,-]+$" },
	{ "document", "^[{%[].*[}%]]$" },
	{ "text", "%s" }, { "path", "^[.~]?[.]?/" }, { "path", "^[^:]+/" }, { "path", "%.%l%l%l?%l?$" }, { "id", "^#?%w*%a[%w._-]*%d" },
	{ "id", "^%d[%x-]+%-%x+" }, { "mark", "^%p+$" },
}

---What a value looks like: the name of a kind, "mark" or "word".
---@param text string
---@return string
function M.shape(text)
	for _, one in ipairs(SHAPES) do
		if text:find(one[2]) then
			return one[1]
		end
	end
	return "word"
end

-- How well each shape suits each kind: 3 exactly, 0 not at all.
M.SUITS = {
	duration = { duration = 3, date = 2, number = 1 }, number = { number = 3 }, date = { date = 3, duration = 1, number = 1 },
	email = { email = 3 }, cron = { cron = 3 }, url = { url = 3 }, path = { path = 3, word = 1, id = 1 },
	text = { text = 3, document = 2.5, word = 1.5, id = 0.5, number = 0.5, date = 0.5, duration = 0.5, email = 0.5, path = 0.5, url = 0.5,
		cron = 0.5, mark = 0.5 },
	id = { id = 3, number = 3, word = 1, version = 1 }, version = { version = 3, number = 2, word = 1, id = 1 },
	document = { document = 3, text = 1, word = 1, path = 1 }, domain = { path = 3, word = 2, id = 2, ip = 1 },
	any = { word = 2, id = 2, ip = 2, version = 1, document = 0.5, number = 1, email = 1, path = 1, url = 1, text = 0.5, date = 0.5,
		duration = 0.5 },
}

return M
