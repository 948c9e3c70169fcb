package runbook

import (
	"context"
	"encoding/json"
	"fmt"
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
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/pkg/sqltest"
)

const (
	secret  = "a secret of the runbook, of 32 bytes"
	patient = time.Minute // for what takes moments on a machine that is not busy
)

// stack is what an operator has before them: servers, one api, two workers, and a terminal.
// All sections share it, one after the other.
type stack struct {
	*testing.T                   // of the section
	server     *redistest.Server // nil on a cluster
	sql        *sqltest.Server
	redis      redis.UniversalClient
	stream     string // of the voucher
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
	s := newStackOn(t, server.ClientOf(t), "SECKILL_REDIS_ADDRS="+server.Addr())
	s.server = server
	s.enter(server.Addr())
	return s
}

// newCluster is a stack whose Redis is a cluster.
func newCluster(t *testing.T) *stack {
	const partitions = 4
	addrs := redistest.NewCluster(t, 0, redistest.Options{}).Addrs()
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	s := newStackOn(t, client, "SECKILL_REDIS_ADDRS="+strings.Join(addrs, ","), fmt.Sprint("SECKILL_PARTITIONS=", partitions))
	s.enter(addrs[0])
	v, err := seckill.ParseVoucherID(s.voucher)
	require.NoError(t, err)
	s.stream = fmt.Sprintf("seckill:stream:{%d}", int64(v)%partitions)
	return s
}

// newStackOn starts the database and the programs on a Redis that env names.
func newStackOn(t *testing.T, client redis.UniversalClient, env ...string) *stack {
	db, err := sqltest.Start(sqltest.Options{TCP: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Stop()) })
	dsn, err := db.NewDatabase(t.Context())
	require.NoError(t, err)
	s := &stack{T: t, sql: db, redis: client, stream: "seckill:stream", dsn: dsn, env: append(env,
		"SECKILL_MYSQL_DSN="+dsn, "SECKILL_JWT_SECRET="+secret, "SECKILL_RATE_PER_USER=0",
		"SECKILL_LOCK_TTL=1s", "SECKILL_CLAIM_IDLE=2s", // a dead worker's orders are taken over within the test
	)}
	s.api = s.start("api")
	s.workers = []*process.Process{s.start("worker"), s.start("worker")}
	s.voucher = s.create(1000)
	return s
}

// enter opens the terminal of an operator who knows Redis by addr.
func (s *stack) enter(addr string) {
	s.shell = newShell(s.T, append(s.env, s.terminal(addr)...)...)
	s.shell.set(s.T, "V="+s.voucher)
}

// terminal is what the head of the page lets an operator set.
func (s *stack) terminal(addr string) []string {
	_, port, _ := strings.Cut(addr, ":")
	c, err := mysql.ParseDSN(s.dsn)
	require.NoError(s, err)
	_, sqlPort, _ := strings.Cut(c.Addr, ":")
	return []string{
		"PATH=" + bin + ":" + os.Getenv("PATH"), "REDIS=redis-cli -c -p " + port,
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
