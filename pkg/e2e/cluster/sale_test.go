package cluster

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/e2e/caller"
	"github.com/openseckill/seckill/pkg/e2e/ledger"
	"github.com/openseckill/seckill/pkg/e2e/process"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/pkg/sqltest"
)

const (
	secret    = "a secret for clusters, of 32 bytes or more"
	tail      = 4000             // bytes of what a program wrote
	answerMax = 30 * time.Second // an api says within less that it cannot say
)

type voucher struct {
	id    string
	units int64
}

// sale is two apis and three workers on one place, which sell two dozen vouchers over all
// partitions: of some there is plenty, of the others too little.
type sale struct {
	*crowd
	t        *testing.T
	seed     uint64
	ledger   *ledger.Ledger
	env      []string
	vouchers []voucher
	waits    bool // for replicas
	rejected int  // orders so far
}

func newSale(t *testing.T, p *place, seed uint64, waits bool) *sale {
	t.Helper()
	dsn := sqltest.New(t)
	db, err := sql.Open("mysql", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	s := &sale{t: t, seed: seed, waits: waits, ledger: &ledger.Ledger{SQL: db, Redis: p.rdb, Partitions: p.partitions}}
	s.env = slices.Concat(p.env, []string{
		"SECKILL_MYSQL_DSN=" + dsn, "SECKILL_JWT_SECRET=" + secret, "SECKILL_RATE_PER_USER=0", "SECKILL_LOG_LEVEL=warn",
		"SECKILL_LOG_FORMAT=text", "SECKILL_CLAIM_IDLE=1500ms", "SECKILL_LOCK_TTL=500ms", "SECKILL_BATCH_MAX=64",
	})
	if waits {
		s.env = append(s.env, "SECKILL_REDIS_WAIT_REPLICAS=1")
	}
	var apis []string
	for range 2 {
		apis = append(apis, s.start("api").HTTP)
	}
	for range 3 {
		s.start("worker")
	}
	c := caller.New(secret, 2*partitions*abreast, answerMax, apis...)
	t.Cleanup(c.Close)
	s.crowd = &crowd{caller: c, partitionOf: s.ledger.Partition, promises: map[string]promise{}, told: map[string]int{}}
	for _, units := range []int64{plenty, scarce} {
		for range partitions {
			id, err := c.Sell(t.Context(), units)
			require.NoError(t, err)
			s.vouchers = append(s.vouchers, voucher{id, units})
		}
	}
	return s
}

func (s *sale) start(program string) *process.Process {
	s.t.Helper()
	p := process.New(s.t.Context(), bin, []string{program}, s.env)
	require.NoError(s.t, p.Start())
	s.t.Cleanup(func() {
		p.Kill()
		if s.t.Failed() {
			text := p.Output()
			s.t.Logf("%s: %s", program, text[max(0, len(text)-tail):])
		}
	})
	ctx, cancel := context.WithTimeout(s.t.Context(), caller.Patient)
	defer cancel()
	require.NoError(s.t, p.Ready(ctx))
	return p
}

// survive lets a fault strike while all is sold, and holds what is left to the law.
func (s *sale) survive(t *testing.T, f fault, partition int, kept bool) {
	s.keepAll(kept)
	ctx, end := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() { defer close(gone); s.come(ctx, s.vouchers, s.seed) }()
	defer func() { end(); <-gone }()

	began := time.Now()
	s.sells(t, began)
	b, err := f.strike(ctx, partition)
	require.NoError(t, err)
	if !s.waits { // else a master that has just lost its replica accepts nothing
		s.sells(t, time.Now())
	}
	require.NoError(t, b.mend(ctx))
	s.sells(t, time.Now())
	end()
	<-gone
	s.disturbed(t, f, b)
	s.judge(t, kept)
}

// sells waits until every partition has sold something since.
func (s *sale) sells(t *testing.T, since time.Time) {
	t.Helper()
	require.NoError(t, caller.Until(t.Context(), func() (bool, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for p := range max(1, s.ledger.Partitions) {
			if !slices.ContainsFunc(s.accepted, func(a acceptance) bool { return a.partition == p && a.at.After(since) }) {
				return false, fmt.Errorf("partition %d sells nothing", p)
			}
		}
		return true, nil
	}))
}

// disturbed tells how long buyers asked before they were promised an order, where the fault
// struck and elsewhere. The death of a master is felt where it was the master.
func (s *sale) disturbed(t *testing.T, f fault, b *blow) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	longest := map[bool]time.Duration{}
	for _, a := range s.accepted {
		if here := b.struck[a.partition]; a.at.After(b.at) {
			longest[here] = max(longest[here], a.waited)
		}
	}
	t.Logf("a buyer asked for at most %v where it struck (%d partitions), for %v elsewhere; slowest answer %v; answers %v",
		longest[true].Round(time.Millisecond), len(b.struck), longest[false].Round(time.Millisecond), s.slowest.Round(time.Millisecond), s.told)
	if f.harms {
		require.Less(t, longest[false], longest[true], "those who buy on other masters wait as long")
	}
	s.slowest = 0
	clear(s.told)
}

// judge lets all come to rest, and follows every promise to its end.
func (s *sale) judge(t *testing.T, kept bool) {
	t.Helper()
	require.Empty(t, s.odd)
	rows := s.rest(t)
	forgotten := 0
	for id, p := range s.promises {
		if _, stored := rows[id]; !stored {
			forgotten++
			_, err := s.caller.Follow(t.Context(), p.user, id, p.receipt)
			require.NoError(t, err)
		}
	}
	if forgotten > 0 {
		rows = s.rest(t)
	}
	rejected, why := 0, map[seckill.Reason]int{}
	for id, p := range s.promises {
		r, stored := rows[id]
		require.True(t, stored, "order %s of user %d has no row", id, p.user)
		require.Equal(t, p.user, r.User, id)
		if p.became != "" {
			require.Equal(t, p.became, r.Status, id)
		}
		if r.Status == seckill.Rejected {
			require.NotEqual(t, seckill.ReasonShort, r.Reason, "Redis sold what there was not")
			why[r.Reason]++
			rejected++
		}
	}
	t.Logf("%d orders promised so far, %d forgotten now; rejected so far: %v", len(s.promises), forgotten, why)
	if kept {
		require.Zero(t, forgotten)
		require.Equal(t, s.rejected, rejected)
	}
	s.rejected = rejected
	s.audit(t)
}

// rest waits until nothing is under way and the books of all vouchers balance, and returns
// their rows.
func (s *sale) rest(t *testing.T) map[string]ledger.Row {
	t.Helper()
	rows := map[string]ledger.Row{}
	for _, v := range s.vouchers {
		p, err := s.ledger.Rest(t.Context(), v.id)
		require.NoError(t, err)
		maps.Copy(rows, p.Rows)
	}
	return rows
}

// audit asks the program that operators ask. A worker that meets another server late may be
// loading a voucher again just then, which is no rest.
func (s *sale) audit(t *testing.T) {
	t.Helper()
	require.NoError(t, caller.Until(t.Context(), func() (bool, error) {
		p := process.New(t.Context(), bin, []string{"worker", "audit"}, s.env)
		if err := p.Start(); err != nil {
			return false, err
		}
		<-p.Done()
		if p.Err() != nil {
			return false, errors.New(p.Output())
		}
		return true, nil
	}))
}

func (s *sale) keepAll(kept bool) { s.mu.Lock(); defer s.mu.Unlock(); s.keeps = kept }
