package model

// The transactions of package sqlstore. Each is one step.

// What storing an order can end as.
const (
	stored = iota
	clash  // a unique index refused the row
	oldEpoch
	noUnit
)

// store inserts the row, then deducts. An epoch matters to the deduction alone.
func (m *machine) store(s *state, order int, oldRead bool) int {
	q := &s.sql
	switch {
	case q.row[order] != noRow || m.liveOf(s, m.buyer[order]) != 0:
		return clash
	case oldRead && m.mistake != noEpoch:
		return oldEpoch
	case q.stock == 0:
		return noUnit
	}
	q.stock--
	m.change(s, order, created)
	return stored
}

// reject writes a rejected row with its release due, unless there is a row.
func (m *machine) reject(s *state, order int, why uint8) {
	if s.sql.row[order] == noRow {
		s.sql.due |= 1 << order
		m.change(s, order, why)
	}
}

// cancel lets an unpaid order die, by its buyer or by time, and takes its unit back.
func (m *machine) cancel(s *state, order int) {
	if s.sql.row[order] == created && !s.writer.locks(order) {
		m.die(s, order)
	}
}

func (m *machine) die(s *state, order int) {
	s.sql.stock++
	s.sql.due |= 1 << order
	m.change(s, order, cancelled)
}

// pay makes an order paid; the payment of a dead one is kept apart.
func (m *machine) pay(s *state, order int) {
	q := &s.sql
	switch {
	case s.writer.locks(order):
	case q.row[order] == created:
		m.change(s, order, paid)
	case dead(q.row[order]) && !has(q.late, order):
		q.late |= 1 << order
		if m.mistake == lateReturnsUnit {
			q.stock++
		}
	}
}

// snapshot raises the epoch: what a worker or a cut knew until now is old.
func (m *machine) snapshot(s *state, y *syncer) {
	for k := range s.workers {
		if w := &s.workers[k]; w.pc != idle {
			w.old = 1
		}
	}
	if s.cutter.pc != idle {
		s.cutter.old = 1
	}
	y.total, y.version = s.sql.total, s.sql.version
	for u := range m.users {
		y.holds[u] = m.liveOf(s, uint8(u))
	}
	for o, row := range s.sql.row {
		if row != noRow {
			y.rows |= 1 << o
		}
	}
}

// changeVoucher gives the voucher another total and the next version.
func changeVoucher(q *sql, total, version uint8) bool {
	if q.version != version || q.stock+total < q.total {
		return false
	}
	q.stock += total - q.total
	q.total, q.version = total, version+1
	return true
}

// change moves an order to a status, and notes in the outbox that it did.
func (m *machine) change(s *state, order int, to uint8) {
	from := s.sql.row[order]
	if from != noRow && from != created || from == created && to != paid && to != cancelled {
		m.violate("an order leaves a final status")
	}
	s.sql.row[order] = to
	m.note(s, changeOf(order, to))
}
