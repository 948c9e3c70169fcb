package model

// finally checks what becomes of a state once all is done; "" if all is well.
func (m *machine) finally(s *state) string {
	m.broken = ""
	end, ends := m.rest(*s)
	switch {
	case m.broken != "":
		return m.broken
	case !ends:
		return "it never comes to rest"
	}
	return m.atRest(&end)
}

// rest is where a state comes to when every process stops, and then all that is left to do is
// done, one thing after the other, by programs that start anew. False: it never ends.
func (m *machine) rest(s state) (state, bool) {
	if s.writer.pc == uncommitted {
		m.rollBack(&s)
	}
	s.workers, s.syncers, s.publishers = [2]worker{}, [2]syncer{}, [2]publisher{}
	s.releaser, s.repairer, s.writer, s.reader = giver{}, repairer{}, writer{}, reader{}
	s.cutter, s.applier = changer{}, changer{}
	const rounds = 12
	for range rounds {
		before := s
		if !m.strict() { // else it has to go without
			m.restSync(&s)
		}
		m.restWork(&s)
		m.restSweep(&s)
		if !m.strict() {
			m.restRepair(&s)
		}
		for m.page(&s)[0] != 0 {
			s.publishers[0] = publisher{sending, m.page(&s)}
			m.publishStep(&s, 0)
			m.publishStep(&s, 0)
		}
		if s == before {
			return s, true
		}
	}
	return s, false
}

// toEnd is more than the steps that any process takes for one thing.
const toEnd = 40

func (m *machine) restSync(s *state) {
	if r := &s.redis; r.version != s.sql.version || r.total != s.sql.total {
		changeSale(r, s.sql.total, s.sql.version)
	}
	if !m.needsSync(s) {
		return
	}
	m.syncStep(s, 0)
	for n := 0; s.syncers[0].pc != idle && n < toEnd; n++ {
		m.syncStep(s, 0)
	}
}

func (m *machine) restWork(s *state) {
	w := &s.workers[0]
	for o := range m.buyer {
		for c := range copiesMax {
			if e := entryOf(o, c); s.redis.holds(e) {
				w.take(m, e)
				for n := 0; w.pc != idle && n < toEnd; n++ {
					m.work(s, w)
				}
				*w = worker{}
			}
		}
	}
}

func (m *machine) restSweep(s *state) {
	for o := range m.buyer {
		if has(s.sql.due, o) {
			s.releaser = giver{order: uint8(o + 1)}
			for s.releaser.order != 0 {
				m.sweep(s, o)
			}
		}
	}
}

func (m *machine) restRepair(s *state) {
	for u := range m.users {
		for s.repairer.begin(s, u); s.repairer.pc != idle; {
			m.repairStep(s)
		}
	}
}

// atRest checks what holds once nothing is left to do; "" if all does.
func (m *machine) atRest(s *state) string {
	r := &s.redis
	switch {
	case !r.sells():
		return "at rest the voucher does not sell"
	case r.waiting() != 0:
		return "at rest an entry is left in the stream"
	case s.sql.due != 0:
		return "at rest a release is due"
	case r.total != s.sql.total:
		return "at rest Redis has another total than SQL"
	case r.stock != s.sql.stock:
		return "at rest Redis has another stock than SQL: a unit is lost or doubled"
	}
	for u := range m.users {
		if r.ticket[u] != m.liveOf(s, uint8(u)) {
			return "at rest a ticket is not that of the user's live row"
		}
	}
	for o, row := range s.sql.row[:len(m.buyer)] {
		switch {
		case m.queued(s, o):
			return "at rest an accepted order has no row"
		case row == wornOut && m.losses == 0 && !has(s.buried, o):
			return "at rest a worn-out order is not buried"
		case m.publishers > 0 && !m.allTold(s, o):
			return "at rest a change is not published"
		}
	}
	return ""
}

func (m *machine) allTold(s *state, order int) bool {
	row := s.sql.row[order]
	first := row == noRow || has(s.told, int(changeOf(order, created))-1)
	second := row != paid && row != cancelled || has(s.told, int(changeOf(order, cancelled))-1)
	return first && second
}
