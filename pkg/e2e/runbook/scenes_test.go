package runbook

import (
	"context"
	"net/http"
	"syscall"

	"github.com/stretchr/testify/require"
)

// step makes the state that a block is for. Blocks after it find what it and they have left.
type step func(s *stack)

// scenes are the steps of each section, one before each of its first blocks; nil: as it is.
var scenes = map[string][]step{
	"runbook":             nil,
	"before-a-sale":       nil,
	"during-a-sale":       {func(s *stack) { s.buy(5) }},
	"after-a-sale":        {(*stack).drained, nil, paidLate, (*stack).published},
	"reading-the-stream":  {abandoned},
	"on-a-cluster":        {nil, revived}, // after reading-the-stream
	"slow-redis":          {slowed},
	"stuck-orders":        {abandoned, (*stack).thaw, hung, (*stack).thaw},
	"dead-letters":        {nonsense},
	"redis-lost":          {crashed, emptied, nil, unsure},
	"redis-at-risk":       {full},
	"database-slow":       {blocked, nil, down, up},
	"hot-voucher":         {func(s *stack) { s.buy(5) }},
	"wrong-stock":         {meddled},
	"lost-orders":         {forgotten},
	"slow-answers":        nil,
	"refusals-and-errors": nil,
	"roll-back":           {newer},
}

// paidLate: the money for an order came after it was cancelled.
func paidLate(s *stack) {
	order := s.buy(1)[0]
	s.drained()
	path := "/api/v1/orders/" + order.OrderID
	require.Equal(s, http.StatusOK, s.call(http.MethodPost, path+"/cancel", s.token(order.user, ""), "", nil))
	paid := `{"reference":"refund-me","amount":9900}`
	require.Equal(s, http.StatusConflict, s.call(http.MethodPost, path+"/pay", s.token(1, "service"), paid, nil))
}

// abandoned: a worker read three orders and is gone; others wait, for the other workers hang.
// The first go to those: each had asked for the next one before it hung.
func abandoned(s *stack) {
	s.freeze()
	for read := 0; read < 3; {
		if s.buy(1); s.abandon() != "" {
			read++
		}
	}
	s.buy(7)
}

// hung: one of two workers does nothing any more.
func hung(s *stack) {
	require.NoError(s, s.workers[0].Signal(syscall.SIGSTOP))
}

// revived: the workers go on, and nothing waits any more.
func revived(s *stack) {
	s.thaw()
	s.drained()
}

// slowed: somebody's script takes its time, and somebody else watches.
func slowed(s *stack) {
	revived(s)
	watcher := s.server.Client()
	s.Cleanup(func() { _ = watcher.Close() })
	ctx, cancel := context.WithCancel(s.Context())
	s.Cleanup(cancel)
	monitor := watcher.Conn()
	require.NoError(s, monitor.Do(ctx, "MONITOR").Err())
	s.typed(
		[]any{"CONFIG", "SET", "latency-monitor-threshold", "10"},
		[]any{"EVAL", "local t = redis.call('TIME'); repeat local n = redis.call('TIME') until (n[1] - t[1]) * 1e6 + n[2] - t[2] > 30000; return 1", "0"},
	)
}

// nonsense: messages that can never be stored, of a buyer who is known, and of none.
func nonsense(s *stack) {
	for i, user := range []string{"4711", "nobody"} {
		s.typed([]any{"XADD", "seckill:stream", "*", "id", "none", "userId", user, "voucherId", s.voucher})
		s.eventually("it is buried", func() bool { return s.redis.XLen(s.Context(), "seckill:dead").Val() == int64(i)+1 })
	}
}

// crashed: Redis died, and came back with its file.
func crashed(s *stack) {
	s.buy(3)
	s.drained()
	require.NoError(s, s.server.Kill())
	require.NoError(s, s.server.Restart())
}

// emptied: Redis came back with nothing.
func emptied(s *stack) { s.typed([]any{"FLUSHALL"}) }

// unsure: a buyer asks which order is theirs.
func unsure(s *stack) {
	order := s.buy(1)[0]
	s.drained()
	s.hold(order)
}

// full: Redis may take no more memory than it has.
func full(s *stack) { s.typed([]any{"CONFIG", "SET", "maxmemory", "1mb"}) }

// blocked: somebody's transaction holds the voucher's row.
func blocked(s *stack) {
	tx, err := s.database().BeginTx(s.Context(), nil)
	require.NoError(s, err)
	s.Cleanup(func() { _ = tx.Rollback() })
	_, err = tx.ExecContext(s.Context(), "UPDATE seckill_voucher SET title = 'Mine' WHERE id = ?", s.voucher)
	require.NoError(s, err)
	s.buy(5)
	s.eventually("a worker waits for the row", func() bool {
		var waiting int
		err := s.sql.Admin().QueryRowContext(s.Context(), "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'").Scan(&waiting)
		return err == nil && waiting > 0
	})
}

func down(s *stack) {
	require.NoError(s, s.sql.Kill())
	s.buy(5)
}

func up(s *stack) { require.NoError(s, s.sql.Restart()) }

// meddled: somebody took a user's ticket and gave stock away by hand.
func meddled(s *stack) {
	s.drained()
	s.typed([]any{"HDEL", "seckill:ticket:" + s.voucher, "1"}, []any{"INCRBY", "seckill:stock:" + s.voucher, "3"})
}

// forgotten: Redis lost accepted orders that no worker had read.
func forgotten(s *stack) {
	s.freeze()
	orders := s.buy(5) // the first of them are on their way to a worker
	s.typed([]any{"FLUSHALL"})
	s.thaw()
	s.hold(orders[len(orders)-1])
}

// newer: a later release has changed the tables already.
func newer(s *stack) {
	for _, statement := range []string{
		"ALTER TABLE voucher_order ADD COLUMN note VARCHAR(10)",
		"INSERT INTO seckill_schema (version_id, is_applied) VALUES (99, 1)",
	} {
		_, err := s.database().ExecContext(s.Context(), statement)
		require.NoError(s, err)
	}
}
