package app

import (
	"context"
	"time"

	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/worker/internal/pace"
)

const (
	watchEvery = 2 * time.Second
	// A worker that lives speaks twice in the silence after which others take over from it.
	watchClaims = 2
)

type streams interface {
	Partitions() int
	StreamInfo(ctx context.Context, p int) (seckill.StreamInfo, error)
}

// watch keeps the metrics of the streams up to date. It is for one goroutine.
type watch struct {
	streams streams
	meter   *obs.Worker
	silence time.Duration // after which a worker counts as gone
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
	known, fewest := true, -1
	for p := range w.streams.Partitions() {
		info, err := w.streams.StreamInfo(ctx, p)
		if err != nil {
			return sum, err
		}
		sum.Waiting += info.Length
		sum.Pending += info.Pending
		sum.Lag += info.Lag
		sum.Oldest = max(sum.Oldest, info.Oldest)
		sum.Dead += info.Buried
		live, orphaned := w.split(info.Consumers)
		sum.Orphaned += orphaned
		if fewest < 0 || live < fewest {
			fewest = live
		}
		known = known && info.Lag != seckill.LagUnknown
	}
	if !known {
		sum.Lag = seckill.LagUnknown
	}
	sum.Consumers = fewest
	return sum, nil
}

// split counts the workers that have spoken lately, and what the others hold.
func (w *watch) split(all []seckill.Consumer) (live int, orphaned int64) {
	for _, c := range all {
		if c.Idle < w.silence {
			live++
		} else {
			orphaned += c.Pending
		}
	}
	return live, orphaned
}
