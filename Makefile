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

release := .build/release/aclfs
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
docs := $(wildcard README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md LICENSE docs/*.md docs/decisions/*.md docs/results/*.md docs/results/*.svg)
docdirs := docs/decisions docs/results docs

.PHONY: help run test test-quick test-long test-paths test-threads bench bench-quick bench-felt bench-costs bench-attack bench_programs layers citations types words checks lint format man build release
.PHONY: dependencies clients long_clients fuzz install uninstall deb test-deb clean

help:
	@echo 'make run         build aclfs and take the tour on a mount of its own (as root)'
	@echo 'make test-quick  what needs neither root nor a mount, in about a minute'
	@echo 'make test        layers, citations, build and every test that ends within minutes'
	@echo 'make test-long   [PART=NAME] [FRESH=1] all tests with long races and random runs, part by part; a second call goes on where the first'
	@echo '                 ended. Parts: $(shell mount-helpers/test-parts | sed 's/:.*//' | paste -sd ' '). docs/test-runs.md keeps the results'
	@echo 'make test-paths  a part of it: some tests on each way that requests, data and caches can take (as root)'
	@echo 'make fuzz        [RUNS=10000000] each parser of bytes from outside, with inputs guided by coverage; also the last part of a long run'
	@echo 'make test-threads where threads meet, with ThreadSanitizer, in .build-threads (as root)'
	@echo 'make bench       what a mount costs, against others, as ratios; docs/performance.md explains it (as root)'
	@echo 'make bench-quick the same in about two minutes, without whole commands'
	@echo 'make bench-felt  only whole commands as a user feels them: git status, du, cp -r and others after a rest (as root)'
	@echo 'make bench-costs requests, calls and instructions of operations and whole commands; they do not depend on the load (as root)'
	@echo 'make bench-attack what sixteen processes of one user do to the calls of another; docs/security.md has the figures (as root)'
	@echo 'make lint        layers, citations, words, file lengths, links, style'
	@echo 'make format      let swift format mend the style'
	@echo 'make man         the manual pages of all commands, from their help and docs/man/sources'
	@echo 'make build       debug build of everything'
	@echo 'make install     [PREFIX=/usr] [DESTDIR=] the program, helpers, manual pages, completions, unit'
	@echo 'make deb         a Debian package of these in .build/deb, checked by lintian'
	@echo 'make test-deb    install, upgrade over a mount and remove it in a fresh Debian 12 (as root, with network)'
	@echo 'make uninstall   [PREFIX=/usr] [DESTDIR=] remove exactly these'
	@echo 'make clean       remove .build, .build-threads and .build-fuzz'

dependencies:
	@mount-helpers/install-dependencies

build: dependencies
	$(SWIFT) build

release: dependencies
	$(SWIFT) build $(release_flags) --product aclfs

run: release
	@ACLFS='$(CURDIR)/$(release)' docs/examples/tour.sh

layers:
	@mount-helpers/check-layers
	@mount-helpers/test-parts check

citations:
	@mount-helpers/check-citations

types:
	@mount-helpers/check-types

words:
	@mount-helpers/check-words

# And that all of them do what they promise.
checks: layers citations types words
	@mount-helpers/test-checks

# And that Swift stands as swift format would write it, where the toolchain has it.
lint: checks
	@if $(SWIFT) format --version >/dev/null 2>&1; then \
	    $(SWIFT) format lint --strict --recursive --parallel Package.swift Sources Tests \
	        || { echo "style: 'make format' mends most of these" >&2; exit 1; }; \
	else \
	    echo 'style: not looked at, this toolchain has no swift format'; \
	fi

# The pages aclfs* of docs/man from what the program says of itself and from docs/man/sources; mount.aclfs.8 is made by hand.
man: build
	@mount-helpers/make-man .build/debug/aclfs

format:
	$(SWIFT) format --in-place --recursive --parallel Package.swift Sources Tests

clients:
	@mount-helpers/install-dependencies clients

long_clients: clients
	@mount-helpers/install-dependencies long-clients

test: lint dependencies clients
	@$(SWIFT) build --build-tests
	@ACLFS_TEST_LONG=0 mount-helpers/with-rings mount-helpers/run-tests .build/test.log $(TEST_TIMEOUT) mount-helpers/test-side-by-side $(SWIFT)

# The division of both into parts, and what is quick: mount-helpers/test-parts.
test-quick: layers citations dependencies
	@SWIFT='$(SWIFT)' TEST_TIMEOUT=$(TEST_TIMEOUT) mount-helpers/test-parts quick

# Mounts are served by the program that is installed: races are won by speed.
test-long: layers dependencies release $(if $(filter-out paths,$(or $(PART),all)),long_clients,clients)
	@SWIFT='$(SWIFT)' TEST_LONG_TIMEOUT=$(TEST_LONG_TIMEOUT) ACLFS_PROGRAM='$(CURDIR)/$(release)' FRESH='$(FRESH)' mount-helpers/test-parts long $(PART)

test-paths:
	@$(MAKE) --no-print-directory test-long PART=paths

test-threads: dependencies
	@SWIFT='$(SWIFT)' mount-helpers/with-rings mount-helpers/run-tests --record 'make test-threads' .build/test-threads.log $(TEST_LONG_TIMEOUT) \
	    mount-helpers/test-threads

# Everything with the optimisations of the release; BENCH_ROUNDS and the others are in docs/performance.md.
bench_programs: release
	$(SWIFT) build $(release_flags) --product aclfs-load
	$(SWIFT) build $(release_flags) --product aclfs-microbench

run_bench = ACLFS='$(CURDIR)/$(release)' ACLFS_LOAD='$(CURDIR)/.build/release/aclfs-load' \
    ACLFS_MICROBENCH='$(CURDIR)/.build/release/aclfs-microbench' python3 -B Tests/Bench/bench.py

bench: bench_programs
	@$(run_bench)

bench-quick: bench_programs
	@$(run_bench) --quick

bench-felt: bench_programs
	@$(run_bench) --felt only

# Trace points are read in a namespace of its own, where they are mounted if they are not.
bench-costs: bench_programs
	@ACLFS='$(CURDIR)/$(release)' ACLFS_LOAD='$(CURDIR)/.build/release/aclfs-load' unshare --mount sh -c \
	    '[ -d /sys/kernel/tracing/events ] || mount -t tracefs tracefs /sys/kernel/tracing; exec python3 -B Tests/Bench/costs.py'

bench-attack: bench_programs
	@ACLFS='$(CURDIR)/$(release)' ACLFS_LOAD='$(CURDIR)/.build/release/aclfs-load' python3 -B Tests/Bench/attack.py

install:
	@[ -x $(release) ] || { echo 'make install: build first: make release' >&2; exit 1; }
	install -d '$(bindir)' '$(sbindir)' '$(mandir)/man1' '$(mandir)/man5' '$(man8dir)' '$(bashdir)' '$(zshdir)' '$(fishdir)' '$(unitdir)' '$(profiledir)' $(addprefix '$(docdir)'/,$(docdirs))
	install -m 0755 $(release) '$(bindir)/aclfs'
	ln -sfn ../bin/aclfs '$(sbindir)/mount.aclfs'
	ln -sfn ../bin/aclfs '$(sbindir)/mount.fuse.aclfs'
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
	@SWIFT='$(SWIFT)' mount-helpers/fuzz $(RUNS)

deb: release
	@mount-helpers/make-deb

test-deb: deb
	@mount-helpers/test-deb

uninstall:
	rm -f '$(bindir)/aclfs' '$(sbindir)/mount.aclfs' '$(sbindir)/mount.fuse.aclfs'
	rm -f $(addprefix '$(mandir)'/man1/,$(pages1)) $(addprefix '$(mandir)'/man5/,$(pages5)) $(addprefix '$(man8dir)'/,$(pages8) mount.fuse.aclfs.8)
	rm -f '$(bashdir)/aclfs' '$(zshdir)/_aclfs' '$(fishdir)/aclfs.fish' '$(unitdir)/aclfs@.service' '$(unitdir)/aclfs-purge@.service' '$(unitdir)/aclfs-purge@.timer'
	cd '$(docdir)' 2>/dev/null && rm -f $(docs) && rmdir --ignore-fail-on-non-empty $(docdirs) || :
	rmdir --ignore-fail-on-non-empty '$(docdir)' 2>/dev/null || :
	cd '$(profiledir)' 2>/dev/null && rm -f $(profiles) || :
	rmdir --ignore-fail-on-non-empty '$(profiledir)' '$(dir $(profiledir))' 2>/dev/null || :

clean:
	rm -rf .build .build-threads .build-fuzz
