-- sbatch_options: words for sbatch (`options` of an executor), judged as getopt_long(3) would take them there: whole
-- names, abbreviations that fit one name alone, letters one behind the other, values in the same word or the next.

local M = {}

-- name/letter, then what it takes: = a value, ? perhaps one; nothing else: none. Those of all releases from 22.05 to 26.11
-- (src/common/slurm_opt.c). What else a site has (SPANK) is a name that none of these begins with.
local OPTIONS = [[
	account/A= acctg-freq= array/a= autocomplete= batch= bb= bbf= begin/b= chdir/D= cluster= cluster-constraint= clusters/M=
	comment= consolidate-segments constraint/C= container= container-id= context= contiguous core-spec/S= cores-per-socket=
	cpu-freq= cpus-per-gpu= cpus-per-task/c= deadline= delay-boot= dependency/d= distribution/m= error/e= exclude/x= exclusive?
	export= export-file= external extra= extra-node-info/B= get-user-env gid= gpu-bind= gpu-freq= gpus/G= gpus-per-node=
	gpus-per-socket= gpus-per-task= gres= gres-flags= help/h hint= hold/H ignore-pbs input/i= job-name/J= kill-on-invalid-dep=
	licenses/L= mail-type= mail-user= mcs-label= mem= mem-bind= mem-per-cpu= mem-per-gpu= mem-update= mincpus= network= nice?
	no-kill/k? no-requeue nodefile/F= nodelist/w= nodes/N= ntasks/n= ntasks-per-core= ntasks-per-gpu= ntasks-per-node=
	ntasks-per-socket= ntasks-per-tres= oom-kill-step? open-mode= output/o= overcommit/O oversubscribe/s parsable partition/p=
	power= prefer= priority= profile= propagate? qos/q= quiet/Q reboot requeue? reservation= resources= resv-ports? runtime=
	segment= signal= sockets-per-node= spread-job spread-segments stepmgr switches= tasks-per-node= test-only thread-spec=
	threads-per-core= time/t= time-min= tmp= tres-bind= tres-per-task= uid= usage use-min-nodes verbose/v version/V wait/W
	wait-all-nodes= wckey= wrap=]]

-- Those that an executor may not have, and why.
local REFUSED = {
	-- a word that contradicts it would part a task from its fence
	["runner itself sets"] = [[array chdir error export export-file hold input job-name no-requeue open-mode output parsable requeue
		signal test-only wait wrap]],
	["is for people who call sbatch"] = [[autocomplete help quiet usage verbose version]],
	["makes a job that runs nothing"] = [[external]],
	["gives the tasks to a user who may not read their folder"] = [[gid uid]],
	["sends the tasks to a cluster where nothing looks for them: one executor is one cluster"] = [[cluster clusters]],
}

local by_name, by_letter = {}, {}
for name, letter, takes in OPTIONS:gmatch "([%l-]+)/?(%a?)([=?]?)" do
	by_name[name] = { name = name, takes = takes }
	by_letter[letter] = by_name[name]
end
by_letter[""] = nil
for reason, names in pairs(REFUSED) do
	for name in names:gmatch "%S+" do
		by_name[name].fault = ("is --%s, which %s"):format(name, reason)
	end
end

-- What a long name stands for: an option, or nil and what is wrong. One that sbatch itself doesn't know may be of the site.
local function of_name(given)
	local found = {}
	for name in pairs(by_name) do
		found[#found + 1] = name:sub(1, #given) == given and "--" .. name or nil
	end
	table.sort(found)
	if #found > 1 and not by_name[given] then
		return nil, "may be " .. table.concat(found, ", ")
	end
	return by_name[given] or found[1] and by_name[found[1]:sub(3)] or { takes = "perhaps" }
end

-- Letters one behind the other: what is wrong with one of them, or what the last takes from the next word.
local function judge_letters(word)
	for at = 2, #word do
		local option = by_letter[word:sub(at, at)]
		if not option or option.fault then
			return option and option.fault or ("has the letter %s, which sbatch doesn't know"):format(word:sub(at, at))
		elseif option.takes ~= "" then
			return nil, at == #word and option.takes or ""
		end
	end
	return nil, ""
end

-- What is wrong with a word where an option may stand, or what it takes from the next one.
local function judge(word)
	if not word:find "^%-%-?[^-]" then
		return "is no option: sbatch would take it for the script"
	elseif word:sub(2, 2) ~= "-" then
		return judge_letters(word)
	end
	local given, value = word:match "^%-%-([^=]*)(=?)"
	local option, unclear = of_name(given)
	return unclear or option.fault, value == "" and option and option.takes or ""
end

---What a word is, as far as a schema says it: no whole name and no letter of those that are refused.
---@return table of JSON Schema
function M.schema()
	local names, letters = {}, {}
	for letter, option in pairs(by_letter) do
		letters[#letters + 1] = option.fault and letter or nil
	end
	for name, option in pairs(by_name) do
		names[#names + 1] = option.fault and name or nil
	end
	table.sort(names)
	table.sort(letters)
	return { ["not"] = { pattern = ("^(--(%s)(=|$)|-[%s])"):format(table.concat(names, "|"), table.concat(letters)) } }
end

---The first word that sbatch should not get.
---@param words string[]
---@return string? word
---@return string? fault a clause about it
function M.wrong(words)
	local takes = ""
	for i, word in ipairs(words) do
		if takes ~= "" and takes ~= "?" and word:sub(1, 1) ~= "-" then
			takes = ""
		else
			local fault
			fault, takes = judge(word)
			fault = fault or takes == "=" and (words[i + 1] or "-"):sub(1, 1) == "-" and "needs a value" or nil
			if fault then
				return word, fault
			end
		end
	end
end

return M
