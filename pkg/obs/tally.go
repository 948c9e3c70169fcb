package obs

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openseckill/seckill/pkg/seckill"
)

const (
	tallyMax  = 64          // vouchers that are counted each by itself
	tallyTurn = time.Second // between two that give way to another
)

// Tally counts purchases by voucher, for whoever watches. /metrics has them all in one, since
// the vouchers have no end; here the one that came first gives way.
type Tally struct {
	all   count
	sales atomic.Pointer[map[seckill.VoucherID]*count] // a map is replaced, never changed

	mu     sync.Mutex
	order  []seckill.VoucherID // as they came
	turned time.Time
}

// NewTally returns a Tally that has counted nothing.
func NewTally() *Tally {
	t := &Tally{}
	t.sales.Store(&map[seckill.VoucherID]*count{})
	return t
}

// Admitted counts one decision with the code it ended in; "" is an acceptance.
func (t *Tally) Admitted(v seckill.VoucherID, code seckill.Code, took time.Duration) {
	t.all.add(code, took)
	if c := t.of(v, code); c != nil {
		c.add(code, took)
	}
}

// of finds the count of a voucher. A new one begins with a code that only a voucher which
// exists can end in: anybody may ask for one that does not.
func (t *Tally) of(v seckill.VoucherID, code seckill.Code) *count {
	if c := (*t.sales.Load())[v]; c != nil {
		return c
	}
	switch code {
	case "", seckill.SoldOut, seckill.AlreadyOrdered, seckill.NotStarted:
		return t.begin(v)
	default:
		return nil
	}
}

func (t *Tally) begin(v seckill.VoucherID) *count {
	t.mu.Lock()
	defer t.mu.Unlock()
	sales := maps.Clone(*t.sales.Load())
	if c := sales[v]; c != nil {
		return c
	}
	if len(t.order) >= tallyMax {
		if time.Since(t.turned) < tallyTurn {
			return nil
		}
		delete(sales, t.order[0])
		t.order, t.turned = t.order[1:], time.Now()
	}
	c := &count{}
	sales[v] = c
	t.order = append(t.order, v)
	t.sales.Store(&sales)
	return c
}

// Counts tells what was counted in all, and by voucher.
func (t *Tally) Counts() (all Counts, sales map[seckill.VoucherID]Counts) {
	sales = map[seckill.VoucherID]Counts{}
	for v, c := range *t.sales.Load() {
		sales[v] = c.read()
	}
	return t.all.read(), sales
}

// count is written by everybody at once.
type count struct {
	codes [len(tallied)]atomic.Uint64
	times [timesMax]atomic.Uint64
}

// tallied are the codes in which a purchase may end.
var tallied = [...]seckill.Code{
	accepted, seckill.SoldOut, seckill.AlreadyOrdered, seckill.NotStarted, seckill.Ended, seckill.NotReady,
	seckill.VoucherNotFound, seckill.Unavailable, seckill.Overloaded, seckill.RateLimited, seckill.Internal,
}

var placeOf = func() map[seckill.Code]int {
	places := make(map[seckill.Code]int, len(tallied))
	for i, code := range tallied {
		places[code] = i
	}
	places[""] = places[accepted]
	return places
}()

func (c *count) add(code seckill.Code, took time.Duration) {
	place, ok := placeOf[code]
	if !ok {
		place = len(tallied) - 1
	}
	c.codes[place].Add(1)
	c.times[slot(took)].Add(1)
}

func (c *count) read() Counts {
	found := Counts{Codes: map[seckill.Code]uint64{}, Times: map[int]uint64{}}
	for i := range c.codes {
		if n := c.codes[i].Load(); n > 0 {
			found.Codes[tallied[i]] = n
		}
	}
	for i := range c.times {
		if n := c.times[i].Load(); n > 0 {
			found.Times[i] = n
		}
	}
	return found
}
