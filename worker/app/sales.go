package app

import (
	"context"
	"errors"
	"time"

	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/worker/internal/pace"
)

const (
	salesEvery = 5 * time.Second
	salesMax   = 20 // vouchers that are shown, so that the series have an end
)

type window interface {
	OnSale(ctx context.Context, limit int) ([]seckill.VoucherID, error)
	ReleasesWaiting(ctx context.Context) (int64, error)
}

type ledger interface {
	Books(ctx context.Context, v seckill.VoucherID) (seckill.RedisBooks, error)
}

// sales keeps the metrics of the vouchers on sale up to date. It changes nothing.
type sales struct {
	sql     window
	redis   ledger
	meter   *obs.Worker
	trouble *pace.Trouble
}

func (s *sales) look(ctx context.Context) {
	due, failed := s.sql.ReleasesWaiting(ctx)
	if failed == nil {
		s.meter.ReleasesDue(due)
	}
	on, err := s.all(ctx)
	if err == nil {
		s.meter.Sales(on)
	}
	s.trouble.Note(errors.Join(failed, err))
}

func (s *sales) all(ctx context.Context) ([]obs.Sale, error) {
	ids, err := s.sql.OnSale(ctx, salesMax)
	if err != nil {
		return nil, err
	}
	on := make([]obs.Sale, len(ids))
	for i, v := range ids {
		b, err := s.redis.Books(ctx, v)
		if err != nil {
			return nil, err
		}
		on[i] = obs.Sale{Voucher: v, Left: max(0, b.Stock), Total: max(0, b.Total), Open: b.State == "open" && b.Balanced()}
	}
	return on, nil
}
