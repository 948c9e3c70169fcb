package gate

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openseckill/seckill/pkg/seckill"
)

const (
	life     = time.Second           // after which one request asks Redis whether a verdict still holds
	liveMax  = time.Second           // without a sign of life the memory is not used
	margin   = 50 * time.Millisecond // before the begin Redis is asked: for clocks that run unevenly
	loadMax  = 10 * time.Second      // one reading of the winners
	queueMax = 256                   // vouchers whose winners wait to be read
)

// memory keeps what Redis said of vouchers that nobody can buy, with those who hold an
// order all the same, so that both can be answered without it.
//
// It is right as long as it hears what changes: the scripts that give a unit back, open a
// sale or move a ticket publish it in the same step, so nothing is missed while the line
// is live, and a line that was broken empties the memory. What remains is the way of a
// message: for as long as it takes, a unit that came back is not seen, and one who bought
// it elsewhere is not known. A line that died without a sign counts as live for a second
// at most. Keys that are changed past the scripts tell nobody; one request a second finds out.
type memory struct {
	sale sale
	most int // winners in all
	now  func() time.Time
	born time.Time

	heard atomic.Int64 // when the line gave its last sign of life, since born; 0: it is broken
	loads chan load

	mu   sync.RWMutex
	of   map[seckill.VoucherID]*verdict
	held int // winners in all
}

// verdict is why nobody can buy a voucher, and who holds an order of it.
type verdict struct {
	code    seckill.Code
	begin   time.Time     // of NotStarted
	until   time.Duration // of NotStarted, since born: how long it certainly holds
	stage   stage
	seen    time.Duration // since born: from when on changes are heard
	again   atomic.Int64  // since born: when the next request asks Redis
	winners map[seckill.UserID]seckill.OrderID
}

// A verdict is heard once, and heard again by one who asked when changes of it were
// listened for already: from then on nobody can become a winner in silence. Only winners
// that are read after that are all there are.
type stage int

const (
	heardOnce stage = iota
	loading
	ready
	unread // the winners could not be read, or are too many
)

func newMemory(s sale, most int, now func() time.Time) *memory {
	return &memory{sale: s, most: most, now: now, born: now(), loads: make(chan load, queueMax), of: make(map[seckill.VoucherID]*verdict)}
}

func (m *memory) since(t time.Time) time.Duration { return t.Sub(m.born) + 1 } // never 0

// recall answers from memory; a nil error means that it cannot.
func (m *memory) recall(u seckill.UserID, v seckill.VoucherID) (seckill.Admission, error) {
	const op = "gate.recall"
	m.mu.RLock()
	defer m.mu.RUnlock()
	e, now := m.of[v], m.since(m.now())
	if e == nil || e.stage != ready || !m.isLive(now) {
		return seckill.Admission{}, nil
	}
	if order, ok := e.winners[u]; ok {
		return seckill.Admission{Order: order}, &seckill.Error{Op: op, Code: seckill.AlreadyOrdered}
	}
	if (e.code == seckill.NotStarted && now >= e.until) || e.due(now) {
		return seckill.Admission{}, nil
	}
	return seckill.Admission{Begin: e.begin}, &seckill.Error{Op: op, Code: e.code}
}

func (m *memory) isLive(now time.Duration) bool {
	heard := m.heard.Load()
	return heard != 0 && now-time.Duration(heard) < liveMax
}

// due lets one request a second through.
func (e *verdict) due(now time.Duration) bool {
	again := e.again.Load()
	return int64(now) >= again && e.again.CompareAndSwap(again, int64(now+life))
}

// learn takes Redis' answer to u, who asked at a time before it was given.
func (m *memory) learn(u seckill.UserID, v seckill.VoucherID, at time.Time, a seckill.Admission, err error) {
	asked := m.since(at)
	switch code := seckill.CodeOf(err); code {
	case seckill.SoldOut, seckill.Ended:
		m.keep(v, asked, &verdict{code: code})
	case seckill.NotStarted:
		// Redis' clock showed a.Now when it answered, so what was left then ends no
		// earlier, counted from the moment of asking.
		m.keep(v, asked, &verdict{code: code, begin: a.Begin, until: asked + a.Begin.Sub(a.Now) - margin})
	case "", seckill.AlreadyOrdered:
		m.meet(u, v, a.Order)
	case seckill.NotReady:
		m.Changed(v)
	default: // it says nothing about the voucher
	}
}

// keep takes a verdict one stage further, or renews it.
func (m *memory) keep(v seckill.VoucherID, asked time.Duration, e *verdict) {
	now := m.since(m.now())
	if !m.isLive(now) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	old := m.of[v]
	switch {
	case old == nil || old.code != e.code || !old.begin.Equal(e.begin),
		old.stage == unread && int64(now) >= old.again.Load():
		m.drop(v)
		e.seen = now
		m.of[v] = e
	case old.stage == heardOnce && asked > old.seen:
		select {
		case m.loads <- load{v, old}:
			old.stage = loading
		default: // the next one who is refused tries again
		}
	case old.stage == ready:
		old.until = e.until
		old.again.Store(int64(now + life))
	}
}

// meet drops a voucher if u, who holds an order of it, is not remembered by it.
func (m *memory) meet(u seckill.UserID, v seckill.VoucherID, order seckill.OrderID) {
	m.mu.RLock()
	e := m.of[v]
	strange := e != nil && e.stage == ready && e.winners[u] != order
	m.mu.RUnlock()
	if strange {
		m.Changed(v)
	}
}

// Run reads the winners of vouchers that cannot be bought, one voucher at a time, until
// intake ends.
func (m *memory) Run(intake, _ context.Context) error {
	for {
		select {
		case l := <-m.loads:
			m.read(intake, l)
		case <-intake.Done():
			return nil
		}
	}
}

// load is a verdict whose winners are to be read.
type load struct {
	voucher seckill.VoucherID
	*verdict
}

// read reads the winners. A change meanwhile drops the verdict, and what was read with it.
func (m *memory) read(ctx context.Context, l load) {
	ctx, cancel := context.WithTimeout(ctx, loadMax)
	defer cancel()
	m.mu.RLock()
	room := m.most - m.held
	m.mu.RUnlock()
	winners, err := m.sale.Winners(ctx, l.voucher, room)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of[l.voucher] != l.verdict {
		return
	}
	if err != nil { // Redis goes on answering
		l.stage = unread
		l.again.Store(int64(m.since(m.now()) + life))
		return
	}
	l.stage, l.winners = ready, winners
	m.held += len(winners)
}

// drop needs the lock.
func (m *memory) drop(v seckill.VoucherID) {
	if e := m.of[v]; e != nil {
		m.held -= len(e.winners)
		delete(m.of, v)
	}
}

// Changed forgets a voucher: it may be for sale again, or have other winners.
func (m *memory) Changed(v seckill.VoucherID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(v)
}

// Resumed forgets everything: the line was broken, and messages may have been missed.
func (m *memory) Resumed() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.of)
	m.held = 0
}

// Memory is how much is remembered, and whether it may be used.
type Memory struct {
	Vouchers            int // that nobody can buy
	Winners, WinnersMax int // their buyers
	Live                bool
}

// Remembers tells it as it is now.
func (m *memory) Remembers() Memory {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return Memory{Vouchers: len(m.of), Winners: m.held, WinnersMax: m.most, Live: m.isLive(m.since(m.now()))}
}

// Live says whether the line to whoever tells of changes is live.
func (m *memory) Live(live bool) {
	if live {
		m.heard.Store(int64(m.since(m.now())))
	} else {
		m.heard.Store(0)
	}
}
