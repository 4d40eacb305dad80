# What people and machines type. `make help` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL := help

PREFIX ?= /usr
DESTDIR ?=
SWIFT ?= swift
# Seconds without the build; a mount test that hangs must not hang the machine that runs it. A machine may be slow, or have other work. The
# second is for each part of a long run.
TEST_TIMEOUT ?= 2400
TEST_LONG_TIMEOUT ?= 7200
# Of a long run: the parts that are run (all), and whether those that were green with the same sources are run again.
PART ?=
FRESH ?=

# What people type; what serves lies beside it, with one more letter (docs/decisions/0039-two-programs.md).
release := .build/release/aclfs
# A target may import what it says that it depends on, and nothing else (docs/internals/architecture.md "Layers").
debug_flags := --explicit-target-dependency-import-check error
release_flags := -c release --static-swift-stdlib

bindir := $(DESTDIR)$(PREFIX)/bin
sbindir := $(DESTDIR)$(PREFIX)/sbin
mandir := $(DESTDIR)$(PREFIX)/share/man
man8dir := $(mandir)/man8
# By section of the manual.
pages1 := $(notdir $(wildcard docs/man/*.1))
pages5 := $(notdir $(wildcard docs/man/*.5))
pages8 := $(notdir $(wildcard docs/man/*.8))
bashdir := $(DESTDIR)$(PREFIX)/share/bash-completion/completions
zshdir := $(DESTDIR)$(PREFIX)/share/zsh/vendor-completions
fishdir := $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
profiledir := $(DESTDIR)$(PREFIX)/share/aclfs/sandbox
profiles := $(notdir $(wildcard mount-helpers/sandbox/*.entitlements))
unitdir := $(DESTDIR)$(PREFIX)/lib/systemd/system
docdir := $(DESTDIR)$(PREFIX)/share/doc/aclfs
# What README.md links to, and the documents that these link to.
docs := $(wildcard README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md LICENSE docs/*.md docs/guide/*.md docs/reference/*.md docs/internals/*.md docs/decisions/*.md docs/images/*)
docdirs := docs/guide docs/reference docs/internals docs/decisions docs/images docs
swift_files := Package.swift Sources Tests Benchmarks Examples
c_files := $(wildcard Sources/*/C*/*.[ch] Sources/*/C*/include/*.h)
# What begins as a shell script does.
scripts := $(shell grep -lsE '^.!/bin/(ba)?sh' Scripts/* docs/examples/*.sh .ci/run)

.PHONY: help run test test-quick test-long test-paths test-threads bench bench-quick bench-felt bench-costs bench-attack bench_programs links citations checks lint format man completions build release
.PHONY: dependencies clients long_clients fuzz install uninstall deb test-deb clean

help:
	@echo 'make run         build aclfs and take the tour on a mount of its own (as root)'
	@echo 'make test-quick  what needs neither root nor a mount, in about a minute'
	@echo 'make test        style, links, citations, build and every test that ends within minutes'
	@echo 'make test-long   [PART=NAME] [FRESH=1] all tests with long races and random runs, part by part; a second call goes on where the first'
	@echo '                 ended. Parts: $(shell Scripts/test-parts | sed 's/:.*//' | paste -sd ' '). Tests/test-runs.md keeps the results'
	@echo 'make test-paths  a part of it: some tests on each way that requests, data and caches can take (as root)'
	@echo 'make fuzz        [RUNS=10000000] each parser of bytes from outside, with inputs guided by coverage; also the last part of a long run'
	@echo 'make test-threads where threads meet, with ThreadSanitizer, in .build-threads (as root)'
	@echo 'make bench       what a mount costs, against others, as ratios; docs/internals/performance.md explains it (as root)'
	@echo 'make bench-quick the same in about two minutes, without whole commands'
	@echo 'make bench-felt  only whole commands as a user feels them: git status, du, cp -r and others after a rest (as root)'
	@echo 'make bench-costs requests, calls and instructions of operations and whole commands; they do not depend on the load (as root)'
	@echo 'make bench-attack what sixteen processes of one user do to the calls of another; docs/reference/security.md has the figures (as root)'
	@echo 'make lint        links, citations, style'
	@echo 'make format      let swift format mend the style'
	@echo 'make man         the manual pages of all commands, from their help and docs/man/sources'
	@echo 'make completions what bash, zsh and fish complete, from the same help and docs/completions/sources'
	@echo 'make build       debug build of everything'
	@echo 'make install     [PREFIX=/usr] [DESTDIR=] the programs, helpers, manual pages, completions, unit'
	@echo 'make deb         a Debian package of these in .build/deb, checked by lintian'
	@echo 'make test-deb    install, upgrade over a mount and remove it in a fresh Debian 12 (as root, with network)'
	@echo 'make uninstall   [PREFIX=/usr] [DESTDIR=] remove exactly these'
	@echo 'make clean       remove .build, .build-threads and .build-fuzz'

dependencies:
	@Scripts/install-dependencies

build: dependencies
	$(SWIFT) build $(debug_flags)

release: dependencies
	$(SWIFT) build $(release_flags) --product aclfs
	$(SWIFT) build $(release_flags) --product aclfsd

run: release
	@ACLFS='$(CURDIR)/$(release)' docs/examples/tour.sh

links:
	@Scripts/check-links
	@Scripts/test-parts check

citations:
	@Scripts/check-citations

# And that the scripts do what they promise.
checks: links citations
	@Scripts/test-checks

# And the style of each language, as far as its tool is here: Swift's toolchain brings its own.
lint: checks
	@if $(SWIFT) format --version >/dev/null 2>&1; then \
	    $(SWIFT) format lint --strict --recursive --parallel $(swift_files) \
	        || { echo "style: 'make format' mends most of these" >&2; exit 1; }; \
	else echo 'style: Swift was not looked at, this toolchain has no swift format'; fi
	@if command -v clang-format >/dev/null; then clang-format --dry-run --Werror $(c_files); \
	else echo 'style: C was not looked at, clang-format is not installed'; fi
	@if command -v shellcheck >/dev/null; then shellcheck -S warning $(scripts); \
	else echo 'style: scripts were not looked at, shellcheck is not installed'; fi

# The pages aclfs* of docs/man from what the program says of itself and from docs/man/sources; mount.aclfs.8 is made by hand.
man: build
	@Scripts/make-man .build/debug/aclfs

completions: build
	@Scripts/make-completions .build/debug/aclfs

format:
	$(SWIFT) format --in-place --recursive --parallel $(swift_files)
	! command -v clang-format >/dev/null || clang-format -i $(c_files)

clients:
	@Scripts/install-dependencies clients

long_clients: clients
	@Scripts/install-dependencies long-clients

# The compiler leaves a processor idle here and there; the style is looked at meanwhile.
test: dependencies clients
	@mkdir -p .build; $(MAKE) --no-print-directory lint >.build/lint.log 2>&1 & style=$$!; \
	    $(SWIFT) build --build-tests $(debug_flags) && built=0 || built=$$?; \
	    wait "$$style" && styled=0 || styled=$$?; cat .build/lint.log; [ "$$built$$styled" = 00 ]
	@ACLFS_TEST_LONG=0 Scripts/with-rings Scripts/run-tests .build/test.log $(TEST_TIMEOUT) Scripts/test-side-by-side

# The division of both into parts, and what is quick: Scripts/test-parts.
test-quick: links citations dependencies
	@SWIFT='$(SWIFT)' TEST_TIMEOUT=$(TEST_TIMEOUT) Scripts/test-parts quick

# Mounts are served by the programs that are installed: races are won by speed.
test-long: links dependencies release $(if $(filter-out paths,$(or $(PART),all)),long_clients,clients)
	@SWIFT='$(SWIFT)' TEST_LONG_TIMEOUT=$(TEST_LONG_TIMEOUT) ACLFS_PROGRAM='$(CURDIR)/$(release)' FRESH='$(FRESH)' Scripts/test-parts long $(PART)

test-paths:
	@$(MAKE) --no-print-directory test-long PART=paths

test-threads: dependencies
	@SWIFT='$(SWIFT)' Scripts/with-rings Scripts/run-tests --record 'make test-threads' .build/test-threads.log $(TEST_LONG_TIMEOUT) \
	    Scripts/test-threads

# Everything with the optimisations of the release; BENCH_ROUNDS and the others are in docs/internals/performance.md.
bench_programs: release
	$(SWIFT) build $(release_flags) --product aclfs-load
	$(SWIFT) build $(release_flags) --product aclfs-microbench

run_bench = ACLFS='$(CURDIR)/$(release)' ACLFS_LOAD='$(CURDIR)/.build/release/aclfs-load' \
    ACLFS_MICROBENCH='$(CURDIR)/.build/release/aclfs-microbench' python3 -B Benchmarks/bench.py

bench: bench_programs
	@$(run_bench)

bench-quick: bench_programs
	@$(run_bench) --quick

bench-felt: bench_programs
	@$(run_bench) --felt only

# Trace points are read in a namespace of its own, where they are mounted if they are not.
bench-costs: bench_programs
	@ACLFS='$(CURDIR)/$(release)' ACLFS_LOAD='$(CURDIR)/.build/release/aclfs-load' unshare --mount sh -c \
	    '[ -d /sys/kernel/tracing/events ] || mount -t tracefs tracefs /sys/kernel/tracing; exec python3 -B Benchmarks/costs.py'

bench-attack: bench_programs
	@ACLFS='$(CURDIR)/$(release)' ACLFS_LOAD='$(CURDIR)/.build/release/aclfs-load' python3 -B Benchmarks/attack.py

install:
	@[ -x $(release) ] && [ -x $(release)d ] || { echo 'make install: build first: make release' >&2; exit 1; }
	install -d '$(bindir)' '$(sbindir)' '$(mandir)/man1' '$(mandir)/man5' '$(man8dir)' '$(bashdir)' '$(zshdir)' '$(fishdir)' '$(unitdir)' '$(profiledir)' $(addprefix '$(docdir)'/,$(docdirs))
	install -m 0755 $(release) '$(bindir)/aclfs'
	install -m 0755 $(release)d '$(sbindir)/aclfsd'
	ln -sfn aclfsd '$(sbindir)/mount.aclfs'
	ln -sfn aclfsd '$(sbindir)/mount.fuse.aclfs'
	install -m 0644 $(addprefix docs/man/,$(pages1)) '$(mandir)/man1'
	install -m 0644 $(addprefix docs/man/,$(pages5)) '$(mandir)/man5'
	install -m 0644 $(addprefix docs/man/,$(pages8)) '$(man8dir)'
	ln -sfn mount.aclfs.8 '$(man8dir)/mount.fuse.aclfs.8'
	install -m 0644 docs/completions/aclfs.bash '$(bashdir)/aclfs'
	install -m 0644 docs/completions/_aclfs '$(zshdir)/_aclfs'
	install -m 0644 docs/completions/aclfs.fish '$(fishdir)/aclfs.fish'
	install -m 0644 $(addprefix mount-helpers/sandbox/,$(profiles)) '$(profiledir)'
	for file in $(docs); do install -m 0644 "$$file" "$(docdir)/$$file"; done
	sed 's,/usr/bin/aclfs,$(PREFIX)/bin/aclfs,g' mount-helpers/aclfs@.service >'$(unitdir)/aclfs@.service'
	sed 's,/usr/bin/aclfs,$(PREFIX)/bin/aclfs,g' mount-helpers/aclfs-purge@.service >'$(unitdir)/aclfs-purge@.service'
	install -m 0644 mount-helpers/aclfs-purge@.timer '$(unitdir)'
	chmod 0644 '$(unitdir)/aclfs@.service' '$(unitdir)/aclfs-purge@.service'

fuzz:
	@SWIFT='$(SWIFT)' Scripts/fuzz $(RUNS)

deb: release
	@Scripts/make-deb

test-deb: deb
	@Scripts/test-deb

uninstall:
	rm -f '$(bindir)/aclfs' '$(sbindir)/aclfsd' '$(sbindir)/mount.aclfs' '$(sbindir)/mount.fuse.aclfs'
	rm -f $(addprefix '$(mandir)'/man1/,$(pages1)) $(addprefix '$(mandir)'/man5/,$(pages5)) $(addprefix '$(man8dir)'/,$(pages8) mount.fuse.aclfs.8)
	rm -f '$(bashdir)/aclfs' '$(zshdir)/_aclfs' '$(fishdir)/aclfs.fish' '$(unitdir)/aclfs@.service' '$(unitdir)/aclfs-purge@.service' '$(unitdir)/aclfs-purge@.timer'
	cd '$(docdir)' 2>/dev/null && rm -f $(docs) && rmdir --ignore-fail-on-non-empty $(docdirs) || :
	rmdir --ignore-fail-on-non-empty '$(docdir)' 2>/dev/null || :
	cd '$(profiledir)' 2>/dev/null && rm -f $(profiles) || :
	rmdir --ignore-fail-on-non-empty '$(profiledir)' '$(dir $(profiledir))' 2>/dev/null || :

clean:
	rm -rf .build .build-threads .build-fuzz
