package app

import (
	"context"
	"errors"
	"time"

	"github.com/openseckill/seckill/pkg/run"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/worker/internal/pace"
)

// mendEvery is how often the vouchers on sale are looked through, by all workers together.
const mendEvery = 5 * time.Minute

const (
	mendPage   = 100
	groupCheck = time.Second // how soon a lost stream is noticed
)

// For keysLife after its end Redis keeps a voucher's keys. After keysGone nobody looks any
// more whether they are gone.
const (
	keysLife = 7 * 24 * time.Hour
	keysGone = 4 * keysLife
)

type catalogue interface {
	Vouchers(ctx context.Context, after seckill.VoucherID, limit int) ([]seckill.Voucher, error)
}

type keeper interface {
	Apply(ctx context.Context, v seckill.VoucherID) error
	Audit(ctx context.Context, v seckill.VoucherID) (seckill.Report, error)
	Repair(ctx context.Context, v seckill.VoucherID) (mended []seckill.Finding, left int, err error)
}

type balance interface {
	Books(ctx context.Context, v seckill.VoucherID) (seckill.RedisBooks, error)
	Unload(ctx context.Context, v seckill.VoucherID, life time.Duration) (bool, error)
	GroupsMade() uint64
	Generation() uint64
}

type driftMeter interface {
	Drift(v seckill.VoucherID, mended, left int)
	NoDrift(v seckill.VoucherID)
}

// mender looks through the vouchers now and then, and at once when this worker had to make
// its group or met another server: then orders may wait that nobody will read. One whose
// keys are missing or do not balance is synced before a buyer has to find it, and one of which
// Redis has another version than SQL gets SQL's: whoever changed it died in between. Of those
// on sale it repairs the users whom a crash left with the ticket of a dead order, or none.
type mender struct {
	sql     catalogue
	redis   balance
	books   keeper
	resync  func(seckill.VoucherID)
	streams streams
	meter   driftMeter
	every   time.Duration
	trouble *pace.Trouble
}

// run looks about once in every for each worker that there is: together they keep the pace,
// and need no lock for it. On its start it leaves the users out: many may start at once.
func (m *mender) run(intake, work context.Context) error {
	m.workers(work) // meets the server, so that it is no news afterwards
	before := m.losses()
	m.insist(intake, work, m.whole)
	for pause := pace.Between(m.every/50, m.every); m.wait(intake, pause, before); {
		before = m.losses() // so that what is lost during the look makes the next one
		m.insist(intake, work, m.mend)
		pause = pace.Around(m.every * time.Duration(m.workers(work)))
	}
	return nil
}

// insist looks until a store that does not answer does: orders that were lost must not wait
// for the next time.
func (m *mender) insist(intake, work context.Context, do func(context.Context, seckill.Voucher) error) {
	failing := pace.NewBackoff()
	for {
		err := m.look(intake, work, do)
		m.trouble.Note(err)
		if !errors.Is(err, seckill.Unavailable) || failing.Wait(intake) != nil {
			return
		}
	}
}

// wait returns when the pause is over or Redis lost something; false: intake ended.
func (m *mender) wait(intake context.Context, pause time.Duration, before uint64) bool {
	for ; pause > 0 && m.losses() == before; pause -= groupCheck {
		if run.Wait(intake, min(pause, groupCheck)) != nil {
			return false
		}
	}
	return true
}

// losses goes up whenever Redis may have lost something.
func (m *mender) losses() uint64 { return m.redis.GroupsMade() + m.redis.Generation() }

func (m *mender) workers(ctx context.Context) int {
	info, err := m.streams.StreamInfo(ctx, 0)
	if err != nil {
		return 1
	}
	return max(1, len(info.Consumers))
}

// look does it for each voucher that Redis should have keys of, and takes away those of the
// others.
func (m *mender) look(intake, work context.Context, do func(context.Context, seckill.Voucher) error) error {
	var failed error
	for after := seckill.VoucherID(0); intake.Err() == nil; {
		page, err := m.sql.Vouchers(work, after, mendPage)
		if err != nil || len(page) == 0 {
			return errors.Join(failed, err)
		}
		for _, v := range page {
			after = v.ID
			over := time.Since(v.End)
			switch {
			case intake.Err() != nil:
			case over < keysLife:
				failed = errors.Join(failed, do(work, v))
			case over < keysGone:
				failed = errors.Join(failed, m.unload(work, v.ID))
			}
		}
	}
	return failed
}

// mend leaves a voucher that is not open to the sync.
func (m *mender) mend(ctx context.Context, v seckill.Voucher) error {
	err := m.whole(ctx, v)
	if now := time.Now(); err != nil || now.Before(v.Begin) || !now.Before(v.End) {
		m.meter.NoDrift(v.ID)
		return err
	}
	mended, left, err := m.books.Repair(ctx, v.ID)
	if err == nil {
		m.meter.Drift(v.ID, len(mended), left)
	}
	return err
}

// whole sees to a voucher as a whole. Of a sale that is over, too: its winners ask again.
func (m *mender) whole(ctx context.Context, v seckill.Voucher) error {
	b, err := m.redis.Books(ctx, v.ID)
	if err != nil {
		return err
	}
	switch {
	case b.State != "open" || !b.Balanced():
		m.resync(v.ID)
		return nil
	case b.Version != v.Version || b.Total != v.Total || b.Begin != v.Begin.UnixMilli() || b.End != v.End.UnixMilli():
		return m.books.Apply(ctx, v.ID)
	}
	return nil
}

// unload takes away the keys of a sale that is long over, once nothing of it is under way:
// each ticket has its row by then, from which its status is told.
func (m *mender) unload(ctx context.Context, v seckill.VoucherID) error {
	if b, err := m.redis.Books(ctx, v); err != nil || b.Absent() {
		return err
	}
	r, err := m.books.Audit(ctx, v)
	switch {
	case err != nil:
	case !r.Balanced():
		m.resync(v)
	case r.AtRest():
		_, err = m.redis.Unload(ctx, v, keysLife)
	}
	return err
}
