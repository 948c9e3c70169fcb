package model

// Where a transaction is that takes more than one step.
const (
	uncommitted   = iota + 1 // its row is locked, its change has a number, nobody sees either
	overdueRead              // it has read that the order is unpaid: a mistake
	redisReleased            // it has released in Redis first: a mistake
)

// writer is a transaction that cancels an order in more than one step.
type writer struct{ pc, order uint8 }

func (w writer) locks(order int) bool { return w.pc == uncommitted && int(w.order) == order }

// buyerSteps are requests: a buyer's, with each order id at most so many times, however late,
// and those of whoever takes the money.
func (m *machine) buyerSteps(s *state) {
	for o := range m.buyer {
		if s.admitted[o] < m.tries && !m.outOfTurn(s, o) {
			m.step(s, deed{"the buyer", nobody, "asks for", o}, func(n *state) {
				if m.admit(n, o) == soldOut && !m.mayDeny && m.holdsUnit(n, m.buyer[o]) {
					m.violate("a holder is told SOLD_OUT")
				}
			})
		}
		if m.cancels {
			m.step(s, deed{"the buyer", nobody, "cancels", o}, func(n *state) { m.cancel(n, o) })
		}
		if m.expires && m.mistake != blindExpiry {
			m.step(s, deed{"the time-out", nobody, "cancels", o}, func(n *state) { m.cancel(n, o) })
		}
		if m.pays {
			m.step(s, deed{"a payment", nobody, "of", o}, func(n *state) { m.pay(n, o) })
		}
	}
	m.writerSteps(s)
}

// outOfTurn holds that a user's orders begin in the order of their numbers: other ways round
// differ in names alone.
func (m *machine) outOfTurn(s *state, order int) bool {
	for o := range order {
		if m.buyer[o] == m.buyer[order] && s.admitted[o] == 0 {
			return true
		}
	}
	return false
}

// holdsUnit reports a live order, or an accepted one that has no row yet.
func (m *machine) holdsUnit(s *state, user uint8) bool {
	for o, u := range m.buyer {
		if u == user && (live(s.sql.row[o]) || m.queued(s, o)) {
			return true
		}
	}
	return false
}

// queued reports an accepted order without a row, which must not get lost.
func (m *machine) queued(s *state, order int) bool {
	return s.admitted[order] > 0 && !has(s.vanished, order) && s.sql.row[order] == noRow
}

func (m *machine) writerSteps(s *state) {
	w := s.writer
	o := int(w.order)
	switch w.pc {
	case idle:
		m.writerBegins(s)
		return
	case uncommitted:
		m.step(s, deed{"a transaction", nobody, "commits the cancellation of", o}, func(n *state) { m.commit(n, o) })
		m.step(s, deed{"a transaction", nobody, "rolls back", o}, func(n *state) { m.rollBack(n) })
	case overdueRead:
		m.step(s, deed{"the time-out", nobody, "cancels, as it read before,", o}, func(n *state) {
			n.writer = writer{}
			m.die(n, o)
		})
	case redisReleased:
		m.step(s, deed{"a cancellation", nobody, "reaches SQL of", o}, func(n *state) {
			n.writer = writer{}
			m.cancel(n, o)
		})
	}
}

func (m *machine) writerBegins(s *state) {
	for o, row := range s.sql.row {
		if row != created {
			continue
		}
		if m.slow {
			m.step(s, deed{"a transaction", nobody, "begins to cancel", o}, func(n *state) {
				n.writer = writer{uncommitted, uint8(o)}
				m.note(n, changeOf(o, cancelled)|unseen)
			})
		}
		if m.mistake == blindExpiry && m.expires {
			m.step(s, deed{"the time-out", nobody, "reads that nobody has paid", o}, func(n *state) { n.writer = writer{overdueRead, uint8(o)} })
		}
		if m.mistake == cancelRedisFirst && m.cancels {
			m.step(s, deed{"a cancellation", nobody, "releases in Redis", o}, func(n *state) {
				n.writer = writer{redisReleased, uint8(o)}
				m.release(n, o)
			})
		}
	}
}

// commit shows what the transaction did. Its change keeps the number that it got at first.
func (m *machine) commit(s *state, order int) {
	s.writer = writer{}
	q := &s.sql
	q.row[order] = cancelled
	q.stock++
	q.due |= 1 << order
	for i, c := range q.outbox {
		if c == changeOf(order, cancelled)|unseen {
			q.outbox[i] &^= unseen
		}
	}
}

func (m *machine) rollBack(s *state) {
	m.strike(s, changeOf(int(s.writer.order), cancelled)|unseen)
	s.writer = writer{}
}

// reader is a status query: the ticket, then the row.
type reader struct{ pc, order uint8 }

func (m *machine) statusSteps(s *state) {
	finds := [...]func(*state, int) bool{m.hasTicket, m.hasRow}
	if m.mistake == statusSQLFirst {
		finds[0], finds[1] = finds[1], finds[0]
	}
	if o := int(s.reader.order); s.reader.pc != idle {
		m.step(s, deed{"a status query", nobody, "looks elsewhere for", o}, func(n *state) {
			n.reader = reader{}
			if !finds[1](n, o) {
				m.violate("a status query misses an accepted order")
			}
		})
		return
	}
	for o := range m.buyer {
		if s.admitted[o] > 0 && !has(s.vanished, o) && !finds[0](s, o) {
			m.step(s, deed{"a status query", nobody, "does not see", o}, func(n *state) { n.reader = reader{1, uint8(o)} })
		}
	}
}

func (m *machine) hasTicket(s *state, o int) bool { return s.redis.ticket[m.buyer[o]] == uint8(o+1) }
func (m *machine) hasRow(s *state, o int) bool    { return s.sql.row[o] != noRow }
