package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/command"
	"github.com/openseckill/seckill/pkg/redisstore"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/pkg/sqlstore"
)

// morgue is a sale of ten units on private servers, with ways to bury things.
type morgue struct {
	t       *testing.T
	redis   *redisstore.Store
	raw     *redis.Client
	sql     *sqlstore.Store
	voucher seckill.VoucherID
	last    seckill.OrderID
}

func newMorgue(t *testing.T) *morgue {
	t.Helper()
	store, sql, v := environment(t)
	raw := redis.NewClient(&redis.Options{Addr: os.Getenv("SECKILL_REDIS_ADDRS")})
	t.Cleanup(func() { require.NoError(t, raw.Close()) })
	code, _ := execute(t.Context(), "sync")
	require.Equal(t, 0, code)
	return &morgue{t: t, redis: store, raw: raw, sql: sql, voucher: v.ID, last: 1 << 60}
}

// order is a new order of the user.
func (m *morgue) order(u seckill.UserID) seckill.Order {
	m.last++
	return seckill.Order{ID: m.last, User: u, Voucher: m.voucher}
}

func (m *morgue) buy(u seckill.UserID) seckill.Order {
	m.t.Helper()
	o := m.order(u)
	_, err := m.redis.Admit(m.t.Context(), o)
	require.NoError(m.t, err)
	return o
}

// wornOut buries an order as a worker does that gives it up.
func (m *morgue) wornOut(u seckill.UserID) (seckill.Order, seckill.DeadID) {
	m.t.Helper()
	o, ctx := m.buy(u), m.t.Context()
	ds, err := m.redis.Read(ctx, 0, "w", 100, time.Second)
	require.NoError(m.t, err)
	_, err = m.sql.Reject(ctx, o, seckill.ReasonWornOut)
	require.NoError(m.t, err)
	released, err := m.redis.Release(ctx, o)
	require.NoError(m.t, err)
	require.True(m.t, released)
	buried, err := m.redis.Bury(ctx, ds[len(ds)-1], seckill.ReasonWornOut)
	require.NoError(m.t, err)
	require.True(m.t, buried)
	dead := m.dead()
	return o, dead[len(dead)-1].ID
}

func (m *morgue) dead() []seckill.Dead {
	m.t.Helper()
	found, err := m.redis.Dead(m.t.Context(), 0, "", 100)
	require.NoError(m.t, err)
	return found
}

// work runs a worker until done says so.
func (m *morgue) work(done func() bool) {
	m.t.Helper()
	ctx, stop := context.WithCancel(m.t.Context())
	defer stop()
	exit := make(chan int)
	go func() { code, _ := execute(ctx, "run"); exit <- code }()
	require.Eventually(m.t, done, time.Minute, 10*time.Millisecond)
	stop()
	require.Equal(m.t, 0, <-exit)
}

// settle lets a worker empty the stream, and checks the books.
func (m *morgue) settle() {
	m.t.Helper()
	m.work(func() bool { return m.raw.XLen(m.t.Context(), "seckill:stream").Val() == 0 })
	code, out := execute(m.t.Context(), "audit")
	require.Equal(m.t, 0, code, out)
}

// live requires that the user has one live order, and in all so many are sold.
func (m *morgue) live(u seckill.UserID, sold int64) seckill.Order {
	m.t.Helper()
	o, err := m.sql.LiveOrder(m.t.Context(), u, m.voucher)
	require.NoError(m.t, err)
	books, err := m.sql.Books(m.t.Context(), m.voucher)
	require.NoError(m.t, err)
	require.Equal(m.t, sold, books.Live())
	return o
}

// say runs `worker dead ...` and returns what it wrote, errors included.
func say(ctx context.Context, args ...string) (code int, said string) {
	var b bytes.Buffer
	cmd := root()
	cmd.SetArgs(append([]string{"dead"}, args...))
	cmd.SetOut(&b)
	cmd.SetErr(&b)
	return command.ExitCode(cmd.ExecuteContext(ctx)), b.String()
}

// TestDead goes the whole way: a worker buries two bad messages, list shows them, one is
// replayed and stored, the other can only be dropped.
func TestDead(t *testing.T) {
	m := newMorgue(t)
	code, said := say(t.Context(), "list")
	require.Equal(t, 0, code)
	require.Empty(t, said)
	for _, fields := range [][]string{
		{"id", "none", "userId", "42", "voucherId", m.voucher.String()},
		{"id", "7", "userId", "nobody", "voucherId", m.voucher.String()},
	} {
		require.NoError(t, m.raw.XAdd(t.Context(), &redis.XAddArgs{Stream: "seckill:stream", Values: fields}).Err())
	}
	m.work(func() bool { return len(m.dead()) == 2 })

	code, said = say(t.Context(), "list")
	require.Equal(t, 0, code)
	rows := strings.Split(strings.TrimSpace(said), "\n")
	require.Len(t, rows, 3, said)
	require.Regexp(t, `^ID +REASON +AGE +ATTEMPTS +ORDER +USER +VOUCHER$`, rows[0])
	require.Regexp(t, `^\d+-\d+ +malformed +-?\d+s +1 +- +42 +`+m.voucher.String()+`$`, rows[1])

	code, said = say(t.Context(), "list", "--output", "json", "--limit", "1")
	require.Equal(t, 0, code)
	note, line, _ := strings.Cut(said, "\n")
	require.Contains(t, note, "more than 1")
	var shown struct {
		ID, Reason, UserID, OrderID string
		BuriedAt                    time.Time
		Fields                      []string
	}
	require.NoError(t, json.Unmarshal([]byte(line), &shown))
	require.Equal(t, "malformed", shown.Reason)
	require.Equal(t, "42", shown.UserID)
	require.Empty(t, shown.OrderID)
	require.Equal(t, []string{"id", "none"}, shown.Fields[:2])

	code, said = say(t.Context(), "replay", "--all")
	require.Equal(t, 1, code, "one failed")
	require.Contains(t, said, shown.ID+": order ")
	require.Contains(t, said, "names no user or no voucher")
	m.settle()
	m.live(42, 1)

	hopeless := m.dead()
	require.Len(t, hopeless, 1)
	for _, want := range []int{0, 1} {
		code, _ = say(t.Context(), "drop", hopeless[0].ID.String())
		require.Equal(t, want, code)
	}
	require.Empty(t, m.dead())
}

func TestDeadReplay(t *testing.T) {
	m := newMorgue(t)
	old, id := m.wornOut(42)
	exits := make(chan int)
	for range 2 {
		go func() { code, _ := say(t.Context(), "replay", id.String()); exits <- code }()
	}
	require.Contains(t, []int{0, 1}, <-exits+<-exits, "the slower one may find it gone")
	m.settle()
	require.NotEqual(t, old.ID, m.live(42, 1).ID)
	row, err := m.sql.Order(t.Context(), old.ID)
	require.NoError(t, err)
	require.Equal(t, seckill.Rejected, row.Status, "the old order stays what its buyer was told")
	require.Empty(t, m.dead())
}

// A replay that was cut short after its admission is done, also once the order is stored.
func TestDeadReplayAfterCrash(t *testing.T) {
	m := newMorgue(t)
	_, id := m.wornOut(42)
	fresh := m.order(42)
	require.NoError(t, m.raw.HSet(t.Context(), "seckill:replays", id.Entry, fresh.ID.String()).Err())
	_, err := m.redis.Admit(t.Context(), fresh)
	require.NoError(t, err)
	m.settle()

	code, said := say(t.Context(), "replay", id.String())
	require.Equal(t, 0, code, said)
	require.Contains(t, said, fresh.ID.String())
	require.Zero(t, m.raw.XLen(t.Context(), "seckill:stream").Val(), "nothing was queued again")
	require.Equal(t, fresh.ID, m.live(42, 1).ID)
	require.Empty(t, m.dead())
}

func TestDeadReplayRefused(t *testing.T) {
	m := newMorgue(t)
	_, id := m.wornOut(42)
	refused := func(why seckill.Code) {
		t.Helper()
		code, said := say(t.Context(), "replay", id.String(), "-o", "json")
		require.Equal(t, 1, code)
		require.Contains(t, said, `{"id":"`+id.String()+`","result":"failed","code":"`+string(why)+`","error":"`)
		require.Len(t, m.dead(), 1, "it stays buried")
	}
	held := m.buy(42)
	refused(seckill.AlreadyOrdered)
	_, err := m.redis.Release(t.Context(), held)
	require.NoError(t, err)
	for u := range seckill.UserID(10) {
		m.buy(100 + u)
	}
	refused(seckill.SoldOut)
}

// What a replay needs is loaded for it; a voucher that never existed is named as such.
func TestDeadReplayLoadsTheVoucher(t *testing.T) {
	m := newMorgue(t)
	_, id := m.wornOut(42)
	require.NoError(t, m.raw.Del(t.Context(), "seckill:voucher:"+m.voucher.String()).Err())
	code, said := say(t.Context(), "replay", id.String())
	require.Equal(t, 0, code, said)

	require.NoError(t, m.raw.XAdd(t.Context(), &redis.XAddArgs{Stream: "seckill:dead", Values: []string{"id", "7", "userId", "42", "voucherId", "4711"}}).Err())
	code, said = say(t.Context(), "replay", "--all")
	require.Equal(t, 1, code)
	require.Contains(t, said, "voucher not found")

	unknown := m.dead()[0].ID.String()
	code, said = execute(t.Context(), "__complete", "dead", "drop", "")
	require.Equal(t, 0, code)
	require.Contains(t, said, unknown)
	code, said = say(t.Context(), "drop", unknown, "-o", "json")
	require.Equal(t, 0, code)
	require.Equal(t, `{"id":"`+unknown+`","result":"dropped"}`+"\n", said)
}

func TestDeadOfWrongUsage(t *testing.T) {
	for _, args := range [][]string{
		{"nonsense"}, {"list", "1-0"}, {"list", "--output", "xml"}, {"list", "--limit", "0"},
		{"replay"}, {"replay", "--all", "1-0"}, {"replay", "1"}, {"drop"}, {"drop", "1-0", "x"},
	} {
		code, said := say(t.Context(), args...)
		require.Equal(t, 2, code, "%v: %s", args, said)
	}
	code, said := say(t.Context(), "replay", "--help")
	require.Equal(t, 0, code)
	require.Contains(t, said, "worker dead replay --all")
}
