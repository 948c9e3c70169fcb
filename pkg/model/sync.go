package model

// Where a sync is.
const (
	firstRead = iota + 1 // it has closed the voucher
	secondRead
	thirdRead
	queueing  // it has a picture, and queues again what was lost
	filling   // it makes holders buyers
	forgetful // it takes others off the books
	opening
	catchingUp // Redis is ahead: it raises SQL's version
)

// What a sync reads.
const (
	theTickets = iota
	theStream
	theRows
)

// syncer is books.Sync. What it has read becomes, after the last read, what it will write.
type syncer struct {
	pc             uint8
	held           [usersMax]uint8 // tickets
	holds          [usersMax]uint8 // live rows; then who holds a unit, all of them
	bare           uint8           // buyers without a ticket; then users to forget
	waiting        uint8           // orders with an entry; then orders to queue again
	rows           uint8           // orders with a row
	total, version uint8
}

func (m *machine) syncSteps(s *state) {
	for k := range m.syncers {
		y := s.syncers[k]
		switch {
		case y.pc != idle:
			m.step(s, deed{"sync", k, m.syncDoes(y.pc), nobody}, func(n *state) { m.syncStep(n, k) })
			m.step(s, deed{"sync", k, "stops", nobody}, func(n *state) { n.syncers[k] = syncer{} })
		case m.syncs || m.needsSync(s):
			m.step(s, deed{"sync", k, "closes the voucher", nobody}, func(n *state) { m.syncStep(n, k) })
		}
	}
}

// needsSync reports what makes an admission, a worker or a change ask for a sync.
func (m *machine) needsSync(s *state) bool {
	return !s.redis.sells() || s.redis.version > s.sql.version
}

// read says what a sync reads at a pc.
func (m *machine) read(pc uint8) int {
	order := [...]int{theTickets, theStream, theRows}
	if m.mistake == syncSQLFirst {
		order = [...]int{theRows, theTickets, theStream}
	}
	return order[pc-firstRead]
}

func (m *machine) syncDoes(pc uint8) string {
	if pc <= thirdRead {
		return [...]string{"reads the tickets", "reads the stream", "reads SQL and raises the epoch"}[m.read(pc)]
	}
	return [...]string{
		queueing: "queues again what was lost", filling: "fills", forgetful: "forgets", opening: "opens",
		catchingUp: "raises SQL's version",
	}[pc]
}

func (m *machine) syncStep(s *state, k int) {
	y, token := &s.syncers[k], uint8(k+1)
	switch y.pc {
	case idle:
		m.load(&s.redis, token)
		y.pc = firstRead
	case firstRead, secondRead:
		m.look(s, y)
		y.pc++
	case thirdRead:
		m.look(s, y)
		m.plan(y)
		y.pc = queueing
		y.skipQueueing()
	case queueing:
		o := 0
		for !has(y.waiting, o) {
			o++
		}
		m.requeue(s, o)
		y.waiting &^= 1 << o
		y.skipQueueing()
	case filling, forgetful:
		m.syncWrites(s, y, token)
	case opening:
		m.syncOpens(s, y, token)
	case catchingUp:
		s.sql.version = max(s.sql.version, y.version+1)
		*y = syncer{}
	}
}

func (y *syncer) skipQueueing() {
	if y.waiting == 0 {
		y.pc = filling
	}
}

func (m *machine) look(s *state, y *syncer) {
	switch m.read(y.pc) {
	case theRows:
		m.snapshot(s, y)
	case theStream:
		y.waiting = s.redis.waiting()
	case theTickets:
		y.held = s.redis.ticket
		for u, t := range y.held {
			if t == 0 && has(s.redis.buyers, u) {
				y.bare |= 1 << u
			}
		}
	}
}

// plan decides who holds a unit: by a live row, else by a ticket without a row, else by an
// entry without one. Tickets with neither row nor entry are queued again.
func (m *machine) plan(y *syncer) {
	queue, entries := uint8(0), y.waiting&^y.rows
	for u, t := range y.held {
		if t == 0 || has(y.rows, int(t-1)) || m.mistake == syncDropsTickets && !has(entries, int(t-1)) {
			continue
		}
		if y.holds[u] == 0 {
			y.holds[u] = t
		}
		if !has(y.waiting, int(t-1)) {
			queue |= 1 << (t - 1)
		}
	}
	for o, u := range m.buyer {
		if has(entries, o) && y.holds[u] == 0 {
			y.holds[u] = uint8(o + 1)
		}
	}
	gone := uint8(0)
	for u := range m.users {
		if y.holds[u] == 0 && (y.held[u] != 0 || has(y.bare, u)) {
			gone |= 1 << u
		}
	}
	y.waiting, y.bare, y.rows = queue, gone, 0
}

func (m *machine) syncWrites(s *state, y *syncer, token uint8) {
	switch {
	case !m.ours(&s.redis, token):
		*y = syncer{}
	case y.pc == filling:
		fill(&s.redis, y.holds)
		y.holds, y.pc = [usersMax]uint8{}, forgetful
	default:
		forget(&s.redis, y.bare, y.held)
		*y = syncer{pc: opening, total: y.total, version: y.version}
	}
}

// syncOpens ends the sync; what is left to do to single users is the repair's.
func (m *machine) syncOpens(s *state, y *syncer, token uint8) {
	answer := m.openSale(&s.redis, token, y.total, y.version)
	if answer == stale && s.redis.version > y.version {
		*y = syncer{pc: catchingUp, version: s.redis.version}
		return
	}
	*y = syncer{}
}
