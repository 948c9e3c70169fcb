package live

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openseckill/seckill/pkg/seckill"
)

const (
	vouchersMax = 50
	askMax      = 900 * time.Millisecond // that a source may take: then the sample goes without it
	askedAtOnce = 8                      // vouchers
)

// sampler remembers what each source said last. take is for one goroutine, hear for another.
type sampler struct {
	deps     Deps
	voices   *voices
	vouchers Vouchers
	books    map[seckill.VoucherID]Books
	streams  []stream
}

// stream is what one partition said last.
type stream struct {
	Part
	seckill.StreamInfo
}

func newSampler(d Deps) *sampler {
	return &sampler{
		deps: d, voices: newVoices(d.Now),
		books: map[seckill.VoucherID]Books{}, streams: make([]stream, d.Sale.Partitions()),
	}
}

func (s *sampler) hear(pulse []byte) { s.voices.hear(pulse) }

// take asks every source at once and waits for none longer than askMax: one that hangs takes
// nothing from the others.
func (s *sampler) take(ctx context.Context) Sample {
	ctx, cancel := context.WithTimeout(ctx, askMax)
	defer cancel()
	var asked sync.WaitGroup
	asked.Go(func() { s.voices.asked(s.deps.Chorus.AskPulses(ctx)) })
	for p := range s.streams {
		asked.Go(func() { s.askStream(ctx, p) })
	}
	asked.Go(func() { s.askVouchers(ctx); s.askBooks(ctx) })
	asked.Wait()

	now := s.deps.Now().UTC()
	s.voices.tell(s.deps.Own())
	sample := Sample{At: now, Queue: s.queue(), Vouchers: s.vouchers}
	sample.Vouchers.Items = slices.Clone(s.vouchers.Items)
	heard := s.voices.sum()
	sample.Traffic, sample.Processes, sample.Errors = heard.all, heard.processes, heard.errors
	for i := range sample.Vouchers.Items {
		v := &sample.Vouchers.Items[i]
		v.Redis, v.Traffic = s.books[v.ID], heard.of(v.ID)
		v.State = seckill.Voucher{Begin: v.BeginsAt, End: v.EndsAt}.StateAt(now, v.left())
	}
	return sample
}

// left is by Redis, or by SQL where Redis does not say.
func (v *Voucher) left() int64 {
	if v.Redis.Error != "" || v.Redis.State == "" {
		return v.Total - v.Stored
	}
	return v.Redis.Stock
}

func (s *sampler) askStream(ctx context.Context, p int) {
	info, err := s.deps.Sale.StreamInfo(ctx, p)
	s.streams[p].note(s.deps.Now().UTC(), err)
	if err == nil {
		s.streams[p].StreamInfo = info
	}
}

// askVouchers reads the vouchers; how many orders were stored since the last time is what
// their stock in SQL went down by.
func (s *sampler) askVouchers(ctx context.Context) {
	list, err := s.deps.Ledger.Current(ctx, vouchersMax)
	was, now := s.vouchers, s.deps.Now().UTC()
	s.vouchers.note(now, err)
	s.vouchers.StoredPerSecond = 0
	if err != nil {
		for i := range s.vouchers.Items {
			s.vouchers.Items[i].StoredPerSecond = 0
		}
		return
	}
	before := map[seckill.VoucherID]int64{}
	for _, v := range was.Items {
		before[v.ID] = v.Stored
	}
	s.vouchers.Stored, s.vouchers.Items = 0, make([]Voucher, len(list))
	for i, v := range list {
		item := view(v)
		if stored, ok := before[v.ID]; ok {
			item.StoredPerSecond = rate(item.Stored-stored, now.Sub(was.At))
		}
		s.vouchers.Stored += item.Stored
		s.vouchers.StoredPerSecond += item.StoredPerSecond
		s.vouchers.Items[i] = item
	}
}

func view(v seckill.Voucher) Voucher {
	return Voucher{
		ID: v.ID, Title: v.Title, Price: v.Price, Currency: v.Currency, Total: v.Total, Stored: v.Total - v.Stock,
		BeginsAt: v.Begin, EndsAt: v.End, Version: v.Version,
	}
}

// rate is 0 where orders died: that stores none.
func rate(n int64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return max(0, float64(n)/d.Seconds())
}

// askBooks asks Redis for the books of each voucher, some at a time.
func (s *sampler) askBooks(ctx context.Context) {
	books, at := make([]Books, len(s.vouchers.Items)), make(chan int)
	var asked sync.WaitGroup
	for range min(askedAtOnce, len(books)) {
		asked.Go(func() {
			for i := range at {
				books[i] = s.askBook(ctx, s.vouchers.Items[i].ID)
			}
		})
	}
	for i := range books {
		at <- i
	}
	close(at)
	asked.Wait()
	clear(s.books)
	for i, b := range books {
		s.books[s.vouchers.Items[i].ID] = b
	}
}

func (s *sampler) askBook(ctx context.Context, v seckill.VoucherID) Books {
	b := s.books[v]
	found, err := s.deps.Sale.Books(ctx, v)
	b.note(s.deps.Now().UTC(), err)
	if err == nil {
		b.RedisBooks, b.Balanced = found, found.State == "open" && found.Balanced()
	}
	return b
}

// queue adds the partitions up. It is as old as the one that answered longest ago.
func (s *sampler) queue() (q Queue) {
	consumers := map[string]Consumer{}
	for p, info := range s.streams {
		if info.Error != "" {
			q.Error, q.Silent = info.Error, append(q.Silent, p)
		}
		if p == 0 || info.At.Before(q.At) {
			q.At = info.At
		}
		q.Waiting += info.Length
		q.Pending += info.Pending
		q.Dead += info.Buried
		q.Oldest = max(q.Oldest, info.Oldest.Seconds())
		for _, c := range info.Consumers {
			was, seen := consumers[c.Name]
			idle := c.Idle.Seconds()
			if seen {
				idle = min(idle, was.Idle)
			}
			consumers[c.Name] = Consumer{Name: c.Name, Holds: was.Holds + c.Pending, Idle: idle}
		}
	}
	q.Consumers = make([]Consumer, 0, len(consumers))
	for _, c := range consumers {
		q.Consumers = append(q.Consumers, c)
	}
	slices.SortFunc(q.Consumers, func(a, b Consumer) int { return strings.Compare(a.Name, b.Name) })
	return q
}
