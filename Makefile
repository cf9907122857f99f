# smolwc: make run, make test, make help.

GO       := scripts/go
FUZZTIME := 30s
SOAKTIME ?= 10m
SYSTEMS  ?= linux darwin windows freebsd
# By default each process with the race detector waits a second before it ends.
export GORACE ?= atexit_sleep_ms=0

# What test-quick leaves out: rooms whose tests start processes, fail disks or wait for
# leases, and by their names tests that kill, fill disks, measure memory or go through
# long histories.
SLOW_ROOMS := archive|cf/rocks|console|cli|queue|rhino/node
SLOW_TESTS := Kill|Kills|Power|Memory|Bounded|Disk|Histor|Sequences|Busy|Wide|Removed|Nil$$|Late|Distinct|Conforms|Process|EqualTheirQueries|Linear|Large|Giant|Automated|FarApart|Fenced

# libraries, with a flag or none, compiles the packages and shows each one's name.
libraries = GOGC=400 $(GO) build -v $(1) $$(go list -f '{{if and (or .GoFiles .CgoFiles) (ne .Name "main")}}{{.ImportPath}}{{end}}' ./...)

.PHONY: run tikv build deps test test-engines race test-quick lint nocgo analyse smolwc-bench bench bench-compare bench-results fuzz sanitize tikv-test failover-test browser-test crash witness soak man dist site clean help

run: build ## build, load the example fleet into ./data, open the shell
	@scripts/run

tikv: ## the same on TiKV, without cgo: PD and a store as processes, their data in ./data-tikv
	@scripts/tikv

CLI := github.com/smolwc/smolwc/cli

# -w links without debug information, which is half of the work of linking; traces of a
# panic have their lines all the same. GOGC has the compilers collect their garbage less
# often: 5 % less processor time. The largest compiler then takes 710 MB instead of 430.
build: deps ## build bin/smolwc
	@test -e bin/smolwc || echo "building bin/smolwc: the first time takes two or three minutes; these are the packages"
	@GOGC=400 $(GO) build -v -ldflags="-w -X '$(CLI).release=$$(packaging/version)' -X '$(CLI).commit=$$(git describe --always --exclude='*' --abbrev=40 --dirty=', with changes' 2>/dev/null)' -X '$(CLI).madeOf=$$(scripts/links-rocksdb && echo RocksDB $$(pkg-config --modversion rocksdb))'" -o bin/smolwc ./cmd/smolwc

deps: ## install what a build with RocksDB needs: librocksdb-dev, pkg-config
	@scripts/deps

# Two packages more than processors run at once, because tests also wait.
SIDE_BY_SIDE := -p $$(($$(getconf _NPROCESSORS_ONLN) + 2))

test: deps ## run all tests
	@echo "compiling"; $(call libraries)
	$(GO) test -vet=off -ldflags=-w $(SIDE_BY_SIDE) -timeout 30m ./...
	cd bench && ../$(GO) test -vet=off -ldflags=-w -timeout 30m ./...

# The packages whose tests have databases, and those of the engine.
ENGINES := ./cf/pebble ./query/... ./views ./sql/... ./ql/... ./branch ./mcp ./queue ./directory ./server/... ./client/... ./shell/... ./archive ./standby ./rhino/... ./cli/... ./docs

test-engines: deps ## run the tests that have databases with these on Pebble, which is not the default here
	SMOLWC_TEST_ENGINE=pebble $(GO) test -vet=off -ldflags=-w $(SIDE_BY_SIDE) -timeout 30m $(ENGINES)

# What make race leaves to make test, because the detector has nothing new to see there and
# makes it five to ten times as long: tests that take the time of one goroutine, hostile
# queries, tests that read our source, that measure programs which they build without the
# detector, or that kill commands at their steps, whose reports nobody reads.
NO_RACES := ^(TestQueriesAreReadInLinearTime|TestHostileQueriesAreBounded|TestEveryCombinationIsAnswered|TestListsAreSearched|TestErrorsOfFunctions|TestErrorsOfTypes|TestRowsByFieldsAreThoseThatAreWanted|TestPlainEnglish|TestArrowsPointOneWay|TestMemoryOfAnImportIsBounded|TestMemoryOfAScanIsBounded|TestMemoryOfLargeRowsIsBounded|TestTheProcessIsTheProgramsOwn|TestKilledAtEachStep|TestKilledSlices|TestBranchesKilledAtEveryStep|TestAServedMergeIsKilled|TestABranchSurvivesALossOfPower)$$

race: deps ## run all tests with the race detector, but for some of one goroutine
	@echo "compiling with the race detector"; $(call libraries,-race)
	$(GO) test -race -vet=off -ldflags=-w -skip '$(NO_RACES)' -timeout 30m ./...
	cd bench && ../$(GO) test -race -vet=off -ldflags=-w -timeout 30m ./...

test-quick: deps ## the tests for the loop of writing: without the race detector, and without what takes long
	@echo 'left out: the race detector, go vet, the rooms $(SLOW_ROOMS), the tests $(SLOW_TESTS)'
	@$(call libraries)
	$(GO) test -short -vet=off -ldflags=-w $(SIDE_BY_SIDE) -skip '$(SLOW_TESTS)' $$(go list ./... | grep -vE '/($(SLOW_ROOMS))(/|$$)')

lint: deps ## check the format, and what go vet knows
	@files=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$files" || { echo "gofmt -w $$files"; exit 1; }
	@echo "compiling"; $(call libraries)
	$(GO) vet ./...
	cd bench && ../$(GO) vet ./...

# Systems whose programs nobody runs here. That they compile and link is seen without
# optimisation, which is a third of the compiler's work.
UNRUN := darwin windows freebsd

nocgo: ## build and vet without RocksDB, for each SYSTEM; run short tests of such a build
	@set -e; for os in $(SYSTEMS); do \
		echo "without cgo: GOOS=$$os"; \
		case " $(UNRUN) " in *" $$os "*) flags='-gcflags=all=-N -l -dwarf=false' ;; *) flags= ;; esac; \
		CGO_ENABLED=0 GOOS=$$os GOGC=400 go build $${flags:+"$$flags"} ./...; CGO_ENABLED=0 GOOS=$$os go vet $${flags:+"$$flags"} ./...; \
	done
	go vet -tags norocksdb ./...
	CGO_ENABLED=0 go test -short -vet=off -ldflags=-w ./cf/cftest/... ./query ./directory ./views -run 'Test(Store|Open|Engine|AnEngine|ABuild|Upgrade|Filter|Tx|Keeper|Trees|Reverse|Rows)'

analyse: deps ## staticcheck, nilness and govulncheck, where they can be fetched
	@scripts/analyse

smolwc-bench: deps # the linker is told the commit, which the go command stamps at the root alone
	@cd bench && ../$(GO) build -o ../bin/smolwc-bench -ldflags "-X github.com/smolwc/smolwc/bench/machine.stamp=$$(git describe --always --dirty=+changes --abbrev=12 --exclude '*' 2>/dev/null)" ./cmd/smolwc-bench

bench: smolwc-bench ## measure against RocksDB used by hand, Pebble and Badger; ARGS='-run scan -cells 10M'
	@bin/smolwc-bench $(ARGS)

bench-compare: deps ## what moved since the commit REF, beyond the noise; ARGS='-run get'
	@test -n "$(REF)" || { echo "make bench-compare: REF is missing; it is the commit to compare with, as in REF=main" >&2; exit 2; }
	@scripts/bench-compare "$(REF)" . $(ARGS)

bench-results: smolwc-bench ## measure a release into bench/results/VERSION.json
	@test -n "$(VERSION)" || { echo "make bench-results: VERSION is missing, as in VERSION=0.2.0" >&2; exit 2; }
	@mkdir -p bench/results
	@bin/smolwc-bench -json -rounds 9 -peers '' $(ARGS) > bench/results/$(VERSION).tmp && mv bench/results/$(VERSION).tmp bench/results/$(VERSION).json

fuzz: deps ## run each fuzz test for FUZZTIME (30s)
	@scripts/fuzz $(FUZZTIME)

sanitize: deps ## our C without a warning, its tests under ASan and UBSan; ARGS='./cf/rocks -run Merge'
	@scripts/sanitize $(ARGS)

tikv-test: ## test the store on TiKV, on client-go's mock; STACK=1 also on PD and a store as processes
	cd tikv && go vet ./... && go test -race -vet=off -timeout 30m ./...
	$(if $(STACK),cd tikv && go test -count=1 -timeout 30m ./stack -stack -skip TestConforms/Model)

failover-test: deps ## automatic failover with a real etcd; ARGS='-kills 50 -flaps 100' is longer
	cd standby/lease/etcdtest && ../../../$(GO) vet ./... && ../../../$(GO) test -race -count=1 -timeout 30m . $(if $(ARGS),-args $(ARGS)) && ../../../$(GO) test -race -count=1 -timeout 30m ./local

browser-test: deps ## try the console in chromium; ARGS='-shots ../../docs/images' writes the pictures of its page
	cd console/browser && go vet . && go test -count=1 -timeout 30m -v . $(if $(ARGS),-args $(ARGS))

crash: deps ## kill writers and clients 300 times each, and servers at each fifth step of a change of roles; flip bytes by the thousand
	$(GO) test ./query -run 'TestKilledWriters|TestKilledClients' -crashes 300 -linear-crashes 300 -timeout 60m -v
	$(GO) test ./cf/rocks -run 'TestAFlippedByte|TestADamagedLog' -long 120 -timeout 60m
	$(GO) test ./cli -run TestKilledAtEachStep -step-every 5 -timeout 60m

witness: deps ## suites and clients of Bigtable and HBase against the server; they are fetched into bin/witness; ARGS=Node for some
	@scripts/witness '$(ARGS)'

soak: smolwc-bench ## everything at once on one database for SOAKTIME (10m), compared with what was written; the models at length
	@bin/smolwc-bench -soak $(SOAKTIME) $(ARGS)
	$(GO) test ./query -run 'TestHistoriesMatchTheModel|TestWhatIsVisibleDoesNotDependOnWhatIsRemoved|TestCopiesBecomeEqual' -rapid.checks 3000 -rapid.steps 60 -timeout 60m
	$(GO) test ./cf/rocks -run Conforms/Model -rapid.checks 5000 -timeout 60m
	$(GO) test ./directory -run TestTreesMatchTheModel -rapid.checks 3000 -timeout 60m

man: build ## write the manual pages to out/man
	@bin/smolwc man out/man && ls out/man

dist: ## what people install, in out/dist: archives, packages, an image; ARGS=linux or ARGS=go for half of it
	@packaging/dist $(ARGS)

site: ## build the site of the pages into out/site, with mdBook
	@scripts/site

clean: ## remove what was built, ./data, ./data-tikv and ./data-local
	rm -rf bin out data data-tikv data-local

help: ## this
	@sed -nE 's/^([a-z-]+):.*## (.*)/make \1  \2/p' $(MAKEFILE_LIST) | column -t -l 3 2>/dev/null || sed -nE 's/^([a-z-]+):.*## (.*)/make \1  \2/p' $(MAKEFILE_LIST)
