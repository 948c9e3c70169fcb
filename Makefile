# Every target says what it does in its own comment; `make help` prints them.

SHELL := /bin/bash
GO    ?= go
TAGS  := -tags nomsgpack
TOOLS := $(CURDIR)/.cache/bin

GOLANGCI_VERSION := v2.15.0
GOVULNCHECK_VERSION := v1.9.0
GOLANGCI := $(TOOLS)/golangci-lint-$(GOLANGCI_VERSION)

# What demo and run take from the command line: make demo BUYERS=5000 STOCK=10
export BUYERS STOCK WORKERS STACK N ROUNDS CHECK OUT ONLY CHART SEED FAULTS

.PHONY: help
help: ## print this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## run a whole sale with nothing but Go; BUYERS= STOCK= WORKERS= STACK=servers change it
	@CGO_ENABLED=0 $(GO) run $(TAGS) ./deploy/standalone demo

.PHONY: run
run: ## serve on :8080 until Ctrl-C, with one open voucher and commands to paste
	@mkdir -p bin && CGO_ENABLED=0 $(GO) build $(TAGS) -o bin/standalone ./deploy/standalone && exec bin/standalone run

.PHONY: build
build: ## build api and worker into bin/, static
	CGO_ENABLED=0 $(GO) build $(TAGS) -o bin/ ./api ./worker

.PHONY: servers
servers: ## install redis-server, mariadb-server, a C compiler and Node.js where they are missing
	@deploy/servers.sh

.PHONY: test
test: servers ## run all tests on private real servers, watched for races
	$(GO) test -race $(TAGS) -timeout 15m ./...

.PHONY: e2e
e2e: servers ## run the fault tests at the lengths of the reports, some ten minutes
	SECKILL_E2E=full $(GO) test -race $(TAGS) -count=1 -p 1 -timeout 60m ./pkg/e2e ./pkg/e2e/steps ./pkg/e2e/durability ./worker/app
	SECKILL_E2E=full $(GO) test $(TAGS) -count=1 -timeout 30m ./pkg/model

.PHONY: e2e-cluster
e2e-cluster: servers ## sell on a Redis Cluster whose slots move and masters die, and behind Sentinels
	SECKILL_E2E=full $(GO) test -race $(TAGS) -count=1 -timeout 30m ./pkg/e2e/cluster

.PHONY: test-deploy test-alerts
test-deploy: ## hold image, compose and manifests to the programs and to Kubernetes' own types
	cd deploy/check && $(GO) test -count=1 -timeout 15m ./...
test-alerts: servers ## hold alerts and dashboard to a real sale, by Prometheus itself
	deploy/servers.sh prometheus
	$(GO) test -tags nomsgpack,promtool -count=1 -timeout 15m ./deploy/alerts

.PHONY: test-web
test-web: servers ## buy and watch in a real browser; installs chromium if it is missing
	deploy/servers.sh chromium
	$(GO) test -tags nomsgpack,web -count=1 -timeout 20m ./pkg/e2e/web

.PHONY: pictures
pictures: servers ## take the README's pictures of the pages
	deploy/servers.sh chromium
	PICTURES=$(CURDIR)/deploy/pictures $(GO) test -tags nomsgpack,web -count=1 -timeout 20m ./pkg/e2e/web

.PHONY: durability
durability: servers ## kill Redis in each way of running it, and follow every 202; OUT= for the table
	SECKILL_E2E=full $(GO) test $(TAGS) -count=1 -timeout 20m -v -run TestDurability ./pkg/e2e/durability

.PHONY: model
model: ## explore the protocol in every interleaving of small sales
	$(GO) test $(TAGS) -count=1 ./pkg/model

.PHONY: chaos chaos-mutants
chaos: servers ## sell while everything fails, and check the law after; ROUNDS= SEED= FAULTS=
	ROUNDS=$${ROUNDS:-20} $(GO) test $(TAGS) -count=1 -timeout 4h -v -run '^TestChaos$$' ./pkg/e2e/chaos
chaos-mutants: servers ## plant classic mistakes one at a time: each has to be caught
	MUTANTS=1 $(GO) test $(TAGS) -count=1 -timeout 1h -v -run '^TestMutants$$' ./pkg/e2e/chaos

.PHONY: fuzz
fuzz: ## read nonsense for FUZZTIME= (30s) each: tokens, paths, bodies, stream entries
	@set -e; for t in Header:./api/internal/auth Body:./api/internal/httpapi Path:./api/internal/httpapi Delivery:./pkg/redisstore; do \
	  $(GO) test $(TAGS) -run '^$$' -fuzz "^Fuzz$${t%%:*}$$" -fuzztime $${FUZZTIME:-30s} $${t#*:}; done

.PHONY: vuln
vuln: ## look the dependencies up in Go's list of known faults
	$(GO) run golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION) $(TAGS) ./...

.PHONY: bench bench-worker bench-cluster
bench: servers ## compare ways of selling, ours among them; N= ROUNDS= CHECK=1
	$(GO) run $(TAGS) ./deploy/bench admit
bench-worker: servers ## compare ways of storing, then drain a million orders; N= ROUNDS= CHECK=1
	$(GO) run $(TAGS) ./deploy/bench worker
	$(GO) run $(TAGS) ./deploy/bench drain
bench-cluster: servers ## what an order costs one Redis, a cluster of one master, and of three; N= ROUNDS= CHECK=1
	$(GO) run $(TAGS) ./deploy/bench cluster

.PHONY: lint
lint: $(GOLANGCI) ## hold the code to the house's style
	$(GOLANGCI) run ./...
	$(GOLANGCI) run --build-tags nomsgpack,promtool,web ./deploy/alerts ./pkg/e2e/web
	cd deploy/check && $(GOLANGCI) run ./...
	$(GO) mod tidy -diff
	cd deploy/check && $(GO) mod tidy -diff

# Built once and kept; a new version is another file.
$(GOLANGCI):
	@mkdir -p $(TOOLS)
	GOBIN=$(TOOLS) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	@mv $(TOOLS)/golangci-lint $@

.PHONY: fmt
fmt: ## format the code
	gofmt -w $$($(GO) list $(TAGS) -f '{{.Dir}}' ./...)

.PHONY: clean
clean: ## remove what was built
	rm -rf bin .cache
