# The two commands are `make run` and `make test`; everything else is for developers. Needs python3 >= 3.11.
# All of it happens in .venv; nothing outside this folder is written, but for the Debian packages that tests need.

# The first that runs and is new enough; a version manager may offer names that do not run.
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done || echo python3)
VENV := .venv
BIN := $(VENV)/bin
TEST_PACKAGES := openssh-server sudo iperf3 ethtool tmux iproute2
# The emulated hosts boot this machine's Debian: python3 there is Debian's own.
RIG_PACKAGES := $(TEST_PACKAGES) qemu-system-x86 busybox-static cpio kmod numactl python3

.PHONY: run test test-rig check format bench screenshots clean packages rig-packages

run: $(VENV)/installed
	@$(BIN)/netbench-tui lab

test: $(VENV)/developer packages
	@$(BIN)/python -m pytest -m "not rig" $(TESTS)

test-rig: $(VENV)/developer rig-packages
	@PATH="$$PATH:/usr/sbin:/sbin" RIG=required $(BIN)/python -m pytest tests/rig

check: $(VENV)/developer
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/vermin -t=3.6- --no-tips --violations netbench_tui/agent

format: $(VENV)/developer
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/developer packages
	@$(BIN)/python -m benchmarks

screenshots: $(VENV)/developer packages
	@$(BIN)/python -m screenshots.make

clean:
	rm -rf $(VENV) build dist

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "netbench-tui needs Python 3.11 or later; this is " + sys.version.split()[0] + ". Name another with: make PYTHON=...")'
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || $(MAKE) --no-print-directory venv-package
	@$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml | $(VENV)/bin/python
	@$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/developer: pyproject.toml | $(VENV)/bin/python
	@$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(VENV)/installed

# Installs Debian packages as root or through sudo without a password; $(1) the packages.
define apt_install
	if [ "$$(id -u)" = 0 ]; then as=; elif sudo -n true 2>/dev/null; then as="sudo -n"; \
	else echo "cannot install $(1) without root: run  sudo apt-get install $(1)  and try again" >&2; exit 1; fi; \
	command -v apt-get >/dev/null || { echo "this is no Debian or Ubuntu: install $(1) by its own means" >&2; exit 1; }; \
	$$as apt-get update -qq >/dev/null && \
	$$as env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(1) >/dev/null 2>&1
endef

.PHONY: venv-package
venv-package:
	@$(call apt_install,python3-venv)

# Installs $(2) unless all programs $(1) are there.
define install_for
	@PATH="$$PATH:/usr/sbin:/sbin"; \
	for tool in $(1); do command -v $$tool >/dev/null || missing=1; done; \
	if [ -n "$$missing" ]; then echo "installing $(2)"; $(call apt_install,$(2)); fi
endef

packages:
	$(call install_for,sshd sudo iperf3 ethtool tmux ip,$(TEST_PACKAGES))

rig-packages:
	$(call install_for,sshd sudo iperf3 ethtool ip qemu-system-x86_64 busybox cpio depmod numactl,$(RIG_PACKAGES))
