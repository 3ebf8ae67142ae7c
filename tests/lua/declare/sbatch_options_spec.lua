-- Words for sbatch in `options` of an executor (lua/declare/sbatch_options.lua). What the real sbatch makes of them is asked of it
-- in tests/cli/slurm.bats.

local options = require "runner.declare.sbatch_options"
local declared = require "runner.declare.executors"

describe("words for sbatch", function()
	for _, words in ipairs {
		{ "--constraint=ssd" }, { "--constraint", "ssd" }, { "-C", "ssd" }, { "-Cssd" }, { "--gres=gpu:1", "-x", "n[1-3]", "--exclusive" },
		{ "--exclusive=user" }, { "--constr=ssd" }, { "--comment=-J x" }, { "-sOk" }, { "-koff" }, { "--nice" },
		{ "--site-flag" }, { "--site-flag", "value", "--nice=5" }, { "--site-flag=a b" }, { "--ntasks=4" }, { "-n4" }, { "--mem=0" }, {},
	} do
		it("that are meant are taken: " .. table.concat(words, " "), function()
			assert.same({}, { options.wrong(words) })
		end)
	end

	it("take no word that looks like one for a value", function()
		for _, word in ipairs { "--array=1", "-J", "-x", "--" } do
			assert.same({ "--comment", "needs a value" }, { options.wrong { "--comment", word } })
		end
	end)

	for word, clause in pairs {
		["--array=3"] = "is --array, which runner itself sets", ["--arr=1-2"] = "is --array, which runner itself sets",
		["--job=x"] = "is --job-name, which runner itself sets", ["-J"] = "is --job-name, which", ["-Jx"] = "is --job-name, which",
		["-sJx"] = "is --job-name, which", ["-sOH"] = "is --hold, which", ["--requeue"] = "is --requeue, which",
		["--par"] = "may be --parsable, --partition", ["--pars"] = "is --parsable, which", ["--err=/x"] = "is --error, which",
		["--wra=x"] = "is --wrap, which", ["--w=5"] = "may be --wait, ", ["--export-f=x"] = "is --export-file, which",
		["--help"] = "is --help, which is for people", ["-h"] = "is --help, which is", ["-V"] = "is --version, which is",
		["--ver"] = "may be --verbose, --version", ["-vv"] = "is --verbose, which",
		["-Q"] = "is --quiet, which", ["--usage"] = "is --usage, which",
		["--uid=0"] = "is --uid, which gives the tasks", ["--gid=x"] = "is --gid, which", ["--external"] = "is --external, which makes",
		["-Meast"] = "is --clusters, which sends", ["--clusters=all"] = "is --clusters, which", ["--cluster=x"] = "is --cluster, which",
		["--tes"] = "is --test-only, which", ["-W"] = "is --wait, which", ["-z"] = "has the letter z, which sbatch doesn't know",
		["ssd"] = "is no option: sbatch would take it for the script", ["-"] = "is no option", ["--"] = "is no option", ["---x"] = "is no option",
		["--constraint"] = "needs a value", ["-C"] = "needs a value", ["--=x"] = "may be ", ["-é"] = "has the letter",
	} do
		it("that part a task from runner, or say nothing, are refused by name: " .. word, function()
			local found, fault = options.wrong { "--nice=5", "-C", "ssd", word }
			assert.same({ word, clause }, { found, fault:sub(1, #clause) })
			local executor, message, hint = declared.settle("c", { kind = "slurm", directory = "/s", options = { word } })
			assert.is_nil(executor)
			assert.truthy(message:find(("the executor 'c': options: '%s' %s"):format(word, clause), 1, true), message)
			assert.is_string(hint)
			assert.is_table(declared.settle("q", { kind = "command", directory = "/s", options = { word }, submit = { "a" }, states = { "a" },
				cancel = { "a" } }), "words of another program")
		end)
	end
end)
