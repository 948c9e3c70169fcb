package durability

import (
	"context"
	"database/sql"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/openseckill/seckill/pkg/e2e/caller"
	"github.com/openseckill/seckill/pkg/e2e/ledger"
	"github.com/openseckill/seckill/pkg/e2e/process"
	"github.com/openseckill/seckill/pkg/sqltest"
)

const (
	secret  = "a secret for durability, of 32 bytes or more"
	abreast = 32 // buyers at the same time
)

// sale is two apis and two workers on one place.
type sale struct {
	t       *testing.T
	place   *place
	ledger  *ledger.Ledger
	caller  *caller.Caller
	workers []*process.Process

	voucher string
	units   int64
	mu      sync.Mutex
	told    map[int64]promise // by user
}

// promise is what a buyer was answered.
type promise struct{ order, receipt string }

func newSale(t *testing.T, p *place) *sale {
	t.Helper()
	dsn := sqltest.New(t)
	db, err := sql.Open("mysql", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	s := &sale{t: t, place: p, ledger: &ledger.Ledger{SQL: db, Redis: p.rdb}}
	env := slices.Concat(p.env, []string{
		"SECKILL_MYSQL_DSN=" + dsn, "SECKILL_JWT_SECRET=" + secret, "SECKILL_RATE_PER_USER=0", "SECKILL_LOG_LEVEL=warn",
		"SECKILL_LOG_FORMAT=text", "SECKILL_CLAIM_IDLE=1s", "SECKILL_LOCK_TTL=500ms", "SECKILL_BATCH_MAX=16",
	})
	var apis []string
	for range 2 {
		apis = append(apis, s.start("api", env).HTTP)
		s.workers = append(s.workers, s.start("worker", env))
	}
	s.caller = caller.New(secret, abreast, caller.Patient, apis...)
	t.Cleanup(s.caller.Close)
	return s
}

func (s *sale) start(program string, env []string) *process.Process {
	s.t.Helper()
	p := process.New(s.t.Context(), bin, []string{program}, env)
	require.NoError(s.t, p.Start())
	s.t.Cleanup(func() {
		p.Kill()
		if s.t.Failed() {
			s.t.Logf("%s: %s", program, p.Output())
		}
	})
	ctx, cancel := context.WithTimeout(s.t.Context(), caller.Patient)
	defer cancel()
	require.NoError(s.t, p.Ready(ctx))
	return p
}

// open puts a voucher on sale, which is the sale's from now on.
func (s *sale) open(units int64) {
	s.t.Helper()
	voucher, err := s.caller.Sell(s.t.Context(), units)
	require.NoError(s.t, err)
	s.voucher, s.units, s.told = voucher, units, map[int64]promise{}
}

// buy asks for a unit once, and keeps what was promised.
func (s *sale) buy(user int64) (a caller.Answer, err error) {
	a, err = s.caller.Buy(s.t.Context(), s.voucher, user)
	if err == nil && (a.HTTP == http.StatusAccepted || a.HTTP == http.StatusOK) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.told[user] = promise{a.OrderID, a.Receipt}
	}
	return a, err
}

// each does something for every user, several at the same time.
func (s *sale) each(from, to int64, do func(user int64) error) error {
	var g errgroup.Group
	g.SetLimit(abreast)
	for user := from; user <= to; user++ {
		g.Go(func() error { return do(user) })
	}
	return g.Wait()
}

// promises is a copy of what was promised so far.
func (s *sale) promises() map[int64]promise {
	s.mu.Lock()
	defer s.mu.Unlock()
	told := make(map[int64]promise, len(s.told))
	for user, p := range s.told {
		told[user] = p
	}
	return told
}

func (s *sale) accepted(at least) func() bool {
	return func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.told) >= int(at) }
}

type least int64

// eventually waits until it is so.
func (s *sale) eventually(is func() bool, what string) {
	s.t.Helper()
	require.Eventually(s.t, is, caller.Patient, 2*time.Millisecond, what)
}

// insist asks for a unit until the answer is final.
func (s *sale) insist(user int64) error {
	return caller.Until(s.t.Context(), func() (bool, error) {
		a, err := s.buy(user)
		return err == nil && (a.HTTP < http.StatusBadRequest || a.Code == "SOLD_OUT"), err
	})
}

func (s *sale) signal(sig syscall.Signal) {
	s.t.Helper()
	for _, w := range s.workers {
		require.NoError(s.t, w.Signal(sig))
	}
}

// forgotten counts the promises of which there is neither a ticket nor a row.
func (s *sale) forgotten(told map[int64]promise) (n int) {
	s.t.Helper()
	p := s.picture()
	for user, told := range told {
		if _, stored := p.Rows[told.order]; !stored && p.Tickets[strconv.FormatInt(user, 10)] != told.order {
			n++
		}
	}
	return n
}

func (s *sale) picture() ledger.Picture {
	s.t.Helper()
	p, err := s.ledger.Read(s.t.Context(), s.voucher)
	require.NoError(s.t, err)
	return p
}

// rest waits until nothing is under way and the books hold to the law.
func (s *sale) rest() {
	s.t.Helper()
	_, err := s.ledger.Rest(s.t.Context(), s.voucher)
	require.NoError(s.t, err)
}

// law holds each promise to exactly one row.
func (s *sale) law() {
	s.t.Helper()
	p := s.picture()
	for user, told := range s.promises() {
		r, stored := p.Rows[told.order]
		require.True(s.t, stored, "promised order %s", told.order)
		require.Equal(s.t, user, r.User, "promised order %s", told.order)
	}
}
