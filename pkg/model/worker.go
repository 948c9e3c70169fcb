package model

// Where a process is: idle, then the pcs of its own kind.
const idle = 0

// Where a worker is. From holding on it has an entry in hand.
const (
	ready         = iota + 1 // it has read the epoch
	holding                  // it is about to store
	clashed                  // a unique index refused: what does the user hold?
	clashedAgain             // and has the order a row?
	refreshing               // the epoch was old: read it
	rereading                // and look whether the entry is still there
	missing                  // it is not: has the order a row?
	readmitting              // it has none
	rejecting                // about to write the rejected row
	shutting                 // about to close the voucher
	giving                   // about to give the unit back
	settling                 // about to acknowledge
	burying                  // about to move the entry to the dead stream
	storingUnseen            // settled, not stored: a mistake
)

// worker is one batch of one delivery, as packages consume and fulfil bring it to its end.
type worker struct {
	pc    uint8
	entry entry
	old   uint8 // 1: a sync has raised the epoch since this worker read it
	why   uint8 // the rejected row that it is about to write
	live  uint8 // what the user held, when it looked
	gone  uint8 // 1: its entry has left the stream
	give  giver
}

func (m *machine) workerSteps(s *state) {
	for k := range m.workers {
		w := s.workers[k]
		if w.pc == idle && m.syncers > 0 {
			m.step(s, deed{"worker", k, "reads the epoch", nobody}, func(n *state) { n.workers[k].pc = ready })
		} else if w.pc == idle || w.pc == ready {
			m.takeSteps(s, k)
		} else {
			m.step(s, deed{"worker", k, workerDoes[w.pc], w.entry.order()}, func(n *state) { m.work(n, &n.workers[k]) })
		}
		if w.pc == holding && m.wears {
			m.step(s, deed{"worker", k, "finds worn out", w.entry.order()}, func(n *state) { n.workers[k].wearOut(m) })
		}
		if w.pc != idle {
			m.step(s, deed{"worker", k, "stops", nobody}, func(n *state) { n.workers[k] = worker{} })
		}
	}
}

// takeSteps lets a worker read any entry: a new one, or one that another has left pending.
func (m *machine) takeSteps(s *state, k int) {
	for o := range m.buyer {
		for c := range copiesMax {
			if e := entryOf(o, c); s.redis.holds(e) {
				m.step(s, deed{"worker", k, "takes", o}, func(n *state) { n.workers[k].take(m, e) })
			}
		}
	}
}

func (w *worker) take(m *machine, e entry) {
	w.pc, w.entry = holding, e
	if m.mistake == ackFirst {
		w.pc = settling
	}
}

var workerDoes = map[uint8]string{
	holding: "stores", clashed: "looks at the live order of the user of", clashedAgain: "looks for the row of",
	refreshing: "reads the epoch for", rereading: "looks for the entry of", missing: "looks for the row of lost",
	readmitting: "admits again", rejecting: "rejects", shutting: "closes the voucher for", giving: "gives back",
	settling: "settles", burying: "buries", storingUnseen: "stores",
}

// work does the next step of a worker that has an entry in hand.
func (m *machine) work(s *state, w *worker) {
	o := w.entry.order()
	switch w.pc {
	case holding, storingUnseen:
		m.tryToStore(s, w)
	case clashed:
		w.live, w.pc = m.liveOf(s, m.buyer[o]), clashedAgain
	case clashedAgain:
		m.judge(s, w)
	case refreshing:
		w.old, w.pc = 0, rereading
	case rereading:
		w.pc = holding
		if !s.redis.holds(w.entry) {
			w.gone, w.pc = 1, missing
		}
	case missing:
		w.pc = readmitting
		if s.sql.row[o] != noRow {
			m.conclude(s, w)
		}
	case readmitting:
		m.readmit(s, w)
	case rejecting:
		m.reject(s, o, w.why)
		m.conclude(s, w)
	case shutting:
		s.redis.sale, s.redis.token = loading, shutToken
		if w.pc = giving; m.onceShort {
			s.shut = 1
		}
	case giving:
		m.workerGives(s, w)
	case settling:
		remove(&s.redis, w.entry)
		w.settled(m)
	case burying:
		if remove(&s.redis, w.entry) {
			s.buried |= 1 << o
		}
		*w = worker{}
	}
}

func (w *worker) settled(m *machine) {
	if m.mistake == ackFirst && w.pc == settling && w.why == 0 {
		w.pc, w.why = storingUnseen, noRow
		return
	}
	*w = worker{}
}

func (w *worker) wearOut(m *machine) {
	if w.reject(wornOut); m.mistake == releaseFirst {
		w.pc = giving
	}
}

func (w *worker) reject(why uint8) { w.pc, w.why, w.live = rejecting, why, 0 }

func (m *machine) tryToStore(s *state, w *worker) {
	unseen := w.pc == storingUnseen
	switch m.store(s, w.entry.order(), w.old == 1) {
	case stored:
		w.pc = settling
	case clash:
		w.pc = clashed
	case oldEpoch:
		w.pc = refreshing
	case noUnit:
		if !m.mayBeShort {
			m.violate("an accepted order is rejected as short")
		}
		if has(s.since, w.entry.order()) {
			m.violate("an order is short that was accepted after the sync which another one led to")
		}
		w.reject(short)
	}
	if unseen {
		*w = worker{}
	}
}

// judge says what an order met that the unique indexes refused.
func (m *machine) judge(s *state, w *worker) {
	o := w.entry.order()
	switch {
	case s.sql.row[o] != noRow:
		m.conclude(s, w)
	case w.live != 0:
		if !m.mayBeDouble {
			m.violate("an accepted order is rejected as a duplicate")
		}
		w.reject(duplicate)
	default:
		w.pc = holding // what was in its way is gone
	}
}

// conclude goes on as the committed row of the order says.
func (m *machine) conclude(s *state, w *worker) {
	w.why, w.live = 0, 0
	switch row := s.sql.row[w.entry.order()]; {
	case live(row):
		w.finish()
	case row == short:
		w.pc = shutting
	default:
		w.pc = giving
	}
}

// finish settles, where there is anything to settle.
func (w *worker) finish() {
	if w.pc = settling; w.gone == 1 {
		*w = worker{}
	}
}

func (m *machine) workerGives(s *state, w *worker) {
	o := w.entry.order()
	if !m.giveStep(s, &w.give, o) {
		return
	}
	if m.mistake == releaseFirst && s.sql.row[o] == noRow {
		w.pc = rejecting
		return
	}
	if w.finish(); w.pc == settling && s.sql.row[o] == wornOut {
		w.pc = burying
	}
}

// readmit asks for the unit of an order that Redis lost, under the same id.
func (m *machine) readmit(s *state, w *worker) {
	o := w.entry.order()
	switch m.admit(s, o) {
	case accepted:
		*w = worker{}
	case ordered:
		if s.redis.ticket[m.buyer[o]] == uint8(o+1) {
			*w = worker{}
			return
		}
		w.reject(lost)
	case soldOut:
		w.reject(lost)
	case notLoaded: // it waits for a sync
	}
}
