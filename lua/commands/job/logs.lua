-- runner job logs ID: what a job has written to stderr.

local folder = require "runner.jobs.folder"
local host = require "runner.host"

local CHUNK, LOOK_MS, LINE_MAX = 1 << 16, 1000, 32768

local function emit(ctx, line)
	ctx:emit { line = host.clean(line) }
end

-- Lines as they are complete; the rest is kept for the next piece.
local function emit_lines(ctx, rest, piece)
	rest = rest .. piece
	local from, newline = 1, rest:find("\n", 1, true)
	while newline do
		emit(ctx, rest:sub(from, newline - 1))
		from = newline + 1
		newline = rest:find("\n", from, true)
	end
	rest = rest:sub(from)
	if #rest > LINE_MAX then
		emit(ctx, rest)
		rest = ""
	end
	return rest
end

-- What is there now.
local function read(ctx, file, rest)
	for piece in function() return file:read(CHUNK) end do
		rest = emit_lines(ctx, rest, piece)
	end
	return rest
end

-- Where the last `count` lines begin.
local function seek_tail(file, count)
	local at, lines = file:seek "end", 0
	while at > 0 and count > 0 do
		local from = math.max(0, at - CHUNK)
		file:seek("set", from)
		local piece = file:read(at - from) or ""
		for i = #piece, 1, -1 do
			if piece:byte(i) == 10 then
				lines = lines + 1
				if lines > count then
					return file:seek("set", from + i)
				end
			end
		end
		at = from
	end
	file:seek("set", 0)
end

-- Sleeps until the log has grown or the job has ended.
local function follow(ctx, job, file, rest)
	local function has_grown()
		local at, size = file:seek(), file:seek "end"
		file:seek("set", at)
		return size > at
	end
	local ended
	repeat
		ended = folder.wait(job, LOOK_MS, has_grown, "log") == "ended"
		rest = read(ctx, file, rest)
	until ended
	return rest
end

return {
	timeout = "none",
	streams = true,
	args = {
		folder.argument,
		{ "follow", "boolean", short = "f", description = "Go on until the job has ended" },
		{ "tail", "integer", min = 0, default = 1000, description = "Only the last lines; 0: all" },
	},
	columns = { "line" },
	exit_codes = folder.exit_codes,
	examples = { { description = "Look at a job at work", command = "runner job logs job_01J --follow --stream" } },
	run = function(args, ctx)
		local job = folder.find(args.id)
		local file <close>, message = io.open(job.path .. "/log", "rb")
		if not file then
			folder.raise(message)
		end
		seek_tail(file, args.tail)
		local rest = read(ctx, file, "")
		rest = args.follow and follow(ctx, job, file, rest) or rest
		if rest ~= "" then
			emit(ctx, rest)
		end
		return { job_id = job.id, status = (folder.open(job.id) or job).status }
	end,
}
