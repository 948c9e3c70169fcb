package main

import (
	"bytes"
	"context"
	database "database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/command"
	"github.com/openseckill/seckill/pkg/config"
	"github.com/openseckill/seckill/pkg/redisstore"
	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/pkg/sqlstore"
	"github.com/openseckill/seckill/pkg/sqltest"
)

func TestMain(m *testing.M) { os.Exit(sqltest.Main(m)) }

// execute runs a command line and returns its exit code and output.
func execute(ctx context.Context, args ...string) (code int, out string) {
	var b bytes.Buffer
	cmd := root()
	cmd.SetArgs(args)
	cmd.SetOut(&b)
	return command.ExitCode(cmd.ExecuteContext(ctx)), b.String()
}

func TestExitCode(t *testing.T) {
	for _, row := range []struct {
		name string
		err  error
		code int
	}{
		{"success", nil, 0},
		{"drift", fmt.Errorf("voucher 1: %w", errDrift), 1},
		{"a store that does not answer", seckill.Unavailable, 1},
		{"a wrong setting", fmt.Errorf("wrapped: %w", &config.Error{}), 2},
		{"a wrong id", &seckill.Error{Code: seckill.Invalid}, 2},
		{"a wrong command line", command.Wrong(errors.New("unknown flag")), 2},
	} {
		t.Run(row.name, func(t *testing.T) { require.Equal(t, row.code, command.ExitCode(row.err)) })
	}
}

func TestCommandOfWrongUsage(t *testing.T) {
	t.Setenv("SECKILL_MYSQL_DSN", "")
	for _, args := range [][]string{{"nonsense"}, {"run", "twice"}, {"--nonsense"}, {"sync", "--voucher"}, {"run"}, {"sync"}} {
		code, _ := execute(t.Context(), args...)
		require.Equal(t, 2, code, args)
	}
}

// environment starts private servers with one voucher, and sets the program's settings.
func environment(t *testing.T) (*redisstore.Store, *sqlstore.Store, seckill.Voucher) {
	t.Helper()
	dsn, addr := sqltest.New(t), redistest.New(t).Addr()
	for name, value := range map[string]string{
		"SECKILL_MYSQL_DSN": dsn, "SECKILL_REDIS_ADDRS": addr, "SECKILL_OPS_ADDR": "127.0.0.1:0", "SECKILL_LOG_LEVEL": "error",
	} {
		t.Setenv(name, value)
	}
	redis, err := redisstore.Open(t.Context(), redisstore.Options{Addrs: []string{addr}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, redis.Close()) })
	sql, err := sqlstore.OpenMySQL(dsn, sqlstore.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sql.Close()) })
	require.NoError(t, sql.Migrate(t.Context()))
	now := time.Now().Truncate(time.Second).UTC()
	create := func(begin, end time.Time) seckill.Voucher {
		v, _, err := sql.CreateVoucher(t.Context(), seckill.Voucher{Title: "a cup", Currency: "CNY", Total: 10, Begin: begin, End: end}, "")
		require.NoError(t, err)
		return v
	}
	create(now.Add(-90*24*time.Hour), now.Add(-30*24*time.Hour)) // long over: not in Redis any more
	return redis, sql, create(now.Add(-time.Hour), now.Add(time.Hour))
}

// Orders whose voucher was deleted by hand are in no list of vouchers, and no audit is the
// all-clear while they are there.
func TestAuditOfAVoucherThatIsGone(t *testing.T) {
	_, sql, v := environment(t)
	code, _ := execute(t.Context(), "sync")
	require.Equal(t, 0, code)
	gone := seckill.VoucherID(4711)
	raw, err := database.Open("mysql", os.Getenv("SECKILL_MYSQL_DSN"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, raw.Close()) })
	_, err = sql.Reject(t.Context(), seckill.Order{ID: 1, User: 1, Voucher: gone}, seckill.ReasonMalformed)
	require.NoError(t, err)
	code, _ = execute(t.Context(), "audit")
	require.Equal(t, 0, code, "a message may name any voucher")

	_, err = raw.ExecContext(t.Context(), "UPDATE voucher_order SET status = 'created', release_due = 0 WHERE id = 1")
	require.NoError(t, err)
	code, out := execute(t.Context(), "audit")
	require.Equal(t, 1, code)
	require.Contains(t, out, "voucher "+v.ID.String()+": balanced")
	require.Contains(t, out, "voucher 4711: DRIFT; not in the database, orders 1\n  no_voucher; repair: none\n")
	code, out = execute(t.Context(), "audit", "--repair", "-o", "json")
	require.Equal(t, 1, code)
	require.Contains(t, out, `"byStatus":{"created":1}`)
	require.Contains(t, out, `"drift":[{"kind":"no_voucher","remedy":"none"}]`)
	code, _ = execute(t.Context(), "audit", "--voucher", v.ID.String())
	require.Equal(t, 0, code)
}

func TestVouchersCommand(t *testing.T) {
	redis, _, v := environment(t)
	code, out := execute(t.Context(), "audit")
	require.Equal(t, 1, code, "what is not loaded does not sell")
	require.Contains(t, out, v.ID.String())

	code, out = execute(t.Context(), "sync")
	require.Equal(t, 0, code)
	require.Equal(t, "voucher "+v.ID.String()+": rebuilt from SQL\n", out)
	code, out = execute(t.Context(), "sync", "-o", "json")
	require.Equal(t, 0, code)
	require.Equal(t, `{"voucherId":"`+v.ID.String()+`","result":"synced"}`+"\n", out)
	code, out = execute(t.Context(), "audit")
	require.Equal(t, 0, code, out)
	require.Equal(t, "voucher "+v.ID.String()+": balanced; total 10, live orders 0, buyers 0, tickets 0, stock 10 in SQL and 10 in Redis, waiting 0, to release 0\n", out)
	code, out = execute(t.Context(), "audit", "-o", "json")
	require.Equal(t, 0, code, out)
	require.Equal(t, 1, bytes.Count([]byte(out), []byte("\n")), "one line for each voucher that Redis should hold")
	var report struct{ VoucherID string }
	require.NoError(t, json.Unmarshal([]byte(out), &report))
	require.Equal(t, v.ID.String(), report.VoucherID)
	require.Contains(t, out, `"drift":[]`, "none is a list, too")

	code, out = execute(t.Context(), "__complete", "audit", "--voucher", "")
	require.Equal(t, 0, code)
	require.Contains(t, out, v.ID.String()+"\ta cup\n")

	require.NoError(t, redis.Shut(t.Context(), v.ID))
	code, out = execute(t.Context(), "audit", "--voucher", v.ID.String())
	require.Equal(t, 1, code)
	require.Contains(t, out, "DRIFT")
	require.Contains(t, out, "not_loaded; repair: sync")
	code, out = execute(t.Context(), "audit", "--voucher", v.ID.String(), "--repair")
	require.Equal(t, 0, code)
	require.Contains(t, out, "not_loaded; repair: sync\nvoucher "+v.ID.String()+": balanced")

	code, _ = execute(t.Context(), "reset")
	require.Equal(t, 2, code, "it takes a voucher")
	code, _ = execute(t.Context(), "reset", "--voucher", v.ID.String())
	require.Equal(t, 1, code, "its sale is open")

	code, _ = execute(t.Context(), "sync", "--voucher", "+7")
	require.Equal(t, 2, code)
	code, _ = execute(t.Context(), "sync", "--voucher", "999999")
	require.Equal(t, 1, code)
}

func TestRunWorker(t *testing.T) {
	redis, sql, v := environment(t)
	code, _ := execute(t.Context(), "sync")
	require.Equal(t, 0, code)
	o := seckill.Order{ID: 1 << 60, User: 42, Voucher: v.ID}
	_, err := redis.Admit(t.Context(), o)
	require.NoError(t, err)

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	exit := make(chan int)
	go func() { code, _ := execute(ctx, "run"); exit <- code }()
	require.Eventually(t, func() bool {
		row, err := sql.Order(t.Context(), o.ID)
		return err == nil && row.Status == seckill.Created
	}, time.Minute, 10*time.Millisecond)
	stop()
	require.Equal(t, 0, <-exit)
	report, _ := execute(t.Context(), "audit")
	require.Equal(t, 0, report)
}

func TestHelpHasExamples(t *testing.T) {
	for _, args := range [][]string{{}, {"run"}, {"sync"}, {"audit"}, {"reset"}, {"late", "list"}, {"dead", "list"}, {"dead", "replay"}, {"dead", "drop"}} {
		code, out := execute(t.Context(), append(args, "--help")...)
		require.Equal(t, 0, code)
		require.Contains(t, out, "Examples:\n", args)
	}
}
