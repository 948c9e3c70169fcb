package model

import (
	"fmt"
	"strings"
)

type users []uint8

// config says what there is, and what may happen.
type config struct {
	units uint8 // of the voucher
	buyer users // of each order its user; both are numbered from 0
	tries uint8 // how often one order id may be accepted: the retries of its buyer; at least 1

	workers, syncers, publishers int  // at most 2 each; at least 1 worker
	wears                        bool // an order may be found worn out
	pays, cancels, expires       bool
	slow                         bool // a cancellation may take time to commit
	sweeps                       bool // releases that are due are done meanwhile, not only at rest
	repairs                      bool // so are repairs of single users
	syncs                        bool // a sync may begin for no reason
	asks                         bool // orders are asked for
	raises, cuts                 uint8
	losses                       uint8
	kinds                        string // of losses; see loss.go

	mayBeShort  bool // an accepted order may find no unit in SQL
	mayBeDouble bool // or another live order of its user
	mayDeny     bool // a holder may be told SOLD_OUT
	onceShort   bool // what is accepted after a short order closed the voucher is never short
	mistake     mistake
}

// machine makes the steps of a configuration.
type machine struct {
	config
	users  int
	emit   func(to *state, d deed, broken string)
	broken string // the rule that the step under way has broken
	to     state  // the state that it makes
}

func newMachine(c config) *machine {
	m := &machine{config: c}
	m.tries, m.workers = max(1, c.tries), max(1, c.workers)
	for _, u := range c.buyer {
		m.users = max(m.users, int(u)+1)
	}
	return m
}

func (m *machine) start() (s state) {
	s.sql.total, s.sql.stock, s.sql.version = m.units, m.units, 1
	s.redis = redis{sale: open, total: m.units, version: 1, stock: m.units}
	return s
}

// strict reports that nothing goes wrong but processes, so that all holds in every state.
func (m *machine) strict() bool { return m.losses+m.raises+m.cuts == 0 && m.syncers == 0 }

// violate notes that the step under way breaks a rule; the first one counts.
func (m *machine) violate(rule string) {
	if m.broken == "" {
		m.broken = rule
	}
}

// nobody stands where a deed needs no number of a process, or no order.
const nobody = -1

// deed is a step in words.
type deed struct {
	who   string
	n     int // which of them
	does  string
	order int
}

func (d deed) String() string {
	var b strings.Builder
	b.WriteString(d.who)
	if d.n != nobody {
		fmt.Fprintf(&b, " %d", d.n)
	}
	b.WriteString(" " + d.does)
	if d.order != nobody {
		fmt.Fprintf(&b, " order %d", d.order)
	}
	return b.String()
}

// step emits the state that do makes of s. What changes nothing is no step.
func (m *machine) step(s *state, d deed, do func(n *state)) {
	m.to, m.broken = *s, ""
	do(&m.to)
	if m.broken != "" || m.to != *s {
		m.emit(&m.to, d, m.broken)
	}
}

// next emits all states that can follow s.
func (m *machine) next(s *state) {
	m.buyerSteps(s)
	m.workerSteps(s)
	if m.sweeps {
		m.releaserSteps(s)
	}
	m.publishSteps(s)
	m.totalSteps(s)
	m.lossSteps(s)
	m.syncSteps(s)
	if m.repairs {
		m.repairSteps(s)
	}
	if m.asks {
		m.statusSteps(s)
	}
}

// canonical gives states that differ in the names of processes alone the same form, the idle
// ones last.
func canonical(s *state) {
	if w := &s.workers; w[0].key() < w[1].key() {
		w[0], w[1] = w[1], w[0]
	}
	if p := &s.publishers; p[0].key() < p[1].key() {
		p[0], p[1] = p[1], p[0]
	}
}

func (w *worker) key() uint64 {
	return pack(w.pc, uint8(w.entry), w.old, w.why, w.live, w.gone, w.give.pc, w.give.live)
}

func (p *publisher) key() uint64 { return pack(p.pc, p.page[0], p.page[1]) }

func pack(bytes ...uint8) (n uint64) {
	for _, b := range bytes {
		n = n<<8 | uint64(b)
	}
	return n
}
