# The front door. Each target is a line or two that calls CMake or a script;
# `make help` lists them.

JOBS   := $(shell nproc)
PREFIX ?= /usr/local
SOAK_SECONDS ?= 600
SOAK_SECTIONS ?= 100000000
LEASE_MODES := cpu cid rdpid thread fenced

all: ## build the libraries and the command, in build/release
	cmake --preset release
	cmake --build --preset release -j$(JOBS)

demo: deps-demo all ## compare all locks in a minute or so, and write report.html
	build/release/pawl bench --quick --json build/demo-bench.json
	build/release/pawl sim --threads 1,2,4,8,16,32 --episodes 2000 --json build/demo-sim.json
	build/release/pawl report build/demo-bench.json build/demo-sim.json -o report.html

check: deps ## build and run the tests, some also under sanitizers, and the lint: 11 minutes
	scripts/check

quick: ## test what changed since main, or FILES, in a minute
	scripts/quick $(FILES)

check-full: deps ## all tests, all of them under sanitizers too; skips what check has just run
	scripts/check --full

check-cross: deps-cross ## build and run the tests for aarch64 and riscv64, under qemu-user
	scripts/cross-root aarch64 build/root-aarch64
	scripts/cross-root riscv64 build/root-riscv64
	scripts/check aarch64 riscv64

bench: all ## measure all locks at length; BENCH holds further options
	build/release/pawl bench $(BENCH)

sim: all ## count the cache misses of every lock; SIM holds further options
	build/release/pawl sim $(SIM)

verify: all ## check every lock, at length; what comes of it is in build/verify
	scripts/verify

proof-coverage: all ## say which lines of the runtime some scenario of the checker executes
	scripts/proof-coverage

mutate: all ## weaken every memory order in turn; FILES names some files, MUTATE holds options
	scripts/mutate-orders $(MUTATE) $(FILES)

soak: deps ## ten minutes of everything at once under ASan, then under TSan
	cmake --preset asan-ubsan && cmake --build --preset asan-ubsan -j$(JOBS) --target soak
	build/asan-ubsan/tests/soak/soak $(SOAK_SECONDS)
	cmake --preset tsan && cmake --build --preset tsan -j$(JOBS) --target soak
	setarch -R build/tsan/tests/soak/soak $(SOAK_SECONDS)
	$(MAKE) soak-leases soak-shared soak-disturb

soak-leases: ## a hundred million sections of leases in each mode, also under TSan
	cmake --preset release && cmake --build --preset release -j$(JOBS) --target leases
	cmake --preset tsan && cmake --build --preset tsan -j$(JOBS) --target leases
	set -e; for mode in $(LEASE_MODES); do export PAWL_LEASE_MODE=$$mode; \
		build/release/tests/soak/leases $(SOAK_SECTIONS); \
		setarch -R build/tsan/tests/soak/leases $$(($(SOAK_SECTIONS) / 10)); done
	PAWL_LEASE_SEQUENCES=no build/release/tests/soak/leases $(SOAK_SECTIONS)

soak-shared: ## two processes, ten million episodes; eight processes, a thousand kills
	cmake --preset release && cmake --build --preset release -j$(JOBS) --target shared_episodes shared_torture
	build/release/tests/shared/shared_episodes 10000000
	build/release/tests/shared/shared_torture 1000

soak-disturb: ## slow paths, disturbed at every instruction: signals, forks, stops, kills
	cmake --preset release && cmake --build --preset release -j$(JOBS) --target disturb_all
	ctest --test-dir build/release -C soak -L soak -V

lint: ## check memory orders, cards and formatting
	scripts/lint

install: all ## install under PREFIX (default /usr/local)
	cmake --install build/release --prefix $(PREFIX)

deb: ## build Debian packages in build/deb, and look them over
	scripts/deps deb
	scripts/make-deb

deb-check: deb ## install, use and remove them in a fresh root
	scripts/check-deb

deps: ## install the packages that are missing: all that the tests use
	scripts/deps check

deps-demo: ## those that building and the demonstration need
	scripts/deps demo

deps-cross: ## those that check-cross needs besides
	scripts/deps cross

clean: ## remove everything that was built
	rm -rf build

help: ## say what there is
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1	\2/p' Makefile | expand -t 16

.PHONY: all demo check quick check-full check-cross bench sim verify proof-coverage mutate soak soak-leases soak-shared soak-disturb lint install deb deb-check deps deps-demo deps-cross clean help
