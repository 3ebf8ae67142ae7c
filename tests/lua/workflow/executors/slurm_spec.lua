local declared = require "runner.declare.executors"
local slurm = require "runner.workflow.executors.slurm"

local function executor(fields)
	fields.kind, fields.directory = "slurm", "/s"
	return assert(declared.settle("c", fields))
end

describe("a submission to Slurm", function()
	it("is one array whose name is the token", function()
		assert.same({ "sbatch", "--parsable", "--export=NONE", "--no-requeue", "--job-name=rn-a.1", "--array=1-20%5", "--chdir=/s/u",
			"--open-mode=append", "--output=/s/u/rn-a.1.out", "--nodes=1", "--ntasks=1", "--partition=main", "--account=a1", "--qos=q",
			"--cpus-per-task=4", "--gpus=2", "--mem=8G", "--time=30:01", "--constraint=ssd" },
			slurm.sbatch { token = "rn-a.1", tasks = 20, dir = "/s/u", memory = "8G", executor = executor { partition = "main", account = "a1",
				qos = "q", cpus = 4, gpus = "2", time_ms = 1800001, at_once = 5, options = { "--constraint=ssd" } } })
	end)

	it("asks for nothing that the executor doesn't say", function()
		local argv = slurm.sbatch { token = "t", tasks = 1, dir = "/a%b", executor = executor { at_once = 5 } }
		assert.equal("--array=1-1", argv[6])
		assert.equal("--output=/a%%b/t.out", argv[9])
		assert.equal("--ntasks=1", argv[#argv])
	end)

	it("has a script that becomes runner", function()
		assert.equal("#!/bin/sh\nexec /opt/runner workflow chunk '/s/a b' rn-a.1 \"$SLURM_ARRAY_TASK_ID\"\n",
			slurm.script({ "/opt/runner", "workflow", "chunk", "/s/a b", "rn-a.1" }, executor {}))
	end)

	it("quotes what the shell of the script would read", function()
		assert.equal("#!/bin/bash -l\nexport A='it'\\''s $x'\nexport B=1\nmodule load x\nexec r '`id`' \"$SLURM_ARRAY_TASK_ID\"\n",
			slurm.script({ "r", "`id`" }, executor { prologue = "module load x", environment = { B = "1", A = "it's $x" } }))
	end)

	it("has the id that sbatch printed, and nothing else", function()
		assert.same({ "123", "123" }, { slurm.job "123\n", slurm.job "123;east\n" })
		for _, text in ipairs { "", "\n", "Submitted batch job 1\n", "12 3\n", "1\n2\n", "-1\n", "1;\n" } do
			assert.is_nil(slurm.job(text))
		end
	end)
end)

-- What sbatch of Slurm 22.05 says, recorded; those of accounting from its source (slurm_errno.c).
describe("a refusal of sbatch", function()
	for said, expected in pairs {
		["sbatch: error: invalid partition specified: nope"
			.. " sbatch: error: Batch job submission failed: Invalid partition name specified"] = "refused",
		["sbatch: error: Memory specification can not be satisfied"
			.. " sbatch: error: Batch job submission failed: Requested node configuration is not available"] = "refused",
		["sbatch: error: Batch job submission failed: Invalid job array specification"] = "refused",
		["sbatch: error: Invalid generic resource (gres) specification"] = "refused",
		["sbatch: error: Invalid --time specification"] = "refused",
		["sbatch: error: Batch job submission failed: Invalid feature specification"] = "refused",
		["sbatch: unrecognized option '--wurst' Try \"sbatch --help\" for more information"] = "refused",
		["sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified"] = "refused",
		["sbatch: error: Batch job submission failed: Invalid qos specification"] = "refused",
		["sbatch: error: Batch job submission failed: Access/permission denied"] = "refused",
		["sbatch: error: Batch job submission failed: Requested reservation is invalid"] = "refused",
		["sbatch: error: Batch job submission failed: Invalid license specification"] = "refused",
		["sbatch: error: Batch job submission failed: Job dependency problem"] = "refused",
		["sbatch: error: Batch job submission failed: Invalid node name specified"] = "refused",
		["sbatch: error: Batch job submission failed: Invalid wckey specification"] = "refused",
		["sbatch: error: Batch job submission failed: Invalid burst buffer specification"] = "refused",
		["sbatch: error: Batch job submission failed: Requested operation not supported on this system"] = "refused",
		["sbatch: error: QOSMaxSubmitJobPerUserLimit sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit"
			.. " limit, user's size and/or time limits)"] = "busy",
		["sbatch: error: AssocMaxSubmitJobLimit"] = "busy",
		["sbatch: error: Batch job submission failed: Resource temporarily unavailable"] = "busy",
		["sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying"] = "busy",
		["sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)"] = "unknown",
		["sbatch: error: Batch job submission failed: Socket timed out on send/recv operation"] = "unknown",
		["sbatch failed with status 1"] = "unknown", ["sbatch: error: something new"] = "unknown",
	} do
		it(("is %s: %s"):format(expected, said:sub(1, 90)), function()
			local problem = slurm.refusal(said)
			assert.equal(expected, problem.kind)
			assert.equal(expected == "refused" and "PRECONDITION" or "UNAVAILABLE", problem.code)
			assert.truthy(problem.message:find(said, 1, true))
		end)
	end
end)

local QUEUE = [[
1_4|rn-a.1|PENDING|JobArrayTaskLimit|
1_5|rn-a.1|PENDING|QOSMaxJobsPerUserLimit|
1_1|rn-a.1|RUNNING|None|n1
1_2|rn-a.1|COMPLETING|None|n1
1_3|rn-a.1|OUT_OF_MEMORY|OutOfMemory|n2
9_1|rn-b.1|NODE_FAIL|NodeDown|n[3]
7_1|other|RUNNING|None|n1
]]

describe("the queue", function()
	it("is read by tokens", function()
		local states = assert(slurm.states(QUEUE, { "rn-a.1", "rn-b.1", "rn-c.1" }))
		assert.same({ job = "9", tasks = { { state = "ended", ended = "node_failed", reason = "NodeDown", node = "n[3]" } } }, states["rn-b.1"])
		assert.is_nil(states["rn-c.1"])
		assert.is_nil(states.other)
		local tasks = states["rn-a.1"].tasks
		assert.same({ state = "running", node = "n1" }, tasks[1])
		assert.same({ "running", "out_of_memory" }, { tasks[2].state, tasks[3].ended })
		assert.same({ "pending", "JobArrayTaskLimit", "at_once of the executor is reached" }, { tasks[4].state, tasks[4].reason, tasks[4].why })
		assert.equal("a limit of the QOS on your jobs is reached; it starts as others end", tasks[5].why)
	end)

	it("of a token that was submitted twice shows what lives", function()
		local states = assert(slurm.states("4_1|t|FAILED|None|n1\n5_1|t|RUNNING|None|n2\n6_1|t|PENDING|Priority|\n", { "t" }))
		assert.same({ "6", "running", "n2" }, { states.t.job, states.t.tasks[1].state, states.t.tasks[1].node })
	end)

	it("has every state of squeue(1)", function()
		for state in ("EXPEDITING BOOT_FAIL CANCELLED"
			.. " COMPLETED CONFIGURING COMPLETING DEADLINE FAILED NODE_FAIL OUT_OF_MEMORY PENDING PREEMPTED RUNNING"
			.. " RESV_DEL_HOLD REQUEUE_FED REQUEUE_HOLD REQUEUED RESIZING REVOKED"
			.. " SIGNALING SPECIAL_EXIT STAGE_OUT STOPPED SUSPENDED TIMEOUT"):gmatch "%S+" do
			local states = slurm.states(("1_1|t|%s|None|\n"):format(state), { "t" })
			assert.is_table(states, state)
			assert.equal(states.t.tasks[1].state == "ended", states.t.tasks[1].ended ~= nil)
		end
	end)
end)

it("the largest array is one less than MaxArraySize, or what the scheduler takes", function()
	assert.equal(1000, slurm.largest_array "a\nMaxArraySize            = 1001\nb\n")
	assert.equal(500, slurm.largest_array "a\nMaxArraySize = 1001\nSchedulerParameters     = x=1,max_array_tasks=500\n")
	assert.is_nil(slurm.largest_array "slurm_load_ctl_conf error\n")
	assert.is_nil(slurm.largest_array "\nMaxArraySize = 0\n")
end)
