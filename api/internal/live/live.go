// Package live samples the whole sale once a second while somebody watches: one sampler in
// each process, however many watch. It tells what it could not reach, and when it last did.
// It reaches the stores and the other processes through interfaces of its own, and imports
// seckill, obs and run.
package live

import (
	"context"
	"encoding/json"
	"iter"
	"sync"
	"time"

	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/run"
	"github.com/openseckill/seckill/pkg/seckill"
)

// every is the time from one sample to the next.
const every = time.Second

// Deps are what a Live samples.
type Deps struct {
	Ledger ledger
	Sale   sale
	Chorus chorus
	Own    func() obs.Pulse // of this process, which is known whatever else is away
	Now    func() time.Time
}

// chorus are the other processes; see redisstore.Attend.
type chorus interface {
	AskPulses(ctx context.Context) error
	HearPulses(ctx context.Context, tell func(pulse []byte))
}

// ledger is what SQL tells of vouchers; see sqlstore.Current.
type ledger interface {
	Current(ctx context.Context, limit int) ([]seckill.Voucher, error)
}

// sale is what Redis tells; see redisstore.
type sale interface {
	Partitions() int
	StreamInfo(ctx context.Context, p int) (seckill.StreamInfo, error)
	Books(ctx context.Context, v seckill.VoucherID) (seckill.RedisBooks, error)
}

// Live lets any number of callers watch.
type Live struct {
	deps   Deps
	wanted chan struct{} // somebody began to watch
	ended  chan struct{} // closed: nobody may watch any more

	mu       sync.Mutex
	watchers int
	latest   []byte        // nil: there is none yet
	next     chan struct{} // closed when there is a newer one
}

// New returns a Live that samples once it runs.
func New(d Deps) *Live {
	return &Live{deps: d, wanted: make(chan struct{}, 1), ended: make(chan struct{}), next: make(chan struct{})}
}

// Watch yields samples as JSON until ctx ends or the process stops. Who is slow misses some.
func (l *Live) Watch(ctx context.Context) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		l.enter()
		defer l.leave()
		for {
			latest, next := l.current()
			if latest != nil && !yield(latest) {
				return
			}
			select {
			case <-next:
			case <-ctx.Done():
				return
			case <-l.ended:
				return
			}
		}
	}
}

func (l *Live) enter() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watchers++
	select {
	case l.wanted <- struct{}{}:
	default:
	}
}

func (l *Live) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watchers--
}

// watched reports whether somebody watches; if not, it forgets the latest sample, which the
// next one to watch must not take for new.
func (l *Live) watched() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.watchers == 0 {
		l.latest = nil
	}
	return l.watchers > 0
}

func (l *Live) current() (latest []byte, next <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.latest, l.next
}

func (l *Live) publish(s Sample) error {
	data, err := json.Marshal(s)
	if err != nil {
		return &seckill.Error{Op: "live.publish", Code: seckill.Internal, Err: err}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.latest = data
	close(l.next)
	l.next = make(chan struct{})
	return nil
}

// Run samples while somebody watches, until intake ends; then nobody watches any more.
func (l *Live) Run(intake, _ context.Context) error {
	defer close(l.ended)
	for {
		select {
		case <-l.wanted:
			if err := l.session(intake); err != nil {
				return err
			}
		case <-intake.Done():
			return nil
		}
	}
}

// session samples until nobody watches.
func (l *Live) session(intake context.Context) error {
	intake, end := context.WithCancel(intake)
	defer end()
	s := newSampler(l.deps)
	hear := func(intake, _ context.Context) error {
		l.deps.Chorus.HearPulses(intake, s.hear)
		return nil
	}
	sample := func(intake, _ context.Context) error {
		defer end()
		tick := time.NewTicker(every)
		defer tick.Stop()
		for l.watched() {
			if err := l.publish(s.take(intake)); err != nil {
				return err
			}
			select {
			case <-tick.C:
			case <-intake.Done():
				return nil
			}
		}
		return nil
	}
	return run.All(intake, intake, hear, sample)
}
