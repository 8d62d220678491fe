# The two commands of the README are `make compare` and `make test`; each sets up what it needs.
# ARGS contains options for looptax: make compare ARGS="--quick".

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PREFIX ?= /usr/local
DESTDIR ?=
ARGS ?=
LOOPTAX = "$${CARGO_TARGET_DIR:-target}/release/looptax"
ROOT = $(DESTDIR)$(PREFIX)
MADE = "$${CARGO_TARGET_DIR:-target}/docs"
SERVERS = "$${LOOPTAX_SERVERS:-$$PWD/target/servers}"
FERRETDB = "$${LOOPTAX_FERRETDB:-$$PWD/target/ferretdb}"

.PHONY: help compare reproduce test test-all build install uninstall

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | while IFS=$$'\t' read -r target words; do \
	  printf '  make %-9s %s\n' "$$target" "$$words"; done

compare: ## set up, build, and measure the databases that are installed here, within a minute
	@scripts/setup.sh compare
	cargo build --release --locked --package looptax
	@$(LOOPTAX) $(if $(ARGS),compare $(ARGS))

reproduce: ## set up with WordPress and PHP, build, and measure the published comparisons again
	@scripts/setup.sh reproduce
	cargo build --release --locked --package looptax
	@$(LOOPTAX) reproduce $(or $(ARGS),all)

test: ## set up, then everything that CI checks
	@scripts/setup.sh test
	@scripts/setup.sh applications
	cargo --locked xtask check

test-all: ## the tests, with MySQL, Valkey and FerretDB too, then the long ones: many machines, drivers, simulations, doctor series, peers
	@scripts/setup.sh test
	@scripts/setup.sh applications
	@scripts/setup.sh peers
	@scripts/setup.sh reproduce
	@clients/setup.sh
	@scripts/setup.sh fleet
	@scripts/fleet-tools.sh
	@scripts/compose-config.sh || echo "going on without compose-go: its test is skipped" >&2
	@scripts/mysql-root.sh || echo "going on without MySQL and Valkey: their tests are skipped" >&2
	@scripts/ferretdb.sh || echo "going on without FerretDB: its tests are skipped" >&2
	PATH=$(SERVERS)/bin:$(FERRETDB):"$$PATH" cargo --locked xtask check --long
	cargo build --release --locked --package looptax
	scripts/try-fleet.sh $(LOOPTAX)
	@if [ "$$(id -u)" = 0 ] && type podman debootstrap runc > /dev/null 2>&1; then \
	  cargo build --locked --package looptax && scripts/try-shared-sockets.sh; \
	else echo "going on without podman, debootstrap and runc as root: containers are not tried" >&2; fi
	@if [ "$$(id -u)" = 0 ] && type dockerd docker-compose debootstrap > /dev/null 2>&1; then \
	  cargo build --locked --package looptax && ENGINE=docker scripts/try-shared-sockets.sh; \
	else echo "going on without docker and docker-compose as root: Docker is not tried" >&2; fi
	PATH=$(FERRETDB):"$$PATH" cargo --locked lab long

build: ## the release binary
	cargo build --release --locked --package looptax

install: build ## binary, man page and completions below PREFIX (default /usr/local)
	install -D -m 755 $(LOOPTAX) "$(ROOT)/bin/looptax"
	$(LOOPTAX) internal documents $(MADE)
	install -d "$(ROOT)/share/man/man1"
	install -m 644 $(MADE)/man/*.1 "$(ROOT)/share/man/man1/"
	install -D -m 644 $(MADE)/completions/looptax.bash "$(ROOT)/share/bash-completion/completions/looptax"
	install -D -m 644 $(MADE)/completions/_looptax "$(ROOT)/share/zsh/site-functions/_looptax"
	install -D -m 644 $(MADE)/completions/looptax.fish "$(ROOT)/share/fish/vendor_completions.d/looptax.fish"

uninstall: ## take back what `make install` put below PREFIX
	rm -f "$(ROOT)/bin/looptax" "$(ROOT)"/share/man/man1/looptax.1 "$(ROOT)"/share/man/man1/looptax-*.1 \
	  "$(ROOT)/share/bash-completion/completions/looptax" "$(ROOT)/share/zsh/site-functions/_looptax" \
	  "$(ROOT)/share/fish/vendor_completions.d/looptax.fish"
