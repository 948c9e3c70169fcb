package app

import (
	"context"
	"time"

	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/worker/internal/pace"
)

const watchEvery = 2 * time.Second

type streams interface {
	Partitions() int
	StreamInfo(ctx context.Context, p int) (seckill.StreamInfo, error)
}

// watch keeps the metrics of the streams up to date. It is for one goroutine.
type watch struct {
	streams streams
	meter   *obs.Worker
	trouble *pace.Trouble
	last    obs.Stream
}

// look reads all streams once. What cannot be read keeps its numbers, except for the lag:
// an old one would say that all is well.
func (w *watch) look(ctx context.Context) {
	sum, err := w.sum(ctx)
	w.trouble.Note(err)
	if err == nil {
		w.last = sum
	} else {
		w.last.Lag = seckill.LagUnknown
	}
	w.meter.Stream(w.last)
}

// sum adds the streams up; a lag that is unknown of one is unknown of all.
func (w *watch) sum(ctx context.Context) (sum obs.Stream, err error) {
	known := true
	for p := range w.streams.Partitions() {
		info, err := w.streams.StreamInfo(ctx, p)
		if err != nil {
			return sum, err
		}
		sum.Waiting += info.Length
		sum.Pending += info.Pending
		sum.Lag += info.Lag
		sum.Oldest = max(sum.Oldest, info.Oldest)
		known = known && info.Lag != seckill.LagUnknown
	}
	if !known {
		sum.Lag = seckill.LagUnknown
	}
	return sum, nil
}
