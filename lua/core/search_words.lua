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

-- Words that say little about which command is meant: they count less.
M.weak = set [[
again another anybody anymore anyone anything back before bring buy came case come does done down each else ever every everybody everyone
everything few first get give given go goes good hand hold keep know last late leave lot made make man more most never new next no nobody
none nothing old once only other others own part people person place put right said say see seen still take taken tell time today tomorrow
tonight try two use used using way well whole without work works wrong yesterday]]

-- What is meant by the same thing: words that stand for one another, and behind a bar those that may mean it, too.
-- First what is done, then to what, then how something is. A word may stand in several of them; it means nothing across them.
local SAME = [[
delete remove rm del drop destroy erase | discard trash wipe clear purge uninstall detach decommission forget;
decommission retire scrap dispose | old remove; purge flush empty clear invalidate wipe | prune reset delete;
clean cleanup prune gc | purge tidy reclaim delete old unused collect garbage;
list ls enumerate | show view display overview index which all existing;
show get describe view inspect display info | details information see look read print examine;
create new add make generate | register provision init setup build define issue insert write; provision allocate | create setup;
add insert append | attach create put join include register; register signup enroll | add create record;
edit change update modify alter | set configure adjust patch correct;
set configure config configuration | change assign define adjust put settings preference;
deploy rollout release ship publish | push promote launch deliver version; promote | release raise advance;
start launch boot | run begin kick trigger resume up; run execute trigger start invoke | kick fire call perform launch;
stop halt end | kill terminate abort cancel shutdown quit down interrupt; kill terminate | stop end abort force;
cancel abort | stop revoke withdraw call; shutdown poweroff | stop down halt; restart reboot bounce | cycle reload recycle;
reload refresh | restart update renew; retry rerun redo repeat | again replay resend restart; replay resend | retry again redeliver;
rollback revert undo | restore back previous downgrade earlier; restore recover recovery | import rollback undelete backup;
download fetch | pull get save export retrieve copy; upload send | push put copy store; push publish upload | send deploy;
pull fetch download | update get; export dump extract | download save output write spreadsheet csv; import load ingest | upload bulk read;
copy clone duplicate replicate | mirror backup sync fork; sync synchronize mirror replicate | copy update;
replica replication standby secondary | copy mirror slave follower; search find query lookup grep | locate look seek;
lookup resolve | find which get; rename | move mv name; move mv relocate transfer | migrate shift hand;
migrate migration | move schema upgrade apply; enable activate | on allow start; disable deactivate | off suspend stop lock;
pause suspend freeze | hold stop wait; resume unpause unfreeze continue | reactivate restart unsuspend;
block ban deny refuse blacklist | forbid reject suspend drop; lock | disable block freeze suspend;
unlock unblock | enable allow open reactivate; allow permit whitelist | open grant accept;
grant give | allow permission right access assign add;
revoke withdraw | invalidate cancel remove disable stolen leaked leak compromised trusted; issue request obtain apply | get create;
approve accept confirm | allow review; reject decline deny | refuse; mute silence snooze suppress quiet | ignore stop hush pause;
ack acknowledge | seen accept confirm take; resolve close fix | solve done finish complete settle;
close end finish | resolve shut complete; open declare raise | start create report file; reopen | open; assign delegate | give owner take;
escalate | raise priority bump urgent; test try | check verify probe simulate experiment;
check verify validate | test inspect confirm audit examine ensure; validate lint | check verify correct valid; log logs | output message;
tail follow watch | stream log live latest; watch monitor observe | follow track;
monitor monitoring metric metrics | watch graph measure stats; stats statistics | metrics numbers figures count usage report;
attach mount connect | join add plug; detach unmount disconnect | remove eject release separate;
drain evacuate cordon | empty move prepare maintenance; login signin authenticate | log authentication credential;
logout signout | sign session end; ssh shell terminal console | login connect enter; exec execute | run command;
invite onboard | add email join welcome; unsubscribe suppress optout | stop remove; subscribe | follow listen register;
notify notification alert alarm | message warn page inform; page | alert oncall call; peek look | view read show next;
comment note remark | message text reason annotate; answer reply respond | message comment; merge combine join | unite;
split divide | separate; compare diff difference | changed changes between; scan | check vulnerability virus security inspect;
sign signature | certify seal; encrypt | secure protect; rotate roll renew | change replace refresh regenerate;
renew extend | rotate refresh expire; expire expiry expiration | old ttl end lifetime;
schedule cron timer | nightly daily weekly hourly recurring periodic every night plan regularly; archive | store backup old retire;
build compile | make package bundle ci; install setup | add deploy; upgrade update newer | version migrate patch;
patch update fix | security change; downgrade | rollback older version;
scale resize grow | more enlarge increase capacity size instance shrink reduce; autoscale automatic automatically | scale auto load;
grow enlarge increase expand extend | bigger larger resize more raise size capacity;
shrink reduce decrease smaller | less resize down lower fewer scale; warm preload prefill | cache fill heat;
optimize tune vacuum | compact speed improve; throttle limit cap | rate slow quota restrict;
route forward redirect | send path point direct; balance balancer lb | traffic distribute spread loadbalancer;
host server machine node | box vm instance hardware computer; vm instance | host machine virtual;
instance replica pod copy | container number process worker; container docker | image pod; image | docker container picture;
cluster kubernetes k8s | nodes; kubeconfig | kubernetes credential config access; volume disk | storage drive space;
storage | disk volume bucket space; bucket s3 | storage object folder files blob; folder directory | bucket path;
file document | object upload; lifecycle retention | keep expire long old archive; database db | postgres mysql sql table;
table | database rows; query sql statement | ask select; connection session client | connected open;
slow latency | performance long ping fast speed delay response; backup snapshot dump | back copy save;
secret password credential | key token private passphrase; key | credential token secret apikey; token | key credential apikey;
cert certificate tls ssl | https; repo repository git | code source; branch | git repo; pr pull | request review merge;
tag label | mark version annotate; flag feature toggle | switch experiment;
ramp percentage percent gradual gradually | fraction part share rollout increase; canary gradual | part fraction percentage traffic trial;
firewall port | network rule traffic open; ip address | network host; network vpc subnet | lan;
dns domain hostname | zone record name nameserver; record entry | row; zone domain | dns; cname mx txt | dns record;
gateway api | proxy route; queue topic | message backlog wait waiting pending; dlq dead deadletter | failed undeliverable letter poison;
webhook callback hook | event notification notify url when; event | history activity happen;
service app application | microservice program; dependencies dependency depend | calls upstream need relies other;
environment env stage | staging production dev; variable var env | setting; staging stage | preproduction environment;
production prod live | environment; dev development | environment workspace; workspace | dev environment;
dashboard graph chart plot | visualize metrics picture; report summary | overview numbers figures;
usage consumption used consume | space use much; incident outage | problem emergency down major disruption;
oncall duty | pager call shift rota responsible; swap exchange trade | switch replace;
postmortem retrospective | analysis lessons review incident afterwards; timeline chronology | history happened sequence;
user account | person people member login employee colleague; member | user person people belongs; team group | department squad people;
role permission admin administrator | rights access privilege may; mfa 2fa otp twofactor | factor two authenticator second;
customer client tenant | company buyer; tenant organisation organization company | customer;
ticket issue | support problem request case complaint; email mail newsletter | message letter write; message | text letter;
template | layout form; order purchase | buy bought checkout; refund | money pay back return reimburse;
invoice bill | payment receipt charge; pay settle payment | invoice bill money; coupon voucher discount promo | code;
cost price spend expense | money charge bill expensive much; forecast estimate predict | expect future next projection;
budget | limit spending money cap; quota | limit budget maximum; plan subscription tier | package upgrade pricing;
product item article | catalog goods sku; stock inventory | warehouse available left supply amount; price | cost money;
revenue sales income earnings | money sold turnover; signups signup registered registration | new growth join;
churn | lost lose leave left cancel gone; survey feedback questionnaire poll | opinion ask; question ask | query;
history past previous log | changes earlier audit who; audit trail | history who log compliance check; version | release tag build number;
notes changelog | changes new release; vulnerability vulnerable cve | hole security scan weakness flaw unsafe insecure dangerous safe;
license licence | legal legally law; package library module | dependency artifact;
artifact binary executable | output result package file built; agent worker executor | runner build; job task | run work process;
maintenance repair | downtime work planned; uptime | running long since reboot availability;
health healthy status alive | state unhealthy well fine check; status state | health progress how doing running condition;
load cpu busy | usage pressure utilization; memory ram | usage; error failure exception bug | fail failed wrong broken;
dead broken | fail invalid gone; link url | address; channel room chat slack | send route;
funnel conversion abandon dropout | visitor leave; deliver delivery reach | arrive receive; result outcome | answer think opinion;
fresh | new create provision; quiet chatter chatty verbose verbosity | level; noise noisy useless | drop discard silence level;
abuse spam attack attacker | block deny limit; flood ddos | limit rate block; crash hang stuck frozen | restart failure error kill;
manual handbook guide documentation docs | page explain understand; phone device authenticator | mfa factor key;
laptop computer local | machine download; online | live publish production; visitor | user customer; parcel shipment | order ship;
article goods item product | shop; legal compliance | audit license; private confidential | secret; child parent | dependency;
startup | start boot; close shut | end; username | user account; subdomain | dns domain; charge bill | pay invoice cost;
node worker | machine; http https | url tls; shop store | product; sleep asleep hibernate | stop pause suspend;
editor ide | open workspace; spread distribute | balance; web website site page | url; protect guard | secure lock;
second another extra additional | replica mirror add; reader readonly | replica read; writer primary master leader | failover;
rota shift roster | oncall schedule; boss manager lead | owner; secure safe safely | protect encrypt secret;
people visitors visitor | user; share presign | link temporary url access hand pass colleague; weight share proportion | shift more less;
lead leader commander head | responsible charge; deprecate obsolete discourage | old anymore warn;
restock arrive arrival | came goods delivery; personal private gdpr privacy | data; docs documentation | page wiki manual guide;
owner owns | responsible belong whose; size big large biggest largest | much space huge; unused stale idle | old orphan forgotten;
inactive dormant | idle unused; full free space | left remaining; current now today | present; next upcoming | future coming;
vpn tunnel | remote connect private; peers peer | connected clients devices; traffic requests | network load;
policy rule | permission access allowed; rule condition | policy filter when above below exceed threshold; threshold | limit value level;
level severity | verbosity priority critical; rate | limit speed per; region zone | location datacenter;
shipping shipment delivery | send track parcel; track trace | follow where progress; bounce undelivered | failed returned;
preview render | look see before show; spreadsheet csv excel xlsx | table export; reason why | cause explain;
bump | upgrade version raise; license licence | gpl copyleft open; vault keystore | secret; codeowners maintainer | owner;
endpoint path | route url; expose publish | route public; grafana kibana | dashboard; alarm | alert; ram | memory host show;
monday tuesday wednesday thursday friday saturday sunday weekday | cron schedule; backlog | depth queue length;
url link | presign; unpaid outstanding overdue owed | invoice open; checkout | funnel order; reach reachable | test connect;
revert undo | rollback; config setting | env variable; rotation | balancer backend; twice double half | weight scale
]]

-- Several words that say one: verbs with their particles, which may stand apart ("turn the alerts off"), and what people say in place of
-- a word.
local PHRASES = [[
disable: turn off, switch off, shut off; enable: turn on, switch on;
start: bring up, spin up, fire up, boot up, power on, kick off, start up; create: set up, spin up, stand up, i need, we need, i want;
stop: shut down, bring down, take down, power off, turn off; shutdown: shut down, power off, power down, turn off, switch off;
restart: turn off on, start again, stop start, start over; email: write to, tell all;
update: let know, keep informed, keep posted, tell everybody, tell people, how going; reply: write back, get back to;
kill: kick out, throw out; coupon: percent off; notes: what is new, whats new, what has changed;
history: did succeed, did run, did work, last night, how did, has run;
history: did fail, who changed, what happened, what changed, when did, ran last, last runs;
inspect: who issued, what is in, look inside; events: going on, has happened, happened to, happening in; query: count rows, how many rows;
pr: pull request, merge request; grow: too small, out of space, is full; autoscale: gets busy, by itself, on its own, depending on load;
reactivate: let back in, back in, back on; resolve: is over, has been fixed, is fixed; funnel: drop out, give up, where leave;
route: go to; failover: take over, takes over, has died, is dead; upgrade: newer version, newest version, latest version;
outdated: out of date, newer version, too old; deprecate: not use, stop using; hide: not show, not visible; stock: how many left, in stock;
restock: have arrived, came in, has arrived; freeze: nobody deploy, no deploy, no release, not deploy;
owners: is responsible, whom ask, in charge; quota: use too much, more than; prune: older than, too many old;
expire: valid until, how long valid, still valid, runs out, run out, run out soon; template: what mail do, kinds of mail;
delete: get rid, throw away, throw out, tear down, take out, do away, take away;
decommission: get rid, retire, take out service, throw away, phase out; cleanup: clean up, clear out, tidy up, free up;
purge: clear out, empty out; rollback: one before, roll back, go back, back out, previous version, last version, put back, old version;
restore: bring back, get back, put back; deploy: roll out, push out, put live, go live, ship out, new version, put into production;
ramp: roll out percent, roll out slowly, bit by bit, step by step, more users, part of users;
backup: back up, save copy, make copy, safety copy; copy: make copy; login: log in, sign in, log on; logout: log out, sign out, log off;
signup: sign up;
scale: scale up, scale down, more capacity, increase capacity, add capacity;
scale: how many instances, more instances, fewer instances, more copies, scale out;
resize: make bigger, make larger, make smaller, more space;
silence: stop notification, stop alert, stop paging, stop alarm, turn off alert, shut up, keep quiet, no more alerts, quiet down;
ack: looking into, working on, take care, i saw, have seen, taking; search: look for, search for, look up; lookup: look up, find out;
list: what are, which are, what do we have, what is there, all of the; show: look at, tell about, more about, details of, have look;
status: how is, how are doing, is running, is up, is down, what state, how far; health: up and running, is alive, all is well;
unsuspend: let back in; suspend: lock out, put on hold; pause: put on hold, hold off; resume: carry on, go on, pick up; lock: lock out;
assign: hand over, hand to, give to, put in charge; transfer: hand over; oncall: on call, on duty, whos on, pager duty;
swap: trade places, trade shifts, cover for, fill in, change places; open: report new, raise an; close: mark as done, wrap up, shut off;
escalate: make urgent, bump up; cron: every night, every day, every hour, every week, each night, each day;
schedule: every night, every day, every hour, every week, each night, how often; trigger: right now, by hand, kick off, run now;
test: try out, try it; retry: try again, run again, once more, give another, another try, one more time; replay: send again, once more;
redeliver: send again, deliver again; drain: move off, get off, move away, empty out;
rotate: new password, new key, new secret, change password, swap out; revoke: take away, no longer valid;
grant: give access, let read, let write, let in, give rights; allow: let through, let in, open up; deny: keep out, lock out, shut out;
block: keep out, lock out; invite: bring in, add to team, new colleague, new employee;
remove: kick out, throw out, take off, take out, cut off; attach: hook up, plug in; connections: is connected, who is using, using the;
slow: takes long, taking long, take too long, takes so long, takes forever; usage: how much, how full, how big, use up;
cost: how much money, how much does, how expensive, how much do we pay, do we spend;
forecast: will cost, will pay, end of month, going to cost; revenue: how much did we, make money, earn money, did we sell;
churn: stopped using, are leaving, did we lose, have left; audit: who changed, who did, who has, who may;
timeline: what happened, in what order; postmortem: what went wrong, lessons learned, write up;
changelog: what is new, whats new, what changed;
dlq: could not be delivered, not delivered, dead letter, failed messages, could not process; peek: have look, without taking, look at;
presign: temporary link, share link, link to file; import: bring in, read in, load in; export: save as, write to file, as file;
download: get file, save file; sync: in sync, keep same; exec: run command, run on; ssh: log in to, log into, get on, get into;
uptime: how long has, been running, last reboot; lifecycle: delete old, after days, automatically deleted;
retention: how long kept, how long we keep, keep for, kept for; limit: slow down, too many requests; warm: fill cache, fill up;
dependencies: depends on, what does use, what calls, talks to, relies on; canary: small part, few users, some users, part of traffic;
mfa: two factor, second factor; stats: hit rate, how well; lb: load balancer, out of rotation, into rotation; funnel: drop off;
presign: download url, download link, url that expires, link that expires; depth: how long backlog, how deep, how many waiting;
deliveries: go through, went through, did arrive; rule: page me when, alert me when, tell me when; put: save new, store new;
get: what is password, what is value; silence: shut this up, shut alarm up, shut alert up; stock: have left, units left;
list: what is currently, going off, do we have, not paid yet, have not been paid; invite: add new person, add a person;
rollback: broke things, revert it, previous one; restore: back to copy, back to backup; canary: some of the users;
promote: move to production, take to production
]]

M.same = {} ---@type table<string, table<string, number>> stem → what is used for it, and how much that counts

-- The end of a word says number, time or kind, and not what is meant: "databases", "deployed", "scaling".
local IRREGULAR = { ran = "run", sent = "send", made = "make", built = "build", lost = "lose", paid = "pay", shipped = "ship",
	data = "data", news = "news", dns = "dns", status = "status", access = "access", address = "address", addresses = "address",
	license = "licence", licenses = "licence", licences = "licence", people = "person", indices = "index", queries = "query",
	deployment = "deploy", deployments = "deploy", deletion = "delete", removal = "remove", creation = "create", ping = "ping",
	string = "string", slowest = "slow", fastest = "fast", oldest = "old", newest = "new", highest = "high", lowest = "low",
	cheapest = "cheap", busiest = "busy", prs = "pr", dbs = "db", ips = "ip", during = "during", thing = "thing",
	kubernetes = "kubernetes", vms = "vm" }

-- "stopp" → "stop", "releas" stays: an e at the end is taken off of every word.
local function end_of(word)
	local short = word:match "^(.+)e$" or word
	return short:match "^(.*([b-df-hj-kmnp-rtv-z]))%2$" or short
end

local ENDINGS = { { "ies$", "y" }, { "([sxz]h?)es$", "%1" }, { "([^su])s$", "%1" } }
local VERBS = { "ings?$", "ed$", "ions?$" }

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

local NEAR, LOOSE = 0.75, 0.45 -- what a word counts that is used for another one

local function stems_in(text)
	local out = {}
	for word in (text or ""):gmatch "%S+" do
		out[#out + 1] = M.stem(word)
	end
	return out
end

local function relate(a, b, weight)
	for one, other in next, { [a] = b, [b] = a } do
		M.same[one] = M.same[one] or {}
		M.same[one][other] = one ~= other and math.max(M.same[one][other] or 0, weight) or nil
	end
end

for line in SAME:gmatch "[^;\n]+" do
	local near, loose = line:match "^([^|]*)|?(.*)$"
	for _, a in ipairs(stems_in(near)) do
		for _, b in ipairs(stems_in(near)) do
			relate(a, b, NEAR)
		end
		for _, b in ipairs(stems_in(loose)) do
			relate(a, b, LOOSE)
		end
	end
end

---Do two stems stand for one another, and not only sometimes?
---@param a string
---@param b string
---@return boolean
function M.is_same(a, b)
	return (M.same[a] or {})[b] == NEAR
end

---@type table<string, {words: string[], means: string}[]> by the first stem
M.phrases = {}

for means, list in PHRASES:gmatch "(%l+): ([^;\n]+)" do
	for phrase in list:gmatch "[^,]+" do
		local words = stems_in(phrase)
		M.phrases[words[1]] = M.phrases[words[1]] or {}
		table.insert(M.phrases[words[1]], { words = words, means = M.stem(means) })
	end
end

return M
