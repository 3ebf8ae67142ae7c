-- search_words: what lua/core/search.lua knows of English: words that say nothing in a question, endings, and words that are used
-- for one another. Data; loaded for a search alone.

local M = {}

local function set(text)
	local out = {}
	for word in text:gmatch "%S+" do
		out[word] = true
	end
	return out
end

M.empty = set [[
a about all already am an and any are as at be been by can could did do does for from had has have he her him his how i i'm if in
into is it its just let like long ll many me much my need now of off on one onto or our out over please re s same she should so
some somebody someone something than that the their them then there these they thing things this those to too up us ve want was we
were what when where whether which who whose why will with would you your]]

-- Words that are used for one another, a line each: nearest first means nothing.
local SAME = [[
delete remove rm del drop destroy erase discard trash wipe unset uninstall clear purge
purge flush empty clear invalidate prune clean cleanup gc reclaim wipe
list ls show view display enumerate overview index print
show get describe view inspect details info see look read display status print
create new add make register provision generate init setup spin
add insert append attach put
edit change update set modify configure adjust
deploy rollout release ship publish push promote launch
start run launch begin kick trigger execute boot
stop halt kill terminate end abort cancel shutdown
terminate kill end destroy
shutdown poweroff down stop
restart reboot bounce cycle
retry rerun again repeat replay resend redo
rollback revert undo restore back
restore recover import rollback
download fetch pull get save export
upload push send put copy
export dump download save
import load upload bulk
copy clone duplicate mirror replicate sync
sync mirror replicate
search find query lookup grep
rename move mv
move migrate transfer shift
enable activate on allow
disable deactivate off suspend lock block
pause suspend hold freeze
resume continue unpause reactivate unsuspend
block ban deny refuse forbid reject suspend blacklist
allow permit open grant whitelist
grant give allow permission rights access
revoke invalidate withdraw cancel
mute silence snooze
ack acknowledge seen
resolve close fix fixed solved done finish
assign give delegate
escalate priority raise bump
test check verify try probe validate
verify check validate readable
log logs output
tail follow watch stream
host server machine node box vm instance
volume disk storage drive
bucket s3 storage folder
directory folder
database db
secret password credential
credential password key secret
cert certificate tls ssl
image docker container
cluster kubernetes k8s
repo repository git
pr pull
flag feature toggle
toggle enable disable change
firewall port
incident outage
oncall pager duty
postmortem retrospective
user account person people member
role permission admin administrator
mfa 2fa two-factor factor otp
customer client tenant company
tenant company organisation organization customer
ticket issue support
email mail message
mail message letter
queue topic
dlq dead failed
order purchase
refund money pay
pay settle
coupon voucher discount
usage consumption used consume
cost price spend spending bill charge
forecast estimate predict
budget limit spending quota
quota limit budget
limit throttle rate cap
token key credential
webhook callback hook
service app application
instances replicas pods copies
scale resize more grow enlarge
grow enlarge bigger increase expand larger extend resize
backup snapshot back
schedule cron nightly daily weekly recurring periodic every
job task
history past previous
notes changelog changes
vulnerabilities vulnerable cve holes security scan
license licence licenses
environment env dev
workspace dev
variable var
dashboard graph chart plot
latency slow ping
ip address
network vpc subnet
record entry
staging environment
production prod live
stock inventory warehouse
revenue sales income
signups registered registrations
churn lost left lose leave
spreadsheet csv excel xlsx
invite onboard add
login log signin ssh
logout sign
unsubscribe suppress
peek look
comment note remark message reason text
owner owns owners
link url
dead broken
share link
open start declare
size big large biggest largest
unused stale idle
full free space
patch updates
shell ssh terminal
healthy health unhealthy
dependencies depend depends deps
question ask
answer reply respond
canary gradual gradually
ramp percentage percent gradual
rotate change replace renew
version tag
label tag
query sql statement
upgrade update newer
status state
]]

M.same = {} ---@type table<string, table<string, true>> word → what is used for it

-- The end of a word says number, time or kind, and not what is meant: "databases", "deployed", "scaling".
local IRREGULAR = { ran = "run", sent = "send", made = "make", built = "build", lost = "lose", paid = "pay", shipped = "ship",
	data = "data", news = "news", dns = "dns", status = "status", access = "access", address = "address", addresses = "address",
	license = "licence", licenses = "licence", licences = "licence", people = "person", indices = "index", queries = "query",
	deployment = "deploy", deployments = "deploy", deletion = "delete", removal = "remove", creation = "create", ping = "ping",
	string = "string", during = "during", thing = "thing", kubernetes = "kubernetes", vms = "vm" }

-- "stopp" → "stop", "releas" stays: an e at the end is taken off of every word.
local function end_of(word)
	local short = word:match "^(.+)e$" or word
	return short:match "^(.*([b-df-hj-kmnp-rtv-z]))%2$" or short
end

local ENDINGS = { { "ies$", "y" }, { "([sxz]h?)es$", "%1" }, { "([^su])s$", "%1" } }
local VERBS = { "ings?$", "ed$" }

local stems = {} ---@type table<string, string> of words that were met

local function stem_of(word)
	if IRREGULAR[word] then
		return end_of(IRREGULAR[word])
	end
	local out = word
	for _, ending in ipairs(#word > 3 and ENDINGS or {}) do
		local shorter, count = out:gsub(ending[1], ending[2])
		if count > 0 then
			out = shorter
			break
		end
	end
	for _, ending in ipairs(VERBS) do
		local shorter = out:match("^(.*[aeiouy].*)" .. ending)
		if shorter and #shorter >= 3 then
			out = shorter
			break
		end
	end
	return end_of(out)
end

---What is left of a word without its ending.
---@param word string in lower case
---@return string
function M.stem(word)
	local out = stems[word]
	if not out then
		out = stem_of(word)
		stems[word] = out
	end
	return out
end

for line in SAME:gmatch "[^\n]+" do
	local words = {}
	for word in line:gmatch "%S+" do
		words[#words + 1] = M.stem(word)
	end
	for _, a in ipairs(words) do
		M.same[a] = M.same[a] or {}
		for _, b in ipairs(words) do
			M.same[a][b] = a ~= b or nil
		end
	end
end

return M
