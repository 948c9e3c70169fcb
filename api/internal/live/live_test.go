package live

import (
	"context"
	"encoding/json"
	"iter"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/seckill"
)

var down = &seckill.Error{Op: "fake", Code: seckill.Unavailable, Err: context.DeadlineExceeded}

// world is what is sampled. A test that changes it holds mu.
type world struct {
	mu         sync.Mutex
	sql, redis func() error // nil: it answers
	stored     int64
	own        obs.Pulse
	tell       func(pulse []byte) // nil while nobody hears
	looks      int
}

// set changes the world.
func (w *world) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

func fine(answer func() error) error {
	if answer == nil {
		return nil
	}
	return answer()
}

func (w *world) Current(context.Context, int) ([]seckill.Voucher, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looks++
	v := seckill.Voucher{ID: 7, Title: "Tea", Total: 100, Stock: 100 - w.stored, Begin: time.Now().Add(-time.Hour), End: time.Now().Add(time.Hour)}
	return []seckill.Voucher{v}, fine(w.sql)
}

func (w *world) Partitions() int { return 2 }

func (w *world) StreamInfo(_ context.Context, p int) (seckill.StreamInfo, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p == 0 { // the other one answers always
		if err := fine(w.redis); err != nil {
			return seckill.StreamInfo{}, err
		}
	}
	return seckill.StreamInfo{
		Length: 3, Pending: 2, Oldest: time.Second, Buried: 1,
		Consumers: []seckill.Consumer{{Name: "worker-1", Pending: 2, Idle: time.Duration(p+1) * time.Second}},
	}, nil
}

func (w *world) Books(context.Context, seckill.VoucherID) (seckill.RedisBooks, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return seckill.RedisBooks{State: "open", Total: 100, Stock: 90, Buyers: 10, Tickets: 10}, fine(w.redis)
}

func (w *world) AskPulses(context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fine(w.redis)
}

func (w *world) pulse() (p obs.Pulse) {
	w.set(func() { p = w.own })
	return p
}

func (w *world) HearPulses(ctx context.Context, tell func([]byte)) {
	w.set(func() { w.tell = tell })
	<-ctx.Done()
	w.set(func() { w.tell = nil })
}

// says is a pulse of an api that has accepted n purchases of voucher 7 since it began.
func says(process string, n uint64) obs.Pulse {
	c := obs.Counts{Codes: map[seckill.Code]uint64{obs.Accepted: n, seckill.SoldOut: n}, Times: map[int]uint64{20: 2 * n}}
	return obs.Pulse{Process: process, Program: "api", All: c, Sales: map[seckill.VoucherID]obs.Counts{7: c}}
}

// watching runs a Live on the world and returns its samples.
func watching(t *testing.T, w *world) (l *Live, next func() Sample) {
	l = New(Deps{Ledger: w, Sale: w, Chorus: w, Own: w.pulse, Now: time.Now})
	intake, end := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(intake, t.Context()) }()
	pull, stop := iter.Pull(l.Watch(t.Context()))
	t.Cleanup(func() {
		end()
		require.NoError(t, <-done)
		_, more := pull()
		require.False(t, more, "nobody watches a process that stops")
		stop()
	})
	return l, func() (s Sample) {
		data, ok := pull()
		require.True(t, ok)
		require.NoError(t, json.Unmarshal(data, &s))
		synctest.Wait() // the world may change until the next look
		return s
	}
}

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{own: says("me", 10)}
		_, next := watching(t, w)
		s := next()
		require.EqualValues(t, 20, s.Traffic.Requests)
		require.EqualValues(t, 10, s.Traffic.Accepted)
		require.Equal(t, map[seckill.Code]uint64{seckill.SoldOut: 10}, s.Traffic.Refused)
		require.Zero(t, s.Traffic.RequestsPerSecond, "what came before is in no rate")
		require.Equal(t, Queue{
			Part: Part{At: s.At}, Waiting: 6, Pending: 4, Oldest: 1, Dead: 2,
			Consumers: []Consumer{{Name: "worker-1", Holds: 4, Idle: 1}},
		}, s.Queue)
		require.Len(t, s.Vouchers.Items, 1)
		require.True(t, s.Vouchers.Items[0].Redis.Balanced)
		require.Equal(t, seckill.Open, s.Vouchers.Items[0].State)

		w.set(func() { w.own, w.stored = says("me", 14), 8 })
		other, err := json.Marshal(says("other", 5))
		require.NoError(t, err)
		w.tell(other)
		w.tell([]byte("nobody of ours says this"))
		s = next()
		require.EqualValues(t, 19, s.Traffic.Accepted)
		require.InDelta(t, 4, s.Traffic.AcceptedPerSecond, 0.01)
		require.InDelta(t, 8, s.Traffic.RequestsPerSecond, 0.01)
		require.InDelta(t, 0.08, s.Traffic.P99, 0.001)
		require.Equal(t, s.Traffic, s.Vouchers.Items[0].Traffic)
		require.InDelta(t, 8, s.Vouchers.StoredPerSecond, 0.01)
		require.Len(t, s.Processes.Items, 2)
	})
}

// What cannot be reached is said, with the time of its numbers; what can be, goes on.
func TestWatchAHurtSale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{own: says("me", 10)}
		w.own.Errors = []obs.Fault{{At: time.Now(), Level: "WARN", Text: "it fails"}}
		_, next := watching(t, w)
		before := next()
		w.set(func() { w.redis = func() error { return down } })
		s := next()
		require.Equal(t, Part{At: before.At, Error: seckill.Unavailable}, s.Queue.Part)
		require.Equal(t, []int{0}, s.Queue.Silent)
		require.Equal(t, Part{At: before.At, Error: seckill.Unavailable}, s.Vouchers.Items[0].Redis.Part)
		require.EqualValues(t, 90, s.Vouchers.Items[0].Redis.Stock)
		require.Equal(t, Part{At: s.At}, s.Vouchers.Part, "the other store is well")
		require.Equal(t, seckill.Unavailable, s.Processes.Error)
		require.Equal(t, "it fails", s.Errors[0].Text, "this process knows itself")

		w.set(func() { w.redis, w.sql = nil, func() error { return down } })
		s = next()
		require.Empty(t, s.Queue.Error)
		require.Equal(t, seckill.Unavailable, s.Vouchers.Error)
		require.Len(t, s.Vouchers.Items, 1)
		require.Empty(t, s.Vouchers.Items[0].Redis.Error)
	})
}

func TestWatchSilentProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{own: says("me", 1)}
		_, next := watching(t, w)
		next()
		other, err := json.Marshal(says("other", 1))
		require.NoError(t, err)
		w.tell(other)
		for range silentAfter / every {
			require.False(t, next().Processes.Items[1].Silent)
		}
		next()
		require.True(t, next().Processes.Items[1].Silent)
		for range goneAfter / every {
			next()
		}
		require.Len(t, next().Processes.Items, 1)
	})
}

// Nothing is asked while nobody watches, and once a second however many do.
func TestWatchers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{own: says("me", 1)}
		l := New(Deps{Ledger: w, Sale: w, Chorus: w, Own: w.pulse, Now: time.Now})
		intake, end := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- l.Run(intake, t.Context()) }()
		<-time.After(time.Minute)
		synctest.Wait()
		require.Zero(t, w.looks)

		watch, leave := context.WithCancel(t.Context())
		left := make(chan int)
		const crowd = 100
		for range crowd {
			go func() {
				seen := 0
				for range l.Watch(watch) {
					seen++
				}
				left <- seen
			}()
		}
		<-time.After(10*every - every/2)
		synctest.Wait()
		require.Equal(t, 10, w.looks)
		leave()
		for range crowd {
			require.Equal(t, 10, <-left)
		}
		<-time.After(time.Minute)
		synctest.Wait()
		require.Equal(t, 10, w.looks)
		require.Nil(t, w.tell, "nobody listens any more")
		end()
		require.NoError(t, <-done)
	})
}
