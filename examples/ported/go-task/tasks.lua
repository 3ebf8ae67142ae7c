-- go-task/task's Taskfile.yml with website/Taskfile.yml, ported whole: 24 and 11 tasks.
local code = { "**/*.go", "go.mod" }
local linted = { "**/*.go", ".golangci.yml", "go.mod" }
local gotestsum = 'format=${GITHUB_ACTIONS:+github-actions}; gotestsum -f "${format:-pkgname}" '
local rest = { { "args", "string", variadic = true } }

return {
	env = { BIN = "$PWD/bin", CGO_ENABLED = "0" },
	tasks = {
		default = { "Lint and test", needs = { "lint", "test" } },
		run = { "Runs Task", args = rest, run = { "go", "run", "./cmd/task" } },
		install = { "Installs Task", aliases = { "i" }, sources = code, run = { "go", "install", "-v", "./cmd/task" } },
		generate = { "Runs all generate tasks", aliases = { "gen", "g" }, needs = { "generate mocks", "generate fixtures" } },
		["generate mocks"] = { "Runs Mockery to create mocks", needs = { "install mockery" },
			sources = { "internal/fingerprint/checker.go" }, generates = { "internal/mocks/*.go" }, shell = [[
			find . -type f -name '*_mock.go' -delete
			"$BIN/mockery" ]] },
		["generate fixtures"] = { "Runs tests and generates golden fixture files",
			env = { GOLDIE_UPDATE = "true", GOLDIE_TEMPLATE = "true" }, shell = [[
			find ./testdata -name '*.golden' -delete
			go test ./... ]] },
		["install mockery"] = { "Installs mockgen; a tool to generate mock files", env = { GOBIN = "$BIN", VERSION = "v3.2.2" },
			status = 'go version -m "$BIN/mockery" | grep github.com/vektra/mockery | grep "$VERSION"',
			shell = 'go install "github.com/vektra/mockery/v3@$VERSION"' },
		mod = { "Downloads and tidy Go modules", shell = [[
			go mod download
			go mod tidy ]] },
		clean = { "Cleans temp files and folders", aliases = { "clear" }, run = { "rm", "-rf", "dist/", "tmp/" } },
		lint = { "Runs golangci-lint", aliases = { "l" }, sources = linted, run = { "golangci-lint", "run" } },
		["lint fix"] = { "Runs golangci-lint and fixes any issues", sources = linted, run = { "golangci-lint", "run", "--fix" } },
		format = { "Runs golangci-lint and formats any Go files", aliases = { "fmt", "f" },
			sources = { "**/*.go", ".golangci.yml" }, run = { "golangci-lint", "fmt" } },
		["sleepit build"] = { "Builds the sleepit test helper", sources = { "cmd/sleepit/**/*.go" }, generates = { "bin/sleepit" },
			shell = 'go build -o "$BIN/sleepit" ./cmd/sleepit' },
		["sleepit run"] = { "Runs the sleepit test helper", needs = { "sleepit build" }, args = rest, shell = '"$BIN/sleepit" "$@"' },
		test = { "Runs test suite", aliases = { "t" }, needs = { "gotestsum install" }, sources = { "**/*.go", "testdata/**/*" },
			shell = gotestsum .. "./..." },
		["test watch"] = { "Runs test suite with watch tests included", needs = { "sleepit build", "gotestsum install" },
			shell = gotestsum .. "./... -tags watch" },
		["test all"] = { "Runs test suite with signals and watch tests included", needs = { "sleepit build", "gotestsum install" },
			shell = gotestsum .. "-tags 'signals watch' ./..." },
		["bench checksum"] = { "Runs checksum benchmarks",
			run = { "go", "test", "-bench=.", "-benchmem", "-tags=fsbench", "-run=^$", "./..." } },
		bench = { "Runs checksum benchmarks", needs = { "bench checksum" } },
		["goreleaser test"] = { "Tests release process without publishing", run = { "goreleaser", "--snapshot", "--clean" } },
		["gotestsum install"] = { "Installs gotestsum", status = "command -v gotestsum",
			run = { "go", "install", "gotest.tools/gotestsum@latest" } },
		["goreleaser install"] = { "Installs goreleaser", run = { "go", "install", "github.com/goreleaser/goreleaser/v2@latest" } },
		["gorelease install"] = { "Installs gorelease: https://pkg.go.dev/golang.org/x/exp/cmd/gorelease",
			status = "command -v gorelease", run = { "go", "install", "golang.org/x/exp/cmd/gorelease@latest" } },
		["api check"] = { "Checks what changes have been made to the public API", needs = { "gorelease install" },
			shell = 'gorelease -base="$(git describe --tags --abbrev=0)"' },
		release = { "Prepare the project for a new release", confirm = "Are you sure you want to release this version?",
			args = { { "version", "string", positional = true, required = true,
				description = '"major", "minor" or "patch" bumps that number; or a version such as "1.2.3"' } },
			-- This task will do the following:
			-- - Update the version and date in the CHANGELOG.md file
			-- - Promote the docs, sidebar and JSON schemas to the released version
			-- - Commit the changes
			-- - Create a new tag
			-- - Push the commit/tag to the repository
			-- - Create a GitHub release
			shell = [[
				version=$(go run ./cmd/release --version "$version")
				test "$(git rev-parse --abbrev-ref HEAD)" = main || { echo "You must be on the main branch to release" >&2; exit 1; }
				test -z "$(git diff --shortstat main)" || { echo "You must have a clean working tree to release" >&2; exit 1; }
				echo "Releasing v$version"
				go run ./cmd/release "$version"
				git add --all
				git commit -m "v$version"
				git push
				git tag -a "v$version" -m "v$version"
				git push origin tag "v$version"
				echo "Creating release with GoReleaser: https://github.com/go-task/task/actions/workflows/release.yml" ]] },
		website = {
			cwd = "website",
			install = { "Setup VitePress locally", sources = { "package.json", "pnpm-lock.yaml" }, run = { "pnpm", "install" } },
			default = { "Start website", needs = { "website install" }, args = {
				{ "channel", "string", default = "next" }, { "host", "string", default = "0.0.0.0" }, { "port", "string", default = "3001" } },
				env = { DOCS_LOCAL = "1" }, shell = 'DOCS_CHANNEL=$channel pnpm dev --host="$host" --port="$port"' },
			s = { "Start website", needs = { "website default" } },
			start = { "Start website", needs = { "website default" } },
			["start next"] = { "Start website", needs = { "website default" } },
			["start latest"] = { "Start website with the content of the released version",
				needs = { { "website default", channel = "latest", port = "3002" } } },
			["start all"] = { "Start both channels side by side", parallel = { "website default", "website start latest" } },
			lint = { "Lint website", needs = { "website install" }, run = { "pnpm", "lint" } },
			build = { "Build website", needs = { "website install" }, args = { { "channel", "string", default = "next" } },
				shell = 'DOCS_CHANNEL=$channel pnpm build' },
			["build next"] = { "Build website", needs = { "website build" } },
			["build latest"] = { "Build website with the content of the released version",
				needs = { { "website build", channel = "latest" } } },
			preview = { "Preview Website", needs = { "website build" }, args = {
				{ "host", "string", default = "localhost" }, { "port", "string", default = "3001" } },
				shell = 'pnpm preview --host="$host" --port="$port"' },
			serve = { "Preview Website", needs = { "website preview" } },
			clean = { "Clean temp directories", run = { "rm", "-rf", "./vitepress/dist" } },
			deploy = {
				next = { "Build and deploy next.taskfile.dev", needs = { "website build" },
					run = { "pnpm", "netlify", "deploy", "--prod", "--no-build", "--site=4e13dfcf-fc0d-4bec-ad60-b918a8dc3942" } },
				prod = { "Build and deploy taskfile.dev", needs = { "website build latest" },
					run = { "pnpm", "netlify", "deploy", "--prod", "--no-build", "--site=e625bc6a-1cd3-465d-ad30-7bbddaeb4f31" } },
			},
		},
	},
}
