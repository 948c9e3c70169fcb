package runbook

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/e2e/process"
	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/sqltest"
)

const (
	secret  = "a secret of the runbook, of 32 bytes"
	patient = 30 * time.Second // for what takes moments on a machine that is not busy
)

// stack is what an operator has before them: servers, one api, two workers, and a terminal.
// All sections share it, one after the other.
type stack struct {
	*testing.T // of the section
	server     *redistest.Server
	sql        *sqltest.Server
	redis      *redis.Client
	dsn        string
	env        []string
	api        *process.Process
	workers    []*process.Process
	shell      *shell
	voucher    string
	users      int // that have bought, 1 to users
}

func newStack(t *testing.T) *stack {
	server := redistest.NewWith(t, redistest.Options{TCP: true, AOF: "everysec"})
	db, err := sqltest.Start(sqltest.Options{TCP: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Stop()) })
	dsn, err := db.NewDatabase(t.Context())
	require.NoError(t, err)
	s := &stack{T: t, server: server, sql: db, redis: server.ClientOf(t), dsn: dsn, env: []string{
		"SECKILL_REDIS_ADDRS=" + server.Addr(), "SECKILL_MYSQL_DSN=" + dsn, "SECKILL_JWT_SECRET=" + secret, "SECKILL_RATE_PER_USER=0",
		"SECKILL_LOCK_TTL=1s", "SECKILL_CLAIM_IDLE=2s", // a dead worker's orders are taken over within the test
	}}
	s.api = s.start("api")
	s.workers = []*process.Process{s.start("worker"), s.start("worker")}
	s.shell = newShell(t, append(s.env, s.terminal()...)...)
	s.voucher = s.create(1000)
	s.shell.set(t, "V="+s.voucher)
	return s
}

// terminal is what the head of the page lets an operator set.
func (s *stack) terminal() []string {
	_, port, _ := strings.Cut(s.server.Addr(), ":")
	c, err := mysql.ParseDSN(s.dsn)
	require.NoError(s, err)
	_, sqlPort, _ := strings.Cut(c.Addr, ":")
	return []string{
		"PATH=" + bin + ":" + os.Getenv("PATH"), "REDIS=redis-cli -p " + port,
		"SQL=mariadb -h 127.0.0.1 -P " + sqlPort + " -u root " + c.DBName,
		"API=http://" + s.api.HTTP, "OPS=http://" + s.api.Ops, "WORKER=http://" + s.workers[0].Ops,
	}
}

// start runs a program until the page is read to its end.
func (s *stack) start(args ...string) *process.Process {
	s.Helper()
	p := process.New(s.Context(), bin, args, s.env)
	require.NoError(s, p.Start())
	s.Cleanup(p.Kill)
	ctx, cancel := context.WithTimeout(s.Context(), patient)
	defer cancel()
	require.NoError(s, p.Ready(ctx))
	return p
}

// call makes a request of a user, decodes its answer into one that may be nil, and returns
// the status.
func (s *stack) call(method, path, token, body string, answer any) int {
	s.Helper()
	return s.callWith("", method, path, token, body, answer)
}

// callWith is call with the receipt of an order.
func (s *stack) callWith(receipt, method, path, token, body string, answer any) int {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), method, "http://"+s.api.HTTP+path, strings.NewReader(body))
	require.NoError(s, err)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	if receipt != "" {
		r.Header.Set("Seckill-Receipt", receipt)
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(s, err)
	defer resp.Body.Close()
	if answer != nil {
		require.NoError(s, json.NewDecoder(resp.Body).Decode(answer))
	}
	return resp.StatusCode
}
