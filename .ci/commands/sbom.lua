-- runner sbom: what is inside a program of runner and what it opens, as SPDX 2.3 (.ci/package calls it).
-- The libraries and their versions are what the program itself says of them (`--version --verbose`); where dpkg
-- knows the file that was linked, its package is named as well. The same program gives the same bytes.

local fs = require "fs"
local hash = require "runner.hash"
local json = require "json"

-- By the name that the program gives a library: what the linker calls its files, and its licence.
local KNOWN = {
	["Lua"] = { archive = "liblua5.4.a", shared = "liblua5.4.so.0", license = "MIT" },
	["lua-cjson"] = { archive = "liblua5.4-cjson.a", shared = "liblua5.4-cjson.so.0", license = "MIT" },
	["PCRE2"] = { archive = "libpcre2-8.a", shared = "libpcre2-8.so.0", license = "BSD-3-Clause" },
	["libcurl"] = { shared = "libcurl.so.4", license = "curl" },
	["SQLite"] = { shared = "libsqlite3.so.0", license = "blessing" },
	["lua-yaml"] = { shared = "lua/5.4/yaml.so", license = "MIT" },
	["libmd"] = { shared = "libmd.so.0", license = "NOASSERTION" },
	["curl"] = { license = "curl" }, ["libyaml"] = { license = "MIT" }, ["lua5.4"] = { license = "MIT" },
	["libarchive"] = { license = "BSD-2-Clause" }, ["zlib"] = { license = "Zlib" },
	["openssl"] = { license = "Apache-2.0" }, ["pcre2"] = { license = "BSD-3-Clause" }, ["sqlite3"] = { license = "blessing" },
	["glibc"] = { shared = "libc.so.6", license = "LGPL-2.1-or-later" }, ["musl"] = { license = "MIT" },
}

local function lines(ctx, command)
	return ctx:run(command).stdout:gmatch "[^\n]+"
end

-- The packages of files, in one look: each takes a while. dpkg may know a file without /usr in front, from
-- before the two became one.
local function packages_of(ctx, paths)
	local query, of = { "dpkg-query", "-S", ok_statuses = { 0, 1 }, reads = true, check = true }, {}
	for _, path in ipairs(paths) do
		query[#query + 1], query[#query + 2] = path, (path:gsub("^/usr", ""))
	end
	for line in lines(ctx, query) do
		local package, path = line:match "^(%S+): (.*)$"
		of[path or ""] = package
	end
	return of
end

local function details_of(ctx, package)
	local format = "${Package}\t${Version}\t${Architecture}\t${Maintainer}"
	local row = ctx:run { "dpkg-query", "-W", "-f", format, package, reads = true, check = true }.stdout
	local name, version, architecture, maintainer = row:match "^(.-)\t(.-)\t(.-)\t(.*)$"
	return { name = name, version = version, architecture = architecture, maintainer = maintainer }
end

-- By the name of a library: the Debian package of the file that was linked, where there is one.
local function owners_of(ctx, libraries, compiler)
	local paths, path_of, out = {}, {}, {}
	for _, library in ipairs(libraries) do
		local known = KNOWN[library.name] or {}
		local name = library.linked == "built-in" and known.archive or known.shared
		local path = name and ctx:run { compiler, "-print-file-name=" .. name, reads = true, check = true }.stdout:match "^/[^\n]*"
		path = path and fs.realpath(path)
		paths[#paths + 1], path_of[library.name] = path, path
	end
	local of = packages_of(ctx, paths)
	for name, path in pairs(path_of) do
		local package = of[path] or of[path:gsub("^/usr", "")]
		out[name] = package and details_of(ctx, package)
	end
	return out
end

-- The libraries of a static build, and their source packages: lines of a digest and a path in Debian's pool.
local function pinned(path)
	local libraries, owners = {}, {}
	for line in assert(fs.read(path)):gmatch "[^\n]+" do
		local digest, name, version, part = line:match "^(%x+) .*/([^/_]+)_(.-)%.(%a+)%.tar"
		if part == "orig" then
			libraries[#libraries + 1] = { name = name, version = version, linked = "built-in" }
			owners[name] = { name = name, version = version, architecture = "source", digest = digest }
		elseif part == "debian" then
			owners[name].version = version
		end
	end
	return libraries, owners
end

-- "Name <address>" of a maintainer → SPDX's "Organization: Name (address)"
local function supplier(maintainer)
	return (maintainer:gsub("^(.-)%s*<(.*)>$", "Organization: %1 (%2)"))
end

local function identifier(name)
	return "SPDXRef-Package-" .. name:gsub("[^%w.-]", "-")
end

local function purl_of(owner)
	local version = owner.version:gsub("[+~:]", function(char) return ("%%%02X"):format(char:byte()) end)
	return ("pkg:deb/debian/%s@%s?arch=%s"):format(owner.name, version, owner.architecture)
end

-- The version that dpkg knows goes before the library's own: it has Debian's patches in it.
local function describe(library, owner)
	local known = KNOWN[library.name] or { license = "NOASSERTION" }
	local one = {
		SPDXID = identifier(library.name), name = library.name, versionInfo = owner and owner.version or library.version,
		downloadLocation = "NOASSERTION", filesAnalyzed = false, copyrightText = "NOASSERTION",
		licenseConcluded = "NOASSERTION", licenseDeclared = known.license, primaryPackagePurpose = "LIBRARY",
	}
	if owner then
		one.supplier = owner.maintainer and supplier(owner.maintainer) or "Organization: Debian"
		one.checksums = owner.digest and json.array { { algorithm = "SHA256", checksumValue = owner.digest } } or nil
		one.externalRefs = json.array { { referenceCategory = "PACKAGE-MANAGER", referenceType = "purl", referenceLocator = purl_of(owner) } }
	end
	return one
end

-- B is inside A, A is linked to B, or A opens B where it is there.
local function relate(main, library, id)
	if library.linked == "built-in" then
		return { spdxElementId = main, relationshipType = "STATIC_LINK", relatedSpdxElement = id }
	elseif library.linked == "shared" then
		return { spdxElementId = main, relationshipType = "DYNAMIC_LINK", relatedSpdxElement = id }
	end
	return { spdxElementId = id, relationshipType = "RUNTIME_DEPENDENCY_OF", relatedSpdxElement = main }
end

local function document(args, about, digest, owners)
	local main = "SPDXRef-Package-runner"
	local packages, relationships = json.array {}, json.array {}
	packages[1] = {
		SPDXID = main, name = "runner", versionInfo = about.build.version, downloadLocation = "NOASSERTION", filesAnalyzed = false,
		copyrightText = "Copyright (c) 2026 the runner authors", licenseConcluded = "NOASSERTION", licenseDeclared = "MIT",
		supplier = "Organization: the runner authors", primaryPackagePurpose = "APPLICATION", packageFileName = "runner",
		checksums = json.array { { algorithm = "SHA256", checksumValue = digest } },
		comment = ("commit %s, %s, %s"):format(about.build.commit, about.build.linkage, about.build.target),
	}
	relationships[1] = { spdxElementId = "SPDXRef-DOCUMENT", relationshipType = "DESCRIBES", relatedSpdxElement = main }
	for _, library in ipairs(about.libraries) do
		if library.version then
			packages[#packages + 1] = describe(library, owners[library.name])
			relationships[#relationships + 1] = relate(main, library, identifier(library.name))
		end
	end
	return {
		spdxVersion = "SPDX-2.3", dataLicense = "CC0-1.0", SPDXID = "SPDXRef-DOCUMENT", name = "runner-" .. about.build.version,
		documentNamespace = "https://spdx.org/spdxdocs/runner-" .. about.build.version .. "-" .. digest,
		creationInfo = {
			created = os.date("!%Y-%m-%dT%H:%M:%SZ", args.created),
			creators = json.array { "Organization: the runner authors", "Tool: runner-" .. about.build.version },
		},
		packages = packages, relationships = relationships,
	}
end

return {
	description = "Write what is inside a program of runner as SPDX 2.3",
	danger_level = "mutating",
	args = {
		{ "program", "path", required = true, description = "The program that is described" },
		{ "to", "path", required = true, description = "The file to write" },
		{ "created", "integer", required = true, description = "Seconds since the epoch that the document names as its time" },
		{ "sources", "path", description = "Of a static build: the digests and paths of what it was built from" },
		{ "compiler", "string", default = "cc", description = "The C compiler that found the libraries" },
	},
	exit_codes = { TIMEOUT = { retryable = true, side_effects = "none", description = "The file is written whole, and last" } },
	examples = { { description = "Describe the build", command = "runner sbom --program build/runner --to sbom.json --created 0" } },
	run = function(args, ctx)
		local about = json.decode(ctx:run { args.program, "--version", "--verbose", "--format", "json", reads = true, check = true }.stdout).data
		local dynamic, owners = about.build.linkage == "dynamic", {}
		if args.sources then
			about.libraries, owners = pinned(args.sources)
		end
		local libc, version = about.build.libc:match "^(%S+)%s*(.*)"
		if not owners[libc] then -- pinned too, in a build for another processor
			table.insert(about.libraries, { name = libc, version = version ~= "" and version or "unknown",
				linked = dynamic and "shared" or "built-in" })
		end
		if dynamic and fs.stat "/usr/bin/dpkg-query" then
			owners = owners_of(ctx, about.libraries, args.compiler)
		end
		ctx.fs.write(args.to, json.encode(document(args, about, hash.file(args.program), owners)) .. "\n")
		return { effect = "updated", written = args.to, packages = #about.libraries + 1 }
	end,
}
